"""Inspect with its mocked model: every sample of every epoch once, with its scores."""

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

INSPECT = Producer("inspect", ("inspect-ai==0.3.285",))


@pytest.fixture(scope="module")
def output(installed, tmp_path_factory) -> Path:
    return installed(INSPECT).run_script("inspect_tasks.py", tmp_path_factory.mktemp("inspect"))


def logs_in(output: Path) -> list[Path]:
    return [*output.glob("*.eval"), *output.glob("*_parcels_*.json")]


def test_every_sample_of_both_formats_is_read_once(output):
    """29 questions, three epochs and two models."""
    manifest = load_manifest(output)
    traces, calls = read_files(logs_in(output))
    assert (len(logs_in(output)), len(manifest)) == (2, 174)
    assert_same(calls, expected_calls(manifest))
    assert_same(scores_of_calls(traces), expected_scores(manifest))
    assert not traces.remarks.counts
    draws = Counter((call.context_id, call.requested_model) for call in traces.table.calls)
    assert (len(draws), set(draws.values())) == (58, {3})
    assert {call.draw for call in traces.table.calls} == {1, 2, 3}


def test_the_replay_has_every_answer(output, tmp_path):
    rows = converted_rows(logs_in(output), tmp_path, table="replay")
    expected = expected_rows([{**call, "score": None} for call in load_manifest(output)])
    assert_same(rows, [StudyRow(row.context, row.model, row.output) for row in expected])
