"""Tokens and what they cost: as the endpoint counts them, or estimated where it does not say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

BYTES_PER_TOKEN = 4  # of English text in UTF-8, for the tokenizers of most models; other languages need more tokens
MILLION = 1_000_000
NO_TEXT = ("role", "type", "id", "tool_call_id", "tool_use_id", "url", "data", "file_data", "cache_control")


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a million tokens, in any currency; the same for all models of a file."""

    input: float
    output: float

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """What these tokens cost."""
        return (self.input * input_tokens + self.output * output_tokens) / MILLION


def estimate_request_tokens(body: bytes) -> int:
    """A rough number of input tokens of a request: by its texts, not by names, escapes and settings around them."""
    content = json.loads(body) if body else {}
    return estimate_tokens("".join(_texts([content.get("system"), content.get("messages")])))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, dict):
        for name, part in value.items():
            if name not in NO_TEXT:
                yield from _texts(part)


def estimate_tokens(text: str | bytes) -> int:
    """A rough number of tokens: a quarter of the bytes."""
    size = (
        len(text) if isinstance(text, bytes) else len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    )
    return -(-size // BYTES_PER_TOKEN)
