"""Messages -> what an interface expects: exact where they have its shape, as text where they are nothing but text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deconfound.chat.conversation import Message, messages_from
from deconfound.chat.message_content import MAX_DEPTH, MEDIA_MARKS
from deconfound.endpoints.chat_model import ChatModel
from deconfound.endpoints.endpoint import Api

SYSTEM_ROLES = ("system", "developer")
OPENAI_ROLES = (*SYSTEM_ROLES, "user", "assistant", "tool")
OPENAI_KEYS = {"role", "content", "name", "tool_calls", "tool_call_id", "refusal"}
OPENAI_PARTS = ("text", "image_url", "input_audio", "file", "refusal")
ANTHROPIC_ROLES = ("user", "assistant")
ANTHROPIC_PARTS = ("text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking")
TEXT_PARTS = ("text", "input_text", "output_text")
NOT_TEXT_KEYS = ("tool_calls", "function_call", "functionCall", "functionResponse", "inlineData", "fileData")
TEXT_ROLES = ("system", "user", "assistant")


class NotReplayableError(ValueError):
    """Messages that cannot be sent to an interface without losing something; the text says what."""


def text_messages(text: str) -> list[dict[str, Any]]:
    """One text as what the user said."""
    return [{"role": "user", "content": text}]


def fitting_messages(cell: object, api: Api) -> list[dict[str, Any]]:
    """The messages of a cell for an interface; anything but text in the shape of another one raises."""
    request = cell if isinstance(cell, Mapping) else {}
    listed = request.get("messages") if isinstance(request.get("messages"), list) else cell
    if isinstance(listed, list) and listed and all(_is_native(one, api) for one in listed):
        system = request.get("system")
        first = [{"role": "system", "content": system}] if isinstance(system, str) and system.strip() else []
        return [*first, *({key: value for key, value in one.items() if value is not None} for one in listed)]
    if not _is_text(cell, depth=12):
        kind = "OpenAI" if api == "openai" else "Anthropic"
        raise NotReplayableError(f"messages with images, files or tools in another shape than that of {kind}")
    messages = messages_from(cell)
    roles = sorted({message.role for message in messages} - set(TEXT_ROLES))
    if roles or not messages:
        raise NotReplayableError("messages of tools in a shape that cannot be sent again")
    return [_plain(message) for message in messages]


def require_no_media(cell: object) -> None:
    """Refuse messages with images or files where they become one text, in which only a mark would be left of these."""
    if _has_media(cell, MAX_DEPTH):
        raise NotReplayableError("messages with images or files by a prompt, which has place for text only")


def _has_media(value: object, depth: int) -> bool:
    if depth == 0 or not isinstance(value, list | Mapping):
        return False
    if isinstance(value, Mapping):
        is_part = "role" not in value and value.get("type") in MEDIA_MARKS
        if is_part or value.get("inlineData") or value.get("fileData"):
            return True
    return any(_has_media(part, depth - 1) for part in (value.values() if isinstance(value, Mapping) else value))


def chat_body(chat: ChatModel, messages: Sequence[Mapping[str, Any]], draw: int) -> dict[str, Any]:
    """The body of a call. A model's own ``system`` replaces the system messages of the context."""
    own = [] if chat.system is None else [{"role": "system", "content": chat.system}]
    others = list(messages) if chat.system is None else [one for one in messages if one["role"] not in SYSTEM_ROLES]
    body: dict[str, Any] = {"model": chat.model, **chat.parameters}
    if chat.seed is not None:
        body["seed"] = chat.seed + draw
    if chat.endpoint.api == "openai":
        return {**body, "messages": [*own, *others]}
    system = [text for one in (*own, *others) if one["role"] in SYSTEM_ROLES and (text := _system_text(one))]
    spoken = [one for one in others if one["role"] not in SYSTEM_ROLES]
    return {**body, "messages": spoken, **({"system": "\n\n".join(system)} if system else {})}


def _system_text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content or ())


def _plain(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": message.text}


def _is_native(message: object, api: Api) -> bool:
    """Whether a message can be sent as it is."""
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        return False
    role, content = message["role"], message.get("content")
    if api == "anthropic":
        allowed = ANTHROPIC_PARTS if role in ANTHROPIC_ROLES else ("text",)
        known = role in (*ANTHROPIC_ROLES, *SYSTEM_ROLES) and set(message) <= {"role", "content"}
        return known and (isinstance(content, str) or _has_parts(content, allowed))
    calls = bool(message.get("tool_calls")) and content is None
    known = role in OPENAI_ROLES and set(message) <= OPENAI_KEYS and (role != "tool" or "tool_call_id" in message)
    return known and (calls or isinstance(content, str) or _has_parts(content, OPENAI_PARTS))


def _has_parts(content: object, kinds: tuple[str, ...]) -> bool:
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(part, Mapping) and part.get("type") in kinds for part in content)
    )


def _is_text(value: object, depth: int) -> bool:
    """Whether messages of any shape have nothing but text, so that plain messages say the same."""
    if depth == 0:
        return False
    if isinstance(value, list):
        return all(_is_text(one, depth - 1) for one in value)
    if not isinstance(value, Mapping):
        return True
    is_message = any(key in value for key in ("role", "content", "lc"))
    is_part = not is_message and isinstance(value.get("type"), str)
    if any(value.get(key) for key in NOT_TEXT_KEYS) or (is_part and value["type"] not in TEXT_PARTS):
        return False
    return all(_is_text(part, depth - 1) for part in value.values() if isinstance(part, list | Mapping))
