"""Which calls become rows: the last of a turn, all, or the first turn of a conversation."""

from __future__ import annotations

import io

import pytest

from deconfound.chat.conversation import Message
from deconfound.traces.call import Call
from deconfound.traces.call_table import collect_calls
from deconfound.traces.units import EARLIER_CALL, LATER_TURN, UNSEEN_CALL, choose_units


def call(number, **fields):
    return Call(f"f line {number}", f"c{number}", "ant", (Message("user", f"q{number}"),), ("a",), **fields)


def units_of(calls, unit="turn"):
    table = collect_calls((("LiteLLM", each) for each in calls), io.BytesIO())
    chosen = choose_units(table.calls, unit)
    return [table.calls[row].call_id for row in chosen.rows], chosen.left_out


AGENT = [
    call(1, trace_id="t1", conversation="s", time=1.0, flags=frozenset({"tool call"})),
    call(2, trace_id="t1", conversation="s", time=2.0),
    call(3, trace_id="t1", conversation="s", time=3.0),
    call(4, trace_id="t2", conversation="s", time=4.0),
    call(5, trace_id="t3", conversation="other", time=0.5),
    call(6, time=9.0),
]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("turn", ["c3", "c4", "c5", "c6"]), ("call", ["c2", "c3", "c4", "c5", "c6"]), ("first", ["c3", "c5", "c6"])],
)
def test_units(unit, expected):
    assert units_of(AGENT, unit)[0] == expected


def test_every_call_is_a_unit_or_counted():
    for unit in ("turn", "call", "first"):
        chosen, left_out = units_of(AGENT, unit)
        assert len(chosen) + sum(left_out.values()) == len(AGENT)
    assert left_out == {"tool call": 1, EARLIER_CALL: 1, LATER_TURN: 1}


def test_the_order_of_the_file_does_not_decide_which_call_is_last():
    assert sorted(units_of(AGENT[::-1])[0]) == ["c3", "c4", "c5", "c6"]


def test_turns_of_one_trace_are_separate_where_the_reader_says_so():
    calls = [call(1, trace_id="t", turn_id="t 1"), call(2, trace_id="t", turn_id="t 2")]
    assert units_of(calls)[0] == ["c1", "c2"]


@pytest.mark.parametrize("flag", ["error", "internal", "no content", "tool call"])
def test_unusable_calls_are_counted_by_reason(flag):
    assert units_of([call(1, flags=frozenset({flag}))]) == ([], {flag: 1})


def test_a_call_with_several_outputs_is_no_unit():
    several = Call("f line 1", "c1", "ant", (Message("user", "q"),), ("a", "b"))
    assert units_of([several]) == ([], {"several outputs": 1})


def test_texts_come_back_from_the_file_in_the_order_of_the_calls(monkeypatch):
    monkeypatch.setattr("deconfound.traces.call_table.BATCH_CALLS", 7)
    calls = [call(number) for number in range(50)]
    table = collect_calls((("r", each) for each in calls), io.BytesIO())
    rows = choose_units(table.calls).rows[::3]
    assert table.read_texts(rows)["context"].to_pylist() == [f"q{number}" for number in range(0, 50, 3)]


def test_halves_of_surrogate_pairs_become_question_marks():
    """JSON inside of a text may have them as escapes; Arrow refuses them."""
    broken = Call("o", "c\ud800", "ant", (Message("user", "é \udc00"),), ("ü\ud83d",), attributes={"a": "\ud800"})
    table = collect_calls([("r", broken)], io.BytesIO())
    assert table.calls[0].call_id == "c?"
    assert table.read_texts(choose_units(table.calls).rows).to_pylist()[0]["context"] == "é ?"


UNUSABLE_ENDS = [{"flags": frozenset({flag})} for flag in ("error", "no content", "tool call")]


@pytest.mark.parametrize("fields", UNUSABLE_ENDS)
def test_a_turn_whose_last_call_cannot_be_used_has_no_unit(fields):
    calls = [call(1, trace_id="t", time=1.0), call(2, trace_id="t", time=2.0, **fields), call(3, trace_id="other")]
    chosen, left_out = units_of(calls)
    assert chosen == ["c3"]
    assert left_out == {next(iter(fields["flags"])): 1, UNSEEN_CALL: 1}


def test_an_internal_call_after_the_answer_does_not_hide_it():
    calls = [call(1, trace_id="t", time=1.0), call(2, trace_id="t", time=2.0, flags=frozenset({"internal"}))]
    assert units_of(calls)[0] == ["c1"]


def test_a_later_turn_is_not_the_first_where_the_first_cannot_be_used():
    calls = [
        call(1, trace_id="t1", conversation="s", time=1.0, flags=frozenset({"error"})),
        call(2, trace_id="t2", conversation="s", time=2.0),
    ]
    assert units_of(calls, "first") == ([], {"error": 1, LATER_TURN: 1})
