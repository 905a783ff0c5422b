"""The lm-evaluation-harness with its dummy model: every repetition of a document once, choices counted and left out."""

from __future__ import annotations

from collections import Counter

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

LM_EVAL = Producer(
    "lm-eval",
    ("lm-eval==0.4.13", "datasets==5.2.0"),
    variables={"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
)


def test_every_repetition_is_read_once(installed, tmp_path):
    """26 documents, two repetitions and two models."""
    output = installed(LM_EVAL).run_script("lm_eval_tasks.py", tmp_path / "output")
    manifest, files = load_manifest(output), [output / "out"]
    traces, calls = read_files(files)
    assert len(manifest) == 104
    assert_same(calls, expected_calls(manifest))
    assert_same(scores_of_calls(traces), expected_scores(manifest))
    choices = "rows have log-likelihoods and no text, such as those of multiple choice"
    assert traces.remarks.counts == {choices: 52}
    draws = Counter((call.context_id, call.model) for call in traces.table.calls)
    assert (len(draws), set(draws.values())) == (52, {2})
    expected = expected_rows([{**call, "score": None} for call in manifest])
    rows = converted_rows(files, tmp_path, table="replay")
    assert_same(rows, [StudyRow(row.context, row.model, row.output) for row in expected])
