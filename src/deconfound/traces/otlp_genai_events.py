"""The conventions of OpenTelemetry for generative AI up to 1.36: every message is an event of the span.

The events are log events, events inside the span, or a list in the attribute ``events``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deconfound.chat.answers import Answer, answers_from
from deconfound.chat.conversation import Message, messages_from
from deconfound.traces.field_values import json_from, objects_from, text_from
from deconfound.traces.otlp import Event, Span
from deconfound.traces.otlp_dialect import Exchange
from deconfound.traces.otlp_genai import hides_text

ROLES_OF_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
CHOICE = "gen_ai.choice"
PROMPT, COMPLETION = "gen_ai.content.prompt", "gen_ai.content.completion"  # whole conversations, before 1.28
CONTENT_KEYS = ("content", "tool_calls", "parts")


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """What one event adds to a call.

    ``hidden`` if its text was not recorded. Events of the assistant that are ``empty`` may be hidden, too: an empty
    text is left out. Whether texts were recorded shows in the other events.
    """

    time: float
    messages: tuple[Message, ...] = ()
    answers: tuple[Answer, ...] = ()
    hidden: bool = False
    empty: bool = False


def message_event(event: Event) -> MessageEvent | None:
    """What an event adds to the call of its span; nothing if it is no message."""
    time = event.time or 0.0
    if event.name == PROMPT:
        return MessageEvent(time, messages=messages_from(event.attributes.get("gen_ai.prompt")))
    if event.name == COMPLETION:
        return MessageEvent(time, answers=answers_from(event.attributes.get("gen_ai.completion")))
    body = event.body if event.body is not None else json_from(event.attributes.get("gen_ai.event.content"))
    return _message_event(event.name, body, time)


def events_in(span: Span) -> Iterator[MessageEvent]:
    """The messages that a span itself has as events."""
    listed = objects_from(span.attributes.get("events"))
    found = [_message_event(text_from(one.get("event.name")), one, 0.0) for one in listed]
    found += [message_event(event) for event in span.events]
    yield from (one for one in found if one is not None)


def exchange_from_events(events: Sequence[MessageEvent]) -> Exchange:
    """The messages of a call, in the order of their times; the same event of two files counts once."""
    once = dict.fromkeys(one for one in events if one.time)
    ordered = sorted([*(one for one in events if not one.time), *once], key=lambda one: one.time)
    if any(one.hidden for one in ordered) or all(one.empty for one in ordered):
        return Exchange()
    messages = tuple(message for one in ordered for message in one.messages)
    return Exchange(messages=messages, answers=tuple(answer for one in ordered for answer in one.answers))


def _message_event(name: str, body: object, time: float) -> MessageEvent | None:
    if name == CHOICE:
        return _choice(body, time)
    if name not in ROLES_OF_EVENTS:
        return None
    role = ROLES_OF_EVENTS[name]
    said = body if isinstance(body, Mapping) else {"content": body}
    if _is_hidden(said):
        is_empty = role == "assistant"
        return MessageEvent(time, (Message(role, ""),) if is_empty else (), hidden=not is_empty, empty=is_empty)
    return MessageEvent(time, messages=messages_from([{**said, "role": said.get("role") or role}]))


def _choice(body: object, time: float) -> MessageEvent:
    choice: Mapping[str, Any] = body if isinstance(body, Mapping) else {"message": body}
    message = choice.get("message", choice)
    said = message if isinstance(message, Mapping) else {"content": message}
    if _is_hidden(said):
        return MessageEvent(time, answers=(Answer(""),), empty=True)
    return MessageEvent(time, answers=answers_from({"message": said, "finish_reason": choice.get("finish_reason")}))


def _is_hidden(said: Mapping[str, Any]) -> bool:
    content = said.get("content")
    parts = content if isinstance(content, list) else [content]
    return all(said.get(key) is None for key in CONTENT_KEYS) or any(hides_text(part) for part in parts)
