"""The messages of a request, in the shapes of every provider and framework.

The same conversation gives the same messages, whichever of the shapes it was recorded in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deconfound.chat.message_content import (
    CALL_TYPES,
    MAX_DEPTH,
    MESSAGE_TYPES,
    REQUEST_KEYS,
    RESULT_TYPES,
    ROLES,
    SYSTEM_KEYS,
    canonical_json,
    content_text,
    decode,
    is_part,
    message_text,
    part_text,
)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation as plain text; roles are system, user, assistant and tool."""

    role: str
    text: str


def messages_from(value: object) -> tuple[Message, ...]:
    """The messages of a request, or of its input alone; text that is no message is what the user said."""
    return tuple(_messages(decode(value), MAX_DEPTH))


def conversation_text(messages: Sequence[Message]) -> str:
    """Messages as one text: a single one of the user by itself, otherwise each after its role."""
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].text
    return "\n\n".join(f"{message.role}: {message.text}" for message in messages)


def _messages(value: object, depth: int) -> Iterator[Message]:
    if value is None or depth == 0:
        return
    if isinstance(value, str):
        if value.strip():
            yield Message("user", value)
    elif isinstance(value, Mapping):
        yield from _messages_of_object(value, depth)
    elif isinstance(value, Sequence):
        if value and all(is_part(one) for one in value):
            yield Message("user", content_text(value, depth))
        else:
            for one in value:
                yield from _messages(one, depth - 1)
    else:
        yield Message("user", canonical_json(value))


def _messages_of_object(value: Mapping[str, Any], depth: int) -> Iterator[Message]:
    request = next((key for key in REQUEST_KEYS if value.get(key)), None)
    if request is None and "input" in value and any(key in value for key in ("model", *SYSTEM_KEYS)):
        request = "input"  # of the Responses API
    if request is not None:
        for key in SYSTEM_KEYS:
            text = content_text(value.get(key), depth)
            if text:
                yield Message("system", text)
        yield from _messages(decode(value[request]), depth - 1)
    elif "lc" in value and isinstance(value.get("kwargs"), Mapping):
        yield _message(value["kwargs"], depth, kind=_last(value.get("id")))
    elif "role" in value or "parts" in value or ("content" in value and value.get("type") in MESSAGE_TYPES):
        yield _message(value, depth)
    elif isinstance(value.get("message"), Mapping):
        yield from _messages_of_object(value["message"], depth - 1)
    elif len(value) == 1 and isinstance(next(iter(value.values())), str):
        yield from _messages(decode(next(iter(value.values()))), depth - 1)
    elif value:
        yield Message("user", canonical_json(value))


def _message(value: Mapping[str, Any], depth: int, kind: str = "") -> Message:
    role = str(value.get("role") or kind or value.get("type") or "user")
    kind = str(value.get("type") or "")
    if kind in CALL_TYPES or kind in RESULT_TYPES:  # an item of the Responses API
        return Message("assistant" if kind in CALL_TYPES else "tool", part_text(value, depth))
    return Message(ROLES.get(role, role), message_text(value, depth))


def _last(value: object) -> str:
    return str(value[-1]) if isinstance(value, list) and value else ""
