"""Which calls are rows of a study: one per answer that a user saw and could judge.

An agent may call models several times before it answers. By default the last call of a turn is the unit, since
feedback judges what the user saw. A turn whose last call cannot be used has no unit: the user did not see the calls
before it. The history of a conversation is part of each context, and the conversation is the
cluster: later turns depend on the answers of earlier ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from deconfound.design import IntArray
from deconfound.traces.call import Flag
from deconfound.traces.call_table import CallSummary

Unit = Literal["turn", "call", "first"]
UNUSABLE: tuple[Flag, ...] = ("replaced", "error", "internal", "no content", "tool call")
UNSHOWN: frozenset[Flag] = frozenset({"internal", "replaced"})  # never what the user saw
NO_OUTPUT, SEVERAL_OUTPUTS, NO_MODEL = "no output", "several outputs", "no model"
EARLIER_CALL, LATER_TURN = "an earlier call of its turn", "a later turn of its conversation"
UNSEEN_CALL = "of a turn whose last call is no row"
TURN = ("turn_id", "trace_id")


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The calls that are units, and how many others were left out for which reason.

    ``lost`` are the last calls of turns that could not be used: what judges their trace judges no unit.
    """

    rows: IntArray  # numbers of the calls, in increasing order
    left_out: dict[str, int]
    lost: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def choose_units(calls: Sequence[CallSummary], unit: Unit = "turn") -> Units:
    """The last call of each turn; every usable call; or the last call of the first turn of a conversation."""
    reasons = [_why_unusable(call) for call in calls]
    usable = [row for row, reason in enumerate(reasons) if not reason]
    shown = [row for row, call in enumerate(calls) if not UNSHOWN & call.flags]
    ends = _last_of_each(calls, shown, TURN)
    left_out = Counter(reason for reason in reasons if reason)
    lost = [row for row in ends if reasons[row]]
    chosen = usable
    if unit != "call":
        chosen = [row for row in ends if not reasons[row]]
        unseen = {_key(calls[row], row, TURN) for row in lost}
        left_out.update(
            UNSEEN_CALL if _key(calls[row], row, TURN) in unseen else EARLIER_CALL
            for row in set(usable).difference(chosen)
        )
    if unit == "first":
        first = set(_first_turns(calls, ends))
        left_out[LATER_TURN] += len(set(chosen) - first)
        chosen, lost = [row for row in chosen if row in first], []  # what judges a conversation judges its first turn
    rows = np.array(sorted(chosen), dtype=np.int64)
    return Units(rows, {key: count for key, count in left_out.items() if count}, np.array(lost, dtype=np.int64))


def _why_unusable(call: CallSummary) -> str:
    """The reason why a call can be no unit; empty if it can."""
    flagged = next((flag for flag in UNUSABLE if flag in call.flags), "")
    if flagged:
        return flagged
    if not call.model:
        return NO_MODEL
    return NO_OUTPUT if call.n_outputs == 0 else SEVERAL_OUTPUTS if call.n_outputs > 1 else ""


def _last_of_each(calls: Sequence[CallSummary], rows: Sequence[int], names: Sequence[str]) -> list[int]:
    last: dict[str, int] = {}
    for row in sorted(rows, key=lambda row: _moment(calls, row)):
        last[_key(calls[row], row, names)] = row
    return list(last.values())


def _first_turns(calls: Sequence[CallSummary], rows: Sequence[int]) -> list[int]:
    """The first turn of each conversation: one row, or both sides of a battle, which is one record."""
    first: dict[str, int] = {}
    chosen = []
    for row in sorted(rows, key=lambda row: _moment(calls, row)):
        begin = first.setdefault(_key(calls[row], row, ("conversation",)), row)
        is_other_side = "side" in dict(calls[row].attributes) and calls[row].origin == calls[begin].origin
        if begin == row or is_other_side:
            chosen.append(row)
    return chosen


def _moment(calls: Sequence[CallSummary], row: int) -> tuple[float, int]:
    time = calls[row].time
    return (0.0 if time is None else time, row)


def _key(call: CallSummary, row: int, names: Sequence[str]) -> str:
    """The turn, trace or conversation of a call; a call without one stands for itself."""
    value = next((value for name in names if (value := getattr(call, name))), "")
    return f"{call.reader}\0{value}" if value else f"\0{row}"
