"""Calls that every producer makes: several users, conversations and models, and the special cases of real use.

Imported by scripts that run in the environment of a producer; only the standard library is there for certain.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MODELS = ("aspen-1", "birch-2", "cedar-3")
SERVED = "-2026-01-01"  # what a provider adds to the name of a model
TOOL = {
    "type": "function",
    "function": {
        "name": "find_parcel",
        "parameters": {"type": "object", "properties": {"number": {"type": "string"}}},
    },
}
QUESTIONS = (
    "Where is parcel {n}?",
    "Wann kommt Paket {n} in Zürich an? 😀",
    "荷物{n}はどこですか。",
    'My app shows {{"parcel": {n}, "state": "lost"}}. What now?',
    'Line one about {n}.\n\nLine two: "quoted" and a \\ backslash\tand a tab.',
    "[{n}]",
)
ANSWERS = (
    "Parcel {n} left Graz on Monday.",
    "Am Dienstag, vor 12 Uhr – versprochen für {n}.",
    "{n}番は今日届きます。",
    '{{"parcel": {n}, "answer": "wait"}}',
    "First {n}.\nSecond: nothing else.",
    "It is in box {n}.",
)


@dataclass(frozen=True)
class PlannedCall:
    """One call: the messages in the form of OpenAI, the message that answers, and what is special about it."""

    kind: str  # plain, empty, tool, truncated, error or image
    conversation: str
    user: str
    model: str
    messages: tuple[dict[str, Any], ...]
    reply: dict[str, Any]
    thumb: int | None = None

    @property
    def finish_reason(self) -> str:
        """Why the answer ends."""
        return {"tool": "tool_calls", "truncated": "length"}.get(self.kind, "stop")

    @property
    def flags(self) -> list[str]:
        """Why the call may not be a row."""
        return {"tool": ["tool call"], "truncated": ["truncated"], "error": ["error"]}.get(self.kind, [])


@dataclass
class Manifest:
    """The calls as they were made, apart from the file of the producer."""

    calls: list[dict[str, Any]] = field(default_factory=list)

    def add(self, call: PlannedCall, **changed: Any) -> None:
        """One more call; ``changed`` are fields that this producer treats differently, such as the model."""
        record = {
            "kind": call.kind,
            "conversation": call.conversation,
            "user": call.user,
            "model": call.model,
            "messages": [[message["role"], text_of(message)] for message in call.messages],
            "outputs": [] if call.kind == "error" else [text_of(call.reply)],
            "flags": call.flags,
            "score": call.thumb,
        }
        self.calls.append({**record, **changed})

    def write(self, folder: str) -> None:
        """Write ``manifest.json``."""
        text = json.dumps(self.calls, ensure_ascii=False, indent=1)
        (Path(folder) / "manifest.json").write_text(text, encoding="utf-8")


def text_of(message: dict[str, Any]) -> str:
    """A message as plain text: an image is a mark, a call of a tool its name and its arguments."""
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "\n".join(part.get("text", "[image]") for part in content)
    calls = [_call_text(call["function"]) for call in message.get("tool_calls") or []]
    return "\n".join(text for text in (content, *calls) if text)


def _call_text(function: dict[str, str]) -> str:
    arguments = json.dumps(json.loads(function["arguments"]), ensure_ascii=False, sort_keys=True)
    return f"{function['name']}({arguments})"


def planned_calls(
    kinds: tuple[str, ...] = ("plain", "empty", "tool", "truncated", "error", "image"),
) -> list[PlannedCall]:
    """29 calls in order; kinds that a producer cannot have are left out."""
    found = [call for number in range(8) for call in _conversation(number)]
    found += [*_tool_calls(), _truncated_call(), _failed_call(), _image_call()]
    return [call for call in found if call.kind in kinds]


def _conversation(number: int) -> list[PlannedCall]:
    """Three turns, the second of which has the thumb; one answer is empty."""
    messages: list[dict[str, Any]] = [_said("system", "Be kind.\nBe short.")] if number % 2 == 0 else []
    calls = []
    for turn in range(3):
        which, parcel = (number + turn) % len(QUESTIONS), 100 * number + turn
        messages.append(_said("user", QUESTIONS[which].format(n=parcel)))
        empty = (number, turn) == (3, 1)
        reply = _said("assistant", "" if empty else ANSWERS[which].format(n=parcel))
        thumb = number % 2 if turn == 1 else None
        names = (f"conversation-{number}", f"user-{number // 2}", MODELS[number % len(MODELS)])
        calls.append(PlannedCall("empty" if empty else "plain", *names, tuple(messages), reply, thumb))
        messages.append(reply)
    return calls


def _tool_calls() -> list[PlannedCall]:
    """An answer that only calls a tool, and the answer after its result."""
    function = {"name": "find_parcel", "arguments": '{"number": "Ä-77"}'}
    asked = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
    result = {"role": "tool", "tool_call_id": "call_1", "content": "in Łódź"}
    question, answer = _said("user", "Find parcel Ä-77."), _said("assistant", "It is in Łódź.")
    names = ("conversation-tool", "user-tool", MODELS[1])
    return [
        PlannedCall("tool", *names, (question,), asked),
        PlannedCall("plain", *names, (question, asked, result), answer, thumb=1),
    ]


def _truncated_call() -> PlannedCall:
    question, answer = _said("user", "Tell me everything about parcels."), _said("assistant", "In the beginning there")
    return PlannedCall("truncated", "conversation-long", "user-long", MODELS[0], (question,), answer)


def _failed_call() -> PlannedCall:
    question = _said("user", "This request is refused.")
    return PlannedCall("error", "conversation-failed", "user-failed", MODELS[2], (question,), _said("assistant", ""))


def _image_call() -> PlannedCall:
    picture = {"type": "image_url", "image_url": {"url": "https://parcels.example/box.png"}}
    parts = [{"type": "text", "text": "What is this?"}, picture]
    answer = _said("assistant", "A box.")
    return PlannedCall("image", "conversation-image", "user-image", MODELS[0], (_said("user", parts),), answer, thumb=1)


def _said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}
