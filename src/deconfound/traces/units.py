"""Which calls are rows of a study: one per answer that a user saw and could judge.

An agent may call models several times before it answers. By default the last call of a turn is the unit, since
feedback judges what the user saw. The history of a conversation is part of each context, and the conversation is the
cluster: later turns depend on the answers of earlier ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from deconfound.design import IntArray
from deconfound.traces.call import Flag
from deconfound.traces.call_table import CallSummary

Unit = Literal["turn", "call", "first"]
UNUSABLE: tuple[Flag, ...] = ("error", "internal", "no content", "tool call")
NO_OUTPUT, SEVERAL_OUTPUTS, NO_MODEL = "no output", "several outputs", "no model"
EARLIER_CALL, LATER_TURN = "an earlier call of its turn", "a later turn of its conversation"


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The calls that are units, and how many others were left out for which reason."""

    rows: IntArray  # numbers of the calls, in increasing order
    left_out: dict[str, int]


def choose_units(calls: Sequence[CallSummary], unit: Unit = "turn") -> Units:
    """The last usable call of each trace; every usable call; or the last of the first trace of a conversation."""
    left_out: Counter[str] = Counter()
    usable = []
    for row, call in enumerate(calls):
        reason = _why_unusable(call)
        if reason:
            left_out[reason] += 1
        else:
            usable.append(row)
    chosen = usable
    if unit != "call":
        chosen = _last_of_each(calls, usable, ("turn_id", "trace_id"))
        left_out[EARLIER_CALL] += len(usable) - len(chosen)
    if unit == "first":
        first = _first_of_each(calls, chosen, ("conversation",))
        left_out[LATER_TURN] += len(chosen) - len(first)
        chosen = first
    return Units(np.array(sorted(chosen), dtype=np.int64), {key: count for key, count in left_out.items() if count})


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


def _first_of_each(calls: Sequence[CallSummary], rows: Sequence[int], names: Sequence[str]) -> list[int]:
    first: dict[str, int] = {}
    for row in sorted(rows, key=lambda row: _moment(calls, row)):
        first.setdefault(_key(calls[row], row, names), row)
    return list(first.values())


def _moment(calls: Sequence[CallSummary], row: int) -> tuple[float, int]:
    time = calls[row].time
    return (0.0 if time is None else time, row)


def _key(call: CallSummary, row: int, names: Sequence[str]) -> str:
    """The turn, trace or conversation of a call; a call without one stands for itself."""
    value = next((value for name in names if (value := getattr(call, name))), "")
    return f"{call.reader}\0{value}" if value else f"\0{row}"
