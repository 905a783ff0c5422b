"""Scores in OTLP: events of evaluations, annotations on spans, spans that judge other spans, and Logfire's feedback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from deconfound.traces.call import Author
from deconfound.traces.field_values import first_text, score_from, text_from
from deconfound.traces.otlp import Event, Span
from deconfound.traces.otlp_dialect import CACHED_NAMES, SpanRole
from deconfound.traces.otlp_lists import listed

EVALUATION_EVENT = "gen_ai.evaluation.result"
AUTHORS: Mapping[str, Author] = {"HUMAN": "human", "LLM": "judge", "CODE": "code"}
ANNOTATIONS = (("annotations", "annotation"), ("evaluations", "evaluation"))
SCOPES: Mapping[str, Scope] = {"": "span", "trace.": "trace", "session.": "conversation"}
PREFIXES = tuple(f"{scope}{plural}." for scope in SCOPES for plural, _ in ANNOTATIONS)

Scope = Literal["span", "trace", "conversation"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A score before it is known which spans are calls."""

    name: str
    value: float | bool | str
    trace_id: str
    span_id: str
    author: Author = "unknown"
    author_id: str = ""
    time: float | None = None
    response_id: str = ""
    conversation: str = ""
    scope: Scope = "span"


def judgement_from_event(event: Event) -> Judgement | None:
    """The score of an evaluation; nothing if the event is another one or has neither a number nor a label."""
    found = event.attributes
    name = text_from(found.get("gen_ai.evaluation.name"))
    values = (found.get("gen_ai.evaluation.score.value"), found.get("gen_ai.evaluation.score.label"))
    value = _first_score(*values)
    if event.name != EVALUATION_EVENT or not name or value is None:
        return None
    response = text_from(found.get("gen_ai.response.id"))
    return Judgement(name, value, event.trace_id, event.span_id, time=event.time, response_id=response)


def judgements_from_span(span: Span, role: SpanRole | None) -> Iterator[Judgement]:
    """The scores of a span, of the spans that an evaluator names, or of the span above Logfire's feedback."""
    yield from _logfire(span)
    found = [*_annotations(span), *filter(None, map(judgement_from_event, span.events))]
    if role != "evaluator":
        yield from found
        return
    for trace_id, span_id in span.links:
        for one in found:
            yield replace(one, trace_id=trace_id, span_id=span_id, time=one.time or span.time)


def judges_nothing(span: Span, role: SpanRole | None) -> bool:
    """Whether an evaluator has results, but does not name what they judge; its parent is not a hint."""
    return role == "evaluator" and not span.links and any(True for _ in _annotations(span))


def _annotations(span: Span) -> Iterator[Judgement]:
    """The results of a span; a producer may write one of them under both names."""
    if not any(map(_is_annotation, span.attributes)):
        return
    for start, scope in SCOPES.items():
        for plural, singular in ANNOTATIONS:
            for one in listed(span.attributes, f"{start}{plural}"):
                found = _annotation(one.get(singular), span, scope)
                if found is not None:
                    yield found


@lru_cache(CACHED_NAMES)
def _is_annotation(key: str) -> bool:
    return key.startswith(PREFIXES)


def _annotation(value: object, span: Span, scope: Scope) -> Judgement | None:
    if not isinstance(value, Mapping):
        return None
    name, score = text_from(value.get("name")), _first_score(value.get("score"), value.get("label"))
    if not name or score is None:
        return None
    author = AUTHORS.get(text_from(value.get("annotator_kind")).upper(), "unknown")
    return Judgement(
        name,
        score,
        span.trace_id,
        span.span_id,
        author,
        author_id=text_from(value.get("identifier")),
        conversation=first_text(span.attributes.get("session.id"), span.attributes.get("gen_ai.conversation.id")),
        scope=scope,
    )


def _logfire(span: Span) -> Iterator[Judgement]:
    """Feedback is a span below the one that it judges."""
    found = span.attributes
    if found.get("logfire.span_type") != "annotation":
        return
    name = first_text(found.get("logfire.feedback.name"), found.get("feedback.name"))
    older = (found.get(f"feedback.{key}") for key in ("assertion", "score", "label"))
    value = _first_score(found.get(name), *older)
    if name and value is not None and span.parent_id:
        yield Judgement(name, value, span.trace_id, span.parent_id, time=span.time)


def _first_score(*values: object) -> float | bool | str | None:
    return next((one for one in map(score_from, values) if one is not None), None)
