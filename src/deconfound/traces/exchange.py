"""What was asked and answered in one call, and what that says about the use of the call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deconfound.traces.answers import TRUNCATED, Answer
from deconfound.traces.call import Call, Flag, Message


def flags_from(
    messages: tuple[Message, ...], answers: tuple[Answer, ...], *, error: bool = False, finish: Iterable[object] = ()
) -> frozenset[Flag]:
    """Why a call with these contents may not be used. A failed call may lack its answer, but not its messages."""
    flags: set[Flag] = set()
    if error:
        flags.add("error")
    if not any(message.text for message in messages) or not (answers or error):
        flags.add("no content")
    if answers and all(answer.tool_call_only for answer in answers):
        flags.add("tool call")
    if any(answer.truncated for answer in answers) or any(one in TRUNCATED for one in finish if isinstance(one, str)):
        flags.add("truncated")
    return frozenset(flags)


def repeated_calls(calls: Mapping[str, Call], parents: Mapping[str, str]) -> set[str]:
    """Calls that two instrumentations recorded, one inside the other; the inner one counts if it has content.

    Calls and parents are those of one trace, by the id of their span.
    """
    repeated: set[str] = set()
    for span_id, call in calls.items():
        outer = _nearest(calls, parents, span_id)
        if outer:
            keep_outer = "no content" in call.flags and "no content" not in calls[outer].flags
            repeated.add(span_id if keep_outer else outer)
    return repeated


def _nearest(calls: Mapping[str, Call], parents: Mapping[str, str], span_id: str) -> str:
    return next((one for one in ancestors(parents, span_id) if one in calls), "")


def ancestors(parents: Mapping[str, str], span_id: str) -> Iterable[str]:
    """The spans around a span, from the inside; spans in a circle are visited once."""
    visited = {span_id}
    current = parents.get(span_id, "")
    while current and current not in visited:
        visited.add(current)
        yield current
        current = parents.get(current, "")
