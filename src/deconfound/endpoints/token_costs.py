"""Tokens and what they cost: as the endpoint counts them, or estimated where it does not say."""

from __future__ import annotations

from dataclasses import dataclass

BYTES_PER_TOKEN = 4  # of English text in UTF-8, for the tokenizers of most models; other languages need more tokens
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a million tokens, in any currency; the same for all models of a file."""

    input: float
    output: float

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """What these tokens cost."""
        return (self.input * input_tokens + self.output * output_tokens) / MILLION


def estimate_tokens(text: str | bytes) -> int:
    """A rough number of tokens: a quarter of the bytes."""
    size = (
        len(text) if isinstance(text, bytes) else len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    )
    return -(-size // BYTES_PER_TOKEN)
