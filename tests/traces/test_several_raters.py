"""Several raters of one answer are averaged, and `convert` says so."""

from __future__ import annotations

import pytest

from tests.support.litellm_calls import calls_of_two_models, converted, write_table

SAID = "1 answer got {} from several authors, whose scores are averaged."


@pytest.mark.parametrize("column", ["rater_id", "annotator_id", "reviewer", "rater"])
def test_raters_are_averaged(tmp_path, capsys, column):
    rows = [("t0", 1, "r1"), ("t0", 1, "r2"), ("t0", 0, "r3"), ("t1", 1, "r1")]
    feedback = write_table(tmp_path / "f.csv", f"trace_id,rating,{column}", rows)
    _, tables = converted(tmp_path, calls_of_two_models(2), "--outcomes", feedback)
    assert [row["outcome"] for row in tables["log"]] == pytest.approx([2 / 3, 1.0])
    assert SAID.format("rating") in " ".join(capsys.readouterr().out.split())


def test_several_values_in_a_cell_of_langfuse_are_averaged(tmp_path, capsys):
    row = {
        **{"id": "o1", "traceId": "t1", "type": "GENERATION", "startTime": "2026-10-02T08:11:04.120Z"},
        **{"model": "oak", "userId": "u", "sessionId": "s", "input": "q", "output": "a", "user-feedback": [1, 0]},
    }
    _, tables = converted(tmp_path, [row], "--outcome", "user-feedback")
    assert [row["outcome"] for row in tables["log"]] == [0.5]
    assert SAID.format("user-feedback") in " ".join(capsys.readouterr().out.split())
