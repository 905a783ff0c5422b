"""The text of one message, in the shapes of every provider and framework.

Reasoning is left out, an image or a file is a mark in brackets, and a call of a tool is its name with its arguments in
JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

MAX_DEPTH = 12  # of lists and objects around a text; deeper ones are not messages
MAX_ENCODINGS = 3  # JSON in a string, and again in a string

ROLES = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "developer": "system",
    "function": "tool",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
}
REQUEST_KEYS = ("messages", "contents", "input_messages")  # of a whole request
CHOICE_KEYS = ("choices", "candidates", "generations")  # of a whole response
SYSTEM_KEYS = ("system", "instructions", "system_instruction", "systemInstruction", "system_instructions")
CALL_TYPES = ("tool_call", "tool_use", "function_call", "server_tool_use", "functionCall")
RESULT_TYPES = ("tool_result", "tool_call_response", "function_call_output", "functionResponse")
MEDIA_MARKS = {
    "image": "[image]",
    "image_url": "[image]",
    "input_image": "[image]",
    "input_audio": "[audio]",
    "audio": "[audio]",
    "file": "[file]",
    "input_file": "[file]",
    "document": "[file]",
    "blob": "[file]",
    "uri": "[file]",
}
REASONING_TYPES = ("reasoning", "thinking", "redacted_thinking")
TEXT_TYPES = ("text", "input_text", "output_text", "refusal")
PART_TYPES = (*TEXT_TYPES, *CALL_TYPES, *RESULT_TYPES, *MEDIA_MARKS, *REASONING_TYPES)
MESSAGE_TYPES = (*PART_TYPES, *ROLES, *ROLES.values(), "message", "chat")
PART_KEYS = ("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "thought")
SPOKEN_KEYS = ("content", "parts", "tool_calls", "text", "function_call")
CHOICE_PARTS = ("message", "delta", *SPOKEN_KEYS, "finish_reason", "finishReason")
BESIDE_SPOKEN = {
    *("role", "type", "name", "id", "index", "object", "created", "model", "usage", "usage_metadata", "logprobs"),
    *("finish_reason", "finishReason", "stop_reason", "stop_sequence", "refusal", "audio", "annotations", "images"),
    *("additional_kwargs", "response_metadata", "generation_info", "invalid_tool_calls", "tool_call_id", "example"),
    *("reasoning", "reasoning_content", "reasoning_details", "thinking", "provider_specific_fields", "metadata"),
    *("message", "avg_logprobs", "safetyRatings", "citationMetadata", "tokenCount", "function_call", "signature"),
}
"""What providers write beside the text of a message; an object with other keys is an answer in JSON."""


def canonical_json(value: object) -> str:
    """JSON that does not depend on the order of keys; what JSON cannot express is written as text."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def decode(value: object) -> object:
    """The content of a text that is JSON of messages; any other text stays as it is, even where it is JSON."""
    decoded = value
    for _ in range(MAX_ENCODINGS):
        if not isinstance(decoded, str):
            break
        stripped = decoded.strip()
        if not stripped or (stripped[0], stripped[-1]) not in (("[", "]"), ("{", "}"), ('"', '"')):
            break
        try:
            decoded = json.loads(stripped)
        except (ValueError, RecursionError):
            return value
    return decoded if not isinstance(decoded, str) and is_conversation(decoded) else value


def is_conversation(value: object) -> bool:
    """Whether an object or a list has the shape of messages, of a request or of a response."""
    if isinstance(value, list):
        return bool(value) and all(is_conversation(one) for one in value)
    return isinstance(value, dict) and (_is_message(value) or is_part(value) or _is_exchange(value))


def _is_message(value: Mapping[str, Any]) -> bool:
    if ("lc" in value and "kwargs" in value) or ("role" in value and "tool_calls" in value) or _has_parts(value):
        return True
    return "content" in value and ("role" in value or "stop_reason" in value or value.get("type") in MESSAGE_TYPES)


def _has_parts(value: Mapping[str, Any]) -> bool:
    parts = value.get("parts")
    if not isinstance(parts, list):
        return False
    return "role" in value or all(
        is_part(one) or (isinstance(one, Mapping) and _has_any(one, PART_KEYS)) for one in parts
    )


def _is_exchange(value: Mapping[str, Any]) -> bool:
    """Whether an object is a whole request or a whole response."""
    if any(_are_objects(value.get(key)) for key in REQUEST_KEYS) or any(
        are_choices(value.get(key)) for key in CHOICE_KEYS
    ):
        return True
    if "input" in value and any(key in value for key in ("model", *SYSTEM_KEYS)):
        return True
    return isinstance(value.get("output"), list) and is_conversation(value["output"])


def are_choices(value: object) -> bool:
    """Whether a list has the choices of a response, which may be in lists of their own."""
    if not isinstance(value, list):
        return False
    return all(are_choices(one) or (isinstance(one, Mapping) and _has_any(one, CHOICE_PARTS)) for one in value)


def is_spoken(value: Mapping[str, Any]) -> bool:
    """Whether an object is a message or a part of one, and not an answer in JSON that has such a key, too."""
    if not _has_any(value, SPOKEN_KEYS):
        return False
    if "role" in value or "tool_calls" in value or value.get("type") in MESSAGE_TYPES:
        return True
    if "type" in value or ("parts" in value and not _has_parts(value)):
        return False
    return value.keys() <= BESIDE_SPOKEN | set(SPOKEN_KEYS)


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) or (one and _are_objects(one)) for one in value)


def _has_any(value: Mapping[str, Any], keys: Sequence[str]) -> bool:
    return any(key in value for key in keys)


def message_text(value: Mapping[str, Any], depth: int) -> str:
    """The text of a message and its calls of tools."""
    body = value["parts"] if value.get("parts") is not None else value.get("content")
    if body is None and isinstance(value.get("text"), str):
        body = value["text"]
    calls = [_call_text(call) for call in tool_calls(value)]
    return "\n".join(text for text in (content_text(body, depth), *calls) if text)


def tool_calls(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The calls of tools that stand beside a message's content."""
    extra = value.get("additional_kwargs")
    calls = value.get("tool_calls") or (extra.get("tool_calls") if isinstance(extra, Mapping) else None) or []
    if not calls and isinstance(value.get("function_call"), Mapping):
        calls = [value["function_call"]]
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, Sequence) else []


def content_text(content: object, depth: int) -> str:
    """The text of a message's content: a text, a part, or a list of parts."""
    if content is None or depth == 0:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return part_text(content, depth)
    if isinstance(content, Sequence):
        return "\n".join(text for text in (content_text(part, depth - 1) for part in content) if text)
    return canonical_json(content)


def is_part(value: object) -> bool:
    """Whether a value is a part of a message's content, not a message."""
    if not isinstance(value, Mapping) or "role" in value or "lc" in value:
        return False
    return value.get("type") in PART_TYPES or (set(value) == {"text"} and isinstance(value["text"], str))


def part_text(part: Mapping[str, Any], depth: int) -> str:
    """The text of one part of a message's content."""
    kind = str(part.get("type") or "")
    if kind in REASONING_TYPES or part.get("thought") is True:
        return ""
    if kind in MEDIA_MARKS or "inlineData" in part or "fileData" in part:
        return MEDIA_MARKS.get(str(part.get("modality")), MEDIA_MARKS.get(kind, "[file]"))
    if kind in CALL_TYPES or "functionCall" in part:
        return _call_text(part.get("functionCall", part))
    if kind in RESULT_TYPES or "functionResponse" in part:
        return _result_text(part, depth)
    for key in ("text", "content", "parts", "refusal", "output_text"):
        if part.get(key) is not None:
            return content_text(part[key], depth - 1)
    return canonical_json(part) if part else ""


def _call_text(call: Mapping[str, Any]) -> str:
    function: Mapping[str, Any] = call["function"] if isinstance(call.get("function"), Mapping) else call
    keys = ("arguments", "input", "args")
    given: object = next((function[key] for key in keys if function.get(key) is not None), {})
    if isinstance(given, str):
        with suppress(ValueError, RecursionError):  # arguments that a model wrote wrongly stay as they are
            given = json.loads(given)
    named = (function.get("name"), function.get("function"))
    name = next((each for each in named if isinstance(each, str) and each), "tool")
    return f"{name}({canonical_json(given)})"


def _result_text(part: Mapping[str, Any], depth: int) -> str:
    keys = ("content", "response", "result", "output", "functionResponse")
    body = next((part[key] for key in keys if part.get(key) is not None), "")
    if isinstance(body, str):
        return body
    return content_text(body, depth - 1) if isinstance(body, Sequence) else canonical_json(body)
