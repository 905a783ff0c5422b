"""The answers of a response, in the shapes of every provider and framework."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deconfound.chat.message_content import (
    CALL_TYPES,
    CHOICE_KEYS,
    MAX_DEPTH,
    RESULT_TYPES,
    ROLES,
    SPOKEN_KEYS,
    are_choices,
    canonical_json,
    content_text,
    decode,
    is_part,
    is_spoken,
    tool_calls,
)

AROUND_OUTPUT = {"output", "input", "chat_history", "intermediate_steps", "metadata"}  # keys of a chain's result
TRUNCATED = ("length", "max_tokens", "max_output_tokens", "MAX_TOKENS")


@dataclass(frozen=True, slots=True)
class Answer:
    """One choice of a response. ``tool_call_only`` answers consist of calls of tools, shown as JSON."""

    text: str
    tool_call_only: bool = False
    truncated: bool = False


def answers_from(value: object) -> tuple[Answer, ...]:
    """The choices of a response, or of its message alone; none where the record has no answer."""
    return tuple(_answers(decode(value), MAX_DEPTH))


def names_a_limit(reasons: Iterable[object]) -> bool:
    """Whether one of the reasons why an answer ended is the limit of its length."""
    return any(reason in TRUNCATED for reason in reasons)


def _answers(value: object, depth: int) -> Iterator[Answer]:
    if value is None or depth == 0:
        return
    if isinstance(value, str):
        yield Answer(value)
    elif isinstance(value, Mapping):
        yield from _answers_of_object(value, depth)
    elif isinstance(value, Sequence):
        yield from _answers_of_list(value, depth)
    else:
        yield Answer(canonical_json(value))


def _answers_of_list(value: Sequence[Any], depth: int) -> Iterator[Answer]:
    if value and all(isinstance(one, Mapping) and "role" in one for one in value):
        spoken = [one for one in value if ROLES.get(str(one["role"]), one["role"]) == "assistant"]
        for one in spoken:
            yield from _answers_of_object(one, depth)
    elif value and all(is_part(one) for one in value):
        yield _answer_from_parts(value, depth)
    else:
        for one in value:
            yield from _answers(one, depth - 1)


def _answers_of_object(value: Mapping[str, Any], depth: int, *, is_message: bool = False) -> Iterator[Answer]:
    """The answers in an object; one of another shape is an answer in JSON unless ``is_message`` is known."""
    choices = next((value[key] for key in CHOICE_KEYS if are_choices(value.get(key))), None)
    output, messages, message, content = (value.get(key) for key in ("output", "messages", "message", "content"))
    if choices is not None:
        yield from _answers_of_choices(choices, depth)
    elif isinstance(output, list) and _are_items(output):  # of the Responses API: messages, reasoning, calls of tools
        yield _answer_from_parts(output, depth, truncated=value.get("status") == "incomplete")
    elif isinstance(messages, list) and messages and isinstance(messages[-1], Mapping | list):
        yield from _answers(messages[-1:], depth - 1)
    elif isinstance(message, Mapping) and (is_message or is_spoken(message) or "lc" in message):
        yield from _answers_inside(value, message, depth)
    elif "lc" in value and isinstance(value.get("kwargs"), Mapping):
        yield from _answers_of_object(value["kwargs"], depth - 1, is_message=True)
    elif isinstance(content, Mapping) and (is_message or is_spoken(content)):  # of a candidate of Gemini
        yield from _answers_inside(value, content, depth)
    elif is_spoken(value) or (is_message and any(key in value for key in SPOKEN_KEYS)):
        yield _answer_from_message(value, depth)
    elif isinstance(output, str) and value.keys() <= AROUND_OUTPUT:
        yield Answer(output)
    elif value:
        yield Answer(canonical_json(value))


def _answers_of_choices(choices: Sequence[Any], depth: int) -> Iterator[Answer]:
    for choice in choices:
        if isinstance(choice, Mapping):
            yield from _answers_of_object(choice, depth - 1, is_message=True)
        else:
            yield from _answers(choice, depth - 1)


def _are_items(output: Sequence[Any]) -> bool:
    return all(isinstance(one, Mapping) and ("type" in one or "role" in one) for one in output)


def _answers_inside(choice: Mapping[str, Any], message: Mapping[str, Any], depth: int) -> Iterator[Answer]:
    """The answers of a choice, which says beside its message why it ended."""
    for answer in _answers_of_object(message, depth - 1, is_message=True):
        yield replace(answer, truncated=answer.truncated or _is_truncated(choice))


def _answer_from_message(value: Mapping[str, Any], depth: int) -> Answer:
    spoken = (value.get(key) for key in ("parts", "content", "refusal"))
    body = next((each for each in spoken if each is not None), None)
    parts = body if isinstance(body, list) else [body] if body is not None else []
    calls = tool_calls(value)
    if not parts and not calls:
        return Answer(str(value.get("text") or ""), truncated=_is_truncated(value))
    marked = [*parts, *({**call, "type": "tool_call"} for call in calls)]
    return _answer_from_parts(marked, depth, truncated=_is_truncated(value))


def _answer_from_parts(parts: Sequence[Any], depth: int, *, truncated: bool = False) -> Answer:
    """The spoken text of an answer, or its calls of tools where it says nothing."""
    spoken = [part for part in parts if not _is_tool_part(part)]
    text = content_text(spoken, depth)
    if text.strip() or len(spoken) == len(parts):
        return Answer(text, truncated=truncated)
    return Answer(content_text(parts, depth), tool_call_only=True, truncated=truncated)


def _is_tool_part(part: object) -> bool:
    return isinstance(part, Mapping) and (part.get("type") in (*CALL_TYPES, *RESULT_TYPES) or "functionCall" in part)


def _is_truncated(value: Mapping[str, Any]) -> bool:
    return names_a_limit(value.get(key) for key in ("finish_reason", "stop_reason", "finishReason"))
