"""LiteLLM's router, with a callback that writes its payloads: every call once, with its model, user and thumb."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.producers.environments import Producer
from tests.producers.manifests import (
    assert_same,
    converted_rows,
    expected_calls,
    expected_rows,
    load_manifest,
    read_files,
)

pytestmark = pytest.mark.slow

LITELLM = Producer(
    "litellm",
    (
        "litellm==1.106.2",
        "fastapi==0.162.4",
        "orjson==3.13.0",
        "soundfile==0.14.0",
    ),  # a hit of the cache imports the last three
    variables={"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
)


@pytest.fixture(scope="module")
def output(installed, tmp_path_factory) -> Path:
    return installed(LITELLM).run_script("litellm_router.py", tmp_path_factory.mktemp("litellm"))


def test_every_call_is_read_once(output):
    manifest = load_manifest(output)
    traces, calls = read_files([output / "litellm.jsonl"])
    assert len(manifest) == 33
    assert_same(calls, expected_calls(manifest))
    assert list(traces.files) == ["LiteLLM"]
    assert not traces.remarks.counts
    assert {call.group for call in traces.table.calls} == {"chat", "fragile", "backup"}
    assert all(("tag.exp", "true") in call.attributes for call in traces.table.calls)


def test_the_log_has_every_answer_with_its_thumb(output, tmp_path):
    files, feedback = [output / "litellm.jsonl"], ["--outcomes", str(output / "feedback.csv")]
    assert_same(converted_rows(files, tmp_path, *feedback), expected_rows(load_manifest(output)))


def test_a_weighted_group_is_an_experiment_without_fallbacks_and_cached_answers(output, tmp_path):
    """The other groups draw no model."""
    options = ["--outcomes", str(output / "feedback.csv"), "--propensity", "aspen-1=0.75,birch-2=0.25"]
    rows = converted_rows([output / "litellm.jsonl"], tmp_path, *options, table="experiment")
    drawn = [call for call in load_manifest(output) if call["group"] == "chat"]
    assert_same(rows, expected_rows(drawn))
    assert {row.model for row in rows} == {"aspen-1", "birch-2"}
