"""What was asked and answered in one call, and what that says about the use of the call."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from deconfound.chat.answers import Answer
from deconfound.chat.conversation import Message
from deconfound.traces.call import Call, Flag
from deconfound.traces.reader import Remarks

NOTHING_STATED: Mapping[Flag, bool] = {}


def flags_from(
    messages: Sequence[Message], answers: Sequence[Answer], stated: Mapping[Flag, bool] = NOTHING_STATED
) -> frozenset[Flag]:
    """Why a call may not be used: what its record states, and what its contents show.

    A call that failed or is internal may lack its answer, but not its messages.
    """
    flags = {flag for flag, holds in stated.items() if holds}
    if not any(message.text for message in messages) or not (answers or flags & {"error", "internal"}):
        flags.add("no content")
    if answers and all(answer.tool_call_only for answer in answers):
        flags.add("tool call")
    if any(answer.truncated for answer in answers):
        flags.add("truncated")
    return frozenset(flags)


def repeated_calls(calls: Mapping[str, Call], parents: Mapping[str, str], remarks: Remarks) -> set[str]:
    """Calls that two instrumentations recorded, one inside the other; the inner one counts if it has content.

    Calls and parents are by the id of their span.
    """
    repeated: set[str] = set()
    around = Surroundings(parents, calls)
    for span_id, call in calls.items():
        outer = around.nearest(span_id)
        if outer:
            keep_outer = "no content" in call.flags and "no content" not in calls[outer].flags
            repeated.add(span_id if keep_outer else outer)
    for span_id in repeated:
        remarks.add("calls are recorded twice, one inside the other", calls[span_id].origin)
    return repeated


@dataclass(slots=True)
class Surroundings:
    """Which of some spans is around another one. Every span is visited once, however many are asked about."""

    parents: Mapping[str, str]
    spans: Container[str]
    _known: dict[str, str] = field(default_factory=dict)

    def nearest(self, span_id: str) -> str:
        """The innermost of the spans around a span, in a circle never the span itself; empty if there is none."""
        path: dict[str, None] = {}
        current, found = span_id, ""
        while current and current not in path:
            if current in self._known:
                found = self._known[current]
                break
            path[current] = None
            current = self.parents.get(current, "")
            if current and current in self.spans:
                found = current
                break
        self._known |= {one: "" if one == found else found for one in path}
        return self._known.get(span_id, "")
