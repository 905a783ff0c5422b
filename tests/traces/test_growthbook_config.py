"""Weights of GrowthBook's experiments, from the features that its SDKs read."""

from __future__ import annotations

import json

import pytest

from deconfound.cli import main
from deconfound.errors import UsageError
from deconfound.traces.call import Call, Message
from deconfound.traces.call_table import CallSummary
from deconfound.traces.experiment_rows import ExperimentRule, find_experiment
from deconfound.traces.exposures import Exposure, ExposureTable
from deconfound.traces.router_config import read_router_config
from tests.support.gateway import GOOD, POOR, write_gateway

VARIATIONS = ["ant", "bee"]


def call(model, user):
    full = Call("o", "c", model, (Message("user", "q"),), ("a",), user=user, time=10.0)
    return CallSummary.from_call("r", full)


def config(tmp_path, *rules):
    path = tmp_path / "features.json"
    path.write_text(json.dumps({"features": {"model": {"defaultValue": None, "rules": rules}}}), encoding="utf-8")
    return read_router_config(path)


def shares(found):
    exposed = ExposureTable("e.csv", (Exposure("u1", "ant", 0.0, None), Exposure("u2", "bee", 0.0, None)))
    rows = find_experiment([call("ant", "u1"), call("bee", "u2")], ExperimentRule(router=found, exposures=exposed))
    return dict(rows.draw.shares)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"weights": [0.7, 0.3]}, {"ant": 0.7, "bee": 0.3}),
        ({}, {"ant": 0.5, "bee": 0.5}),
        ({"weights": [0.7, 0.3], "coverage": 0.1}, {"ant": 0.7, "bee": 0.3}),
        (
            {"variations": [{"model": "x"}, 3], "meta": [{"key": "ant"}, {"name": "bee"}], "weights": [0.2, 0.8]},
            {"ant": 0.2, "bee": 0.8},
        ),
    ],
)
def test_weights_are_probabilities_of_the_variations(rule, expected, tmp_path):
    found = config(tmp_path, {"force": "ant", "condition": {"country": "AT"}}, {"variations": VARIATIONS, **rule})
    assert shares(found) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"weights": [0.7, 0.1]}, "do not sum to 1"),
        ({"weights": [0.7]}, "no usable weight"),
        ({"weights": [1.5, -0.5]}, "no usable weight"),
        ({"weights": ["x", 0.5]}, "no usable weight"),
        ({"ranges": [[0, 0.7], [0.7, 1]]}, "ranges"),
    ],
)
def test_weights_that_growthbook_would_not_use_are_refused(rule, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        shares(config(tmp_path, {"variations": VARIATIONS, **rule}))


@pytest.mark.parametrize("content", [{"features": {}}, {"features": {"a": 3, "b": {"rules": [3, {"force": 1}]}}}])
def test_features_without_an_experiment_draw_nothing(content, tmp_path):
    path = tmp_path / "features.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UsageError, match="nothing is drawn"):
        shares(read_router_config(path))


def test_exposures_and_the_written_file_make_an_experiment(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_gateway(tmp_path, direct=20, routed=40)
    given = ["--propensity", f"{GOOD}=0.3,{POOR}=0.7", "--to", "growthbook", "--unit", "user_id"]
    assert main(["assign", "--experiment", "test", *given, "-o", "gb.json"]) == 0
    calls = [json.loads(line) for line in (tmp_path / "traces/routed.jsonl").read_text().splitlines()]
    rows = "".join(f"{one['end_user']},{one['response']['model']},2020-01-01\n" for one in calls)
    (tmp_path / "exposures.csv").write_text(f"user_id,variation_id,timestamp\n{rows}")
    tables = ["traces/", "--outcomes", "feedback.csv", "--exposures", "exposures.csv", "-q"]
    for option in (["--propensity-from", "gb.json"], ["--assignment", "gb.manifest.json"]):
        assert main(["convert", *tables, *option, "-o", f"study{option[0]}"]) == 0
        assert "experiment: 40 rows" in capsys.readouterr().out
