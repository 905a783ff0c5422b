"""A score never moves to a call that the user did not see."""

from __future__ import annotations

import pytest

from tests.support.litellm_calls import START, call, converted, write_table


def choices(*messages):
    return {"response": {"id": "r", "choices": [{"message": {"role": "assistant", **one}} for one in messages]}}


FINAL = {
    "two choices": choices({"content": "a"}, {"content": "b"}),
    "redacted": choices({"content": "redacted-by-litellm"}),
    "failed": {"status": "failure", "response": {}},
    "tool": choices({"content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}),
}


def turn(number, **final):
    """A plan by oak, then an answer by elm."""
    time = START + 100 * number
    trace, session, question = f"t{number}", "s", f"q{number}"
    return [
        call(f"plan{number}", trace, session, "oak", question, "a plan", time),
        call(f"final{number}", trace, session, "elm", question, "an answer", time + 1, **final),
    ]


@pytest.mark.parametrize("unit", ["turn", "call", "first"])
@pytest.mark.parametrize("final", FINAL)
@pytest.mark.parametrize("key", ["trace_id", "session_id"])
def test_the_score_of_an_answer_that_cannot_be_used_has_no_row(tmp_path, capsys, final, unit, key):
    feedback = write_table(tmp_path / "f.csv", f"{key},rating", [("t1" if key == "trace_id" else "s", 1)])
    records = [*turn(0), *turn(1, **FINAL[final])]
    code, tables = converted(tmp_path, records, "--outcomes", feedback, "--unit", unit)
    assert code == 0
    rated = {row["call_id"] for row in tables["log"] if row["outcome"] is not None}
    if unit == "first" and key == "session_id":
        assert rated == {"final0"}  # the conversation's score is that of its first turn
        return
    assert rated == set()
    text = " ".join(capsys.readouterr().out.split())
    assert "0 of ids that are in no trace, 1 of calls that are no rows" in text
    assert unit != "turn" or "of a turn whose last call is no row 1" in text


def test_usable_turns_of_the_conversation_stay(tmp_path):
    feedback = write_table(tmp_path / "f.csv", "trace_id,rating", [("t0", 1), ("t1", 0)])
    _, tables = converted(tmp_path, [*turn(0), *turn(1, **FINAL["failed"])], "--outcomes", feedback)
    assert [(row["call_id"], row["outcome"]) for row in tables["log"]] == [("final0", 1.0)]
