"""An answer at the end of the messages that it answers: some programs record the conversation after the call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from deconfound.chat.conversation import Message

MARKUP = re.compile(r"[*_`~]+|^\s*#+\s|\s+", re.MULTILINE)  # emphasis, headings and spaces


def ends_with_answer(messages: Sequence[Message]) -> bool:
    """Whether the last of several messages is the model's."""
    return len(messages) > 1 and messages[-1].role == "assistant"


def is_same_answer(text: str, output: str) -> bool:
    """Whether two texts are equal but for Markdown's emphasis and headings, and spaces."""
    if text.strip() == output.strip():
        return True
    plain = MARKUP.sub("", text)
    return bool(plain) and plain == MARKUP.sub("", output)


def without_answer(messages: tuple[Message, ...], outputs: Iterable[str]) -> tuple[Message, ...]:
    """The messages that were answered: without the last one if it is an output."""
    if not ends_with_answer(messages):
        return messages
    is_output = any(is_same_answer(messages[-1].text, output) for output in outputs)
    return messages[:-1] if is_output else messages
