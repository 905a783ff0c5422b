"""Length and style of a text, which the unit length of hashed words hides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STATISTICS = 7

_DIGITS = b"0123456789"
_UPPER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERS = _UPPER + _UPPER.lower()
_PUNCTUATION = bytes(code for code in range(33, 127) if not chr(code).isalnum())


def style_statistics(texts: Sequence[str], word_counts: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Logarithms of words, lines and questions; shares of other characters than letters, digits, capitals, signs."""
    counts = np.array([_counts(text) for text in texts], dtype=np.float64).reshape(-1, 7)
    chars, lines, questions, letters, digits, upper, punctuation = counts.T
    sizes = (np.asarray(word_counts), lines, questions)
    shares = (chars - letters, digits, upper, punctuation)
    length = np.maximum(chars, 1.0)
    return np.column_stack([*(np.log1p(size) for size in sizes), *(share / length for share in shares)])


def _counts(text: str) -> tuple[int, ...]:
    data = text.encode()
    questions = text.count("?") + text.count("？") + text.count("؟")
    classes = (_LETTERS, _DIGITS, _UPPER, _PUNCTUATION)
    of_class = (len(data) - len(data.translate(None, members)) for members in classes)
    return (len(text), text.count("\n") + 1, questions, *of_class)
