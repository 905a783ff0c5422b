"""Calls of models from spans and events of OTLP, whichever dialect they are written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from deconfound.chat.answers import Answer, names_a_limit
from deconfound.traces.call import Call, Flag
from deconfound.traces.exchange import flags_from
from deconfound.traces.field_values import attributes_from, first_text, plain_model
from deconfound.traces.otlp import Span
from deconfound.traces.otlp_dialect import CACHED_NAMES, Attributes, Dialect, Exchange, SpanRole, merged
from deconfound.traces.otlp_genai import GenAi
from deconfound.traces.otlp_genai_events import events_in, exchange_from_events
from deconfound.traces.otlp_langfuse import Langfuse, trace_attributes
from deconfound.traces.otlp_openinference import OpenInference
from deconfound.traces.otlp_openllmetry import OpenLlmetry
from deconfound.traces.otlp_vercel import CONTEXTS, Vercel

CONVERSATION_KEYS = (
    *("gen_ai.conversation.id", "session.id", "langfuse.session.id"),
    *(f"traceloop.association.properties.{key}" for key in ("session_id", "conversation_id", "thread_id")),
    *(f"{start}.{key}" for start in CONTEXTS for key in ("sessionId", "conversationId", "threadId")),
)
USER_KEYS = (
    *("user.id", "enduser.id", "langfuse.user.id", "gen_ai.user", "llm.user"),
    *("traceloop.association.properties.user_id", *(f"{start}.userId" for start in CONTEXTS)),
)
DIALECTS: tuple[Dialect, ...] = (GenAi(), OpenInference(), OpenLlmetry(), Langfuse(), Vercel())
READ_ELSEWHERE = ("session.id", "user.id", "enduser.id", "metadata", "tag.tags", "events")
TECHNICAL = (
    *("gen_ai.", "llm.", "ai.", "openinference.", "langfuse.", "traceloop.", "logfire.", "input.", "output."),
    *(f"{scope}{kind}." for scope in ("", "trace.", "session.") for kind in ("annotations", "evaluations")),
    *(
        "server.",
        "http.",
        "url.",
        "network.",
        "code.",
        "telemetry.",
        "thread.",
        "error.",
        "operation.name",
    ),
)
"""Beginnings of names that a dialect owns or that describe the machine; all other attributes are the user's own."""


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """Conversation, user, tags and metadata of a trace."""

    conversation: str = ""
    user: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


NO_FACTS = TraceFacts()


def role_of(attributes: Attributes) -> SpanRole | None:
    """What a span is; a dialect that says it is no call is right, for others may only know its model."""
    roles = [role for role in (dialect.role(attributes) for dialect in _dialects(attributes)) if role is not None]
    return next((role for role in roles if role != "call"), roles[0] if roles else None)


def call_from(span: Span, facts: TraceFacts, origin: str) -> tuple[Call, bool]:
    """The call of a span that states these facts, and whether its messages are damaged."""
    exchanges = [dialect.exchange(span.attributes) for dialect in _dialects(span.attributes)]
    events = list(events_in(span))
    found = merged([*exchanges, exchange_from_events(events)] if events else exchanges)
    model = first_text(found.model, found.requested_model)
    stated: dict[Flag, bool] = {
        "error": span.error or found.failed,
        "truncated": names_a_limit(found.finish_reasons),
    }
    call = Call(
        origin=origin,
        call_id=span.span_id,
        model=plain_model(model, found.provider),
        messages=found.messages,
        outputs=tuple(answer.text for answer in found.answers),
        requested_model=plain_model(found.requested_model, found.provider),
        response_id=found.response_id,
        trace_id=span.trace_id,
        conversation=facts.conversation,
        user=facts.user,
        time=span.time,
        flags=flags_from(found.messages, found.answers, stated),
        attributes={**_own(span.attributes), **found.attributes},
    )
    return call, found.damaged


def with_content(call: Call, content: Exchange) -> Call:
    """A call with messages and answers that were recorded apart from it."""
    messages = call.messages or content.messages
    answers = content.answers if not call.outputs else tuple(map(Answer, call.outputs))
    flags = flags_from(messages, answers, dict.fromkeys(call.flags - {"no content"}, True))
    return replace(call, messages=messages, outputs=tuple(answer.text for answer in answers), flags=flags)


def stated_for_trace(attributes: Attributes) -> TraceFacts:
    """What one span says about its whole trace."""
    return TraceFacts(
        conversation=first_text(*(attributes[key] for key in CONVERSATION_KEYS if key in attributes)),
        user=first_text(*(attributes[key] for key in USER_KEYS if key in attributes)),
        attributes=trace_attributes(attributes),
    )


def _dialects(attributes: Attributes) -> tuple[Dialect, ...]:
    return _dialects_among(frozenset(map(_dialects_of, attributes)))


@lru_cache(CACHED_NAMES)
def _dialects_of(key: str) -> tuple[int, ...]:
    return tuple(at for at, dialect in enumerate(DIALECTS) if key.startswith(dialect.prefixes))


@lru_cache
def _dialects_among(found: frozenset[tuple[int, ...]]) -> tuple[Dialect, ...]:
    return tuple(DIALECTS[at] for at in sorted({at for numbers in found for at in numbers}))


def _own(attributes: Attributes) -> Mapping[str, str]:
    own = filter(_is_own, attributes)
    return {name: one for key in own for name, one in attributes_from(attributes[key], key).items()}


@lru_cache(CACHED_NAMES)
def _is_own(key: str) -> bool:
    return key not in READ_ELSEWHERE and not key.startswith(TECHNICAL)
