"""The reader of LangSmith: runs and rows of feedback, from its API or its export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from deconfound.traces.call import Call, Score, Target
from deconfound.traces.exchange import repeated_calls
from deconfound.traces.field_values import first_text, mapping_from, objects_from, text_from
from deconfound.traces.langsmith_feedback import Feedback, feedback_from, is_feedback
from deconfound.traces.langsmith_runs import call_from_run, conversation_of, has_not_ended, is_run, user_of
from deconfound.traces.reader import Record, Remarks, skip_if_too_deep

PAGE_KEYS = ("runs", "feedback", "data", "items")
STEPS = ("tool", "retriever", "embedding", "prompt", "parser")
MAX_CHILD_DEPTH = 50  # of runs inside runs


@dataclass(slots=True)
class _Gathered:
    """All that is needed until the last record: feedback and the root of a trace may come after a call."""

    calls: dict[str, Call] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)  # of runs that are no calls; empty for tools and the like
    conversations: dict[str, str] = field(default_factory=dict)  # by trace
    users: dict[str, str] = field(default_factory=dict)
    averages: list[str] = field(default_factory=list)  # origins of runs that have averages of feedback
    feedback: dict[str, Feedback] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LangSmith:
    """LangSmith; what it calls a session is a project."""

    name: ClassVar[str] = "LangSmith"
    content_switch: ClassVar[str] = (
        "Record messages without LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS, and export the fields inputs and "
        "outputs of the runs."
    )

    def recognizes(self, value: Mapping[str, Any]) -> bool:
        """Whether a record is a run, a row of feedback, or a page of them."""
        return any(is_run(one) or is_feedback(one) for one in _rows(value))

    def read(self, records: Iterable[Record], remarks: Remarks) -> Iterator[Call | Score]:
        """Calls and scores of all records, after the last one."""
        gathered = _Gathered()
        for record in records:
            with skip_if_too_deep(remarks, record.origin):
                for row in _rows(record.value):
                    _gather(gathered, row, record.origin, remarks)
        repeated = repeated_calls(gathered.calls, gathered.parents, remarks)
        yield from (_completed(gathered, call) for run_id, call in gathered.calls.items() if run_id not in repeated)
        yield from _scores(gathered, repeated, remarks)


def _rows(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of a page, or the record itself."""
    if is_run(value) or is_feedback(value):
        return [value]
    return objects_from(next((value[key] for key in PAGE_KEYS if isinstance(value.get(key), list)), [value]))


def _gather(gathered: _Gathered, row: Mapping[str, Any], origin: str, remarks: Remarks) -> None:
    if is_feedback(row):
        found = feedback_from(row, origin)
        if isinstance(found, str):
            remarks.add(found, origin)
        else:
            gathered.feedback[found.feedback_id or f"row {len(gathered.feedback)}"] = found
    elif is_run(row):
        _gather_run(gathered, row, origin, remarks, MAX_CHILD_DEPTH)
    else:
        remarks.add("records are neither runs nor feedback of LangSmith", origin)


def _gather_run(gathered: _Gathered, run: Mapping[str, Any], origin: str, remarks: Remarks, depth: int) -> None:
    run_id, kind = text_from(run.get("id")), text_from(run.get("run_type"))
    trace_id = first_text(run.get("trace_id"), run_id)
    for facts, found in ((gathered.conversations, conversation_of(run)), (gathered.users, user_of(run))):
        if found:
            facts.setdefault(trace_id, found)
    if mapping_from(run.get("feedback_stats")):
        gathered.averages.append(origin)
    if kind not in STEPS:
        gathered.parents[run_id] = text_from(run.get("parent_run_id"))
    if kind == "llm":
        _add_call(gathered, run, origin, remarks)
    else:
        remarks.add("runs are not calls of a model", origin)
        gathered.traces[run_id] = "" if kind in STEPS else trace_id
    for child in objects_from(run.get("child_runs")) if depth else []:
        if is_run(child):
            _gather_run(gathered, child, origin, remarks, depth - 1)


def _add_call(gathered: _Gathered, run: Mapping[str, Any], origin: str, remarks: Remarks) -> None:
    if has_not_ended(run):
        remarks.add("runs have not ended", origin)
        return
    call = call_from_run(run, origin)
    before = gathered.calls.get(call.call_id)
    if before is not None:
        remarks.add("runs are in the files more than once", origin)
    if before is None or "no content" in before.flags:
        gathered.calls[call.call_id] = call


def _completed(gathered: _Gathered, call: Call) -> Call:
    """A call with the conversation and the user that another run of its trace names."""
    return replace(
        call,
        conversation=call.conversation or gathered.conversations.get(call.trace_id, ""),
        user=call.user or gathered.users.get(call.trace_id, ""),
    )


def _scores(gathered: _Gathered, repeated: set[str], remarks: Remarks) -> Iterator[Score]:
    for one in gathered.feedback.values():
        if gathered.traces.get(one.run_id) == "":
            remarks.add("scores judge a tool or a retrieval, not an answer", one.origin)
        else:
            target, target_id = _target(gathered, repeated, one)
            yield Score(one.origin, one.name, one.value, one.author, target, target_id, one.author_id, one.time)
    for origin in gathered.averages if not gathered.feedback else []:
        remarks.add("runs have averages of their feedback only; add the rows of feedback to use it", origin)


def _target(gathered: _Gathered, repeated: set[str], one: Feedback) -> tuple[Target, str]:
    """What feedback judges: a call, or the trace where it was given to a run around the calls or to the root."""
    if one.run_id in gathered.calls and one.run_id not in repeated:
        return "call", one.run_id
    if one.run_id in repeated:
        return "trace", gathered.calls[one.run_id].trace_id
    if one.run_id in gathered.traces:
        return "trace", gathered.traces[one.run_id]
    return ("trace", one.trace_id) if one.run_id in ("", one.trace_id) else ("call", one.run_id)
