"""The reader of OTLP JSON, the files of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from tempfile import TemporaryFile
from typing import Any, ClassVar

from deconfound.chat.answers import Answer
from deconfound.traces.call import Call, Score, Target
from deconfound.traces.exchange import Surroundings, repeated_calls
from deconfound.traces.otlp import Event, Span, events_from, is_otlp, spans_from
from deconfound.traces.otlp_calls import NO_FACTS, TraceFacts, call_from, role_of, stated_for_trace, with_content
from deconfound.traces.otlp_dialect import Exchange, SpanRole
from deconfound.traces.otlp_genai import DETAILS_EVENT
from deconfound.traces.otlp_genai_events import MessageEvent, exchange_from_events, message_event
from deconfound.traces.otlp_scores import Judgement, judgement_from_event, judgements_from_span, judges_nothing
from deconfound.traces.reader import Record, Remarks, skip_if_too_deep
from deconfound.traces.text_store import TextStore


@dataclass(slots=True)
class _Gathered:
    """All that is needed until the last record: a span and its events may be in different files, in any order.

    Spans are named by their trace and their own id. ``details`` are calls that one event describes completely. The
    texts of all of them are in ``texts``.
    """

    texts: TextStore
    calls: dict[str, Call] = field(default_factory=dict)
    details: dict[str, Call] = field(default_factory=dict)
    messages: dict[str, list[MessageEvent]] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    roles: dict[str, SpanRole] = field(default_factory=dict)  # of evaluators and steps
    traces: dict[str, TraceFacts] = field(default_factory=dict)
    judgements: dict[Judgement, str] = field(default_factory=dict)  # with their origin


@dataclass(frozen=True, slots=True)
class Otlp:
    """OpenTelemetry in JSON: spans and log events of the GenAI conventions and of their relatives."""

    name: ClassVar[str] = "OpenTelemetry (OTLP JSON)"
    content_switch: ClassVar[str] = (
        "Record messages with OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT and "
        "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental (older instrumentations: "
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, and read the file of log events too), with "
        "TRACELOOP_TRACE_CONTENT=true for OpenLLMetry, or without OPENINFERENCE_HIDE_INPUTS and "
        "OPENINFERENCE_HIDE_OUTPUTS for OpenInference."
    )

    def recognizes(self, value: Mapping[str, Any]) -> bool:
        """Whether a record is a document of OTLP, a page of its spans, or one span."""
        return is_otlp(value)

    def read(self, records: Iterable[Record], remarks: Remarks) -> Iterator[Call | Score]:
        """Calls and scores of all records, after the last one."""
        with TemporaryFile() as file:
            gathered = _Gathered(TextStore(file))
            for record in records:
                if not is_otlp(record.value):
                    remarks.add("records are not OTLP JSON", record.origin)
                    continue
                with skip_if_too_deep(remarks, record.origin):
                    _gather(gathered, record, remarks)
            yield from _calls(gathered, remarks)
            yield from _scores(gathered, remarks)


def _gather(gathered: _Gathered, record: Record, remarks: Remarks) -> None:
    for span in spans_from(record.value):
        if span.trace_id and span.span_id:
            _gather_span(gathered, span, record.origin, remarks)
        else:
            remarks.add("spans have no id", record.origin)
    for event in events_from(record.value):
        _gather_event(gathered, event, record.origin)


def _gather_span(gathered: _Gathered, span: Span, origin: str, remarks: Remarks) -> None:
    key, role = _key(span.trace_id, span.span_id), role_of(span.attributes)
    for one in judgements_from_span(span, role):
        gathered.judgements.setdefault(one, origin)
    if judges_nothing(span, role):
        remarks.add("evaluations do not say which span they judge", origin)
    facts = stated_for_trace(span.attributes)
    _add_facts(gathered, span.trace_id, facts)
    if role in ("call", "around", "evaluator") and span.parent_id:
        gathered.parents[key] = _key(span.trace_id, span.parent_id)
    if role == "call":
        _add_call(gathered, key, call_from(span, facts, origin), remarks)
        return
    remarks.add("spans are not calls of a model", origin)
    if role in ("evaluator", "step"):
        gathered.roles[key] = role


def _add_call(gathered: _Gathered, key: str, found: tuple[Call, bool], remarks: Remarks) -> None:
    call, damaged = found
    before = gathered.calls.get(key)
    if before is not None:
        remarks.add("spans are in the files more than once", call.origin)
    if damaged:
        remarks.add("spans have messages that are not valid JSON, perhaps cut at a limit of length", call.origin)
    if before is None or ("no content" in before.flags and "no content" not in call.flags):
        gathered.calls[key] = gathered.texts.put(key, call)


def _gather_event(gathered: _Gathered, event: Event, origin: str) -> None:
    judgement = judgement_from_event(event)
    if judgement is not None:
        gathered.judgements.setdefault(judgement, origin)
        return
    key = _key(event.trace_id, event.span_id)
    if key in gathered.calls and "no content" not in gathered.calls[key].flags:
        return  # the span has the messages
    if event.name == DETAILS_EVENT:
        span = Span(event.trace_id, event.span_id, "", event.time, error=False, attributes=event.attributes)
        if event.span_id and role_of(event.attributes) == "call" and key not in gathered.details:
            call, _ = call_from(span, stated_for_trace(event.attributes), origin)
            gathered.details[key] = gathered.texts.put(_details_key(key), call)
        return
    message = message_event(event)
    if message is not None:
        gathered.messages.setdefault(key, []).append(message)


def _add_facts(gathered: _Gathered, trace_id: str, facts: TraceFacts) -> None:
    if facts == NO_FACTS:
        return
    before = gathered.traces.get(trace_id, NO_FACTS)
    gathered.traces[trace_id] = TraceFacts(
        before.conversation or facts.conversation, before.user or facts.user, {**facts.attributes, **before.attributes}
    )


def _calls(gathered: _Gathered, remarks: Remarks) -> Iterator[Call]:
    """The calls with the messages of their events and the facts of their traces; the same call once."""
    for key, found in gathered.details.items():
        if key not in gathered.calls:
            call = gathered.texts.get(_details_key(key), found)
            gathered.calls[key] = gathered.texts.put(key, call)
    evaluators = Surroundings(gathered.parents, {key for key, role in gathered.roles.items() if role == "evaluator"})
    for key, call in gathered.calls.items():
        gathered.calls[key] = _completed(gathered, key, call, for_evaluator=bool(evaluators.nearest(key)))
    repeated = repeated_calls(gathered.calls, gathered.parents, remarks)
    for key in repeated:
        del gathered.calls[key]
    for key in gathered.messages.keys() - gathered.calls.keys() - repeated:
        remarks.add("events with messages belong to spans that are not in the files", f"span {key.rpartition('/')[2]}")
    for key, call in gathered.calls.items():
        yield gathered.texts.get(key, call)


def _completed(gathered: _Gathered, key: str, call: Call, *, for_evaluator: bool) -> Call:
    """A call with all that is known about it; ``for_evaluator`` is whether an evaluator made it."""
    if "no content" in call.flags and (key in gathered.details or key in gathered.messages):
        call = gathered.texts.put(key, _with_events(gathered, key, gathered.texts.get(key, call)))
    if for_evaluator:
        call = replace(call, flags=call.flags | {"internal"})
    facts = gathered.traces.get(call.trace_id, NO_FACTS)
    if (facts.conversation, facts.user) == (call.conversation, call.user) and not facts.attributes:
        return call
    return replace(
        call,
        conversation=call.conversation or facts.conversation,
        user=call.user or facts.user,
        attributes={**facts.attributes, **call.attributes},
    )


def _with_events(gathered: _Gathered, key: str, call: Call) -> Call:
    """A call with the content that events have of it."""
    if key in gathered.details:
        details = gathered.texts.get(_details_key(key), gathered.details[key])
        answers = tuple(map(Answer, details.outputs))
        call = with_content(call, Exchange(messages=details.messages, answers=answers))
        call = replace(call, flags=call.flags | (details.flags - {"no content"}))
    if "no content" in call.flags and key in gathered.messages:
        call = with_content(call, exchange_from_events(gathered.messages[key]))
    return call


def _scores(gathered: _Gathered, remarks: Remarks) -> Iterator[Score]:
    traces = {call.trace_id for call in gathered.calls.values()}
    for one, origin in gathered.judgements.items():
        if gathered.roles.get(_key(one.trace_id, one.span_id)) == "step" and one.scope == "span":
            remarks.add("scores judge a tool or a retrieval, not an answer", origin)
            continue
        target, target_id = _target(gathered, traces, one)
        if target_id:
            found = Score(origin, one.name, one.value, one.author, target, target_id, one.author_id, one.time)
            yield replace(found, trace_id=one.trace_id) if target == "call" else found
        else:
            remarks.add("scores do not say what they judge", origin)


def _target(gathered: _Gathered, traces: set[str], one: Judgement) -> tuple[Target, str]:
    """What a score judges. A score of a span around calls, such as an agent, judges its trace."""
    if one.scope == "conversation":
        facts = gathered.traces.get(one.trace_id, NO_FACTS)
        return "conversation", one.conversation or facts.conversation
    if one.scope == "trace":
        return "trace", one.trace_id
    if _key(one.trace_id, one.span_id) in gathered.calls:
        return "call", one.span_id
    if one.response_id:
        return "response", one.response_id
    return ("trace", one.trace_id) if one.trace_id in traces else ("call", one.span_id)


def _key(trace_id: str, span_id: str) -> str:
    return f"{trace_id}/{span_id}"


def _details_key(key: str) -> str:
    return f"{key} details"
