"""Fallbacks and retried calls of a router are in neither table, however the experiment is named."""

from __future__ import annotations

import pytest

from tests.support.litellm_calls import START, call, calls_of_two_models, converted

FALLBACKS = [
    {"metadata": {"original_model_group": "chat"}},
    {"metadata": {"original_model_group": "chat", "attempted_fallbacks": 1}},
    {
        "metadata": {"original_model_group": "chat"},
        "hidden_params": {"additional_headers": {"x-litellm-attempted-fallbacks": 1}},
    },
]
PROPENSITY = ("--propensity", "oak=0.5,elm=0.5")


def counts(tables):
    return {name: len(rows) for name, rows in tables.items()}


@pytest.mark.parametrize("options", [(), ("--experiment-where", "group=chat")])
@pytest.mark.parametrize("fields", FALLBACKS)
@pytest.mark.parametrize("model", ["oak", "fir"])
def test_a_fallback_is_of_the_group_where_it_began(tmp_path, capsys, fields, options, model):
    fallback = call("c9", "t9", "s9", model, "q9", "a9", START + 99, model_group="backup", **fields)
    direct = call("c8", "t8", "s8", "oak", "q8", "a8", START + 98, model_group="oak")
    _, tables = converted(tmp_path, [*calls_of_two_models(4), fallback, direct], *PROPENSITY, *options)
    assert counts(tables) == {"log": 1, "experiment": 4}
    assert "Randomized calls that are not used: fallback 1." in capsys.readouterr().out


def test_a_retried_call_is_in_neither_table(tmp_path, capsys):
    headers = {"additional_headers": {"x-litellm-attempted-retries": 1}}
    retried = call("c9", "t9", "s9", "oak", "q9", "a9", START + 99, hidden_params=headers)
    _, tables = converted(tmp_path, [*calls_of_two_models(4), retried], *PROPENSITY)
    assert counts(tables) == {"experiment": 4}
    assert "retried, so that another model may have been drawn first 1" in " ".join(capsys.readouterr().out.split())
