"""Cut text into words: the one tokeniser behind the hashed text and the surface statistics.

A word is a run of letters, digits and underscores in any script, lower-cased. Scripts written without spaces (Chinese,
Japanese, Thai, Lao, Burmese, Khmer) give one word a character, so that bigrams can find their words; every symbol
outside ASCII (an emoji, an arrow) is a word of its own. Punctuation and ASCII symbols separate. A text made of nothing
else ("?!", "+++") gives its pieces between spaces, so that only blank text has no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray

MAX_TEXT = 1_000_000
"""Characters of a text that count; the rest is not looked at."""

_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and accents that Python does not count as word characters although they stand inside words.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
_PUNCTUATION = re.compile(
    "[\x80-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb-\xbf\u060c\u061b\u061f\u0964\u0965\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f"
    "\ufe0f\ufeff\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+"
)
_ALONE = re.compile(f"[{_SPACELESS}]|[^\\w\x00-\x7f{_MARKS}]")

# Bytes of a multi-byte character pass unchanged: what separates there was already replaced by a space.
_SEPARATE = bytes(code if code >= 128 or chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(256))


def split(text: str) -> list[bytes]:
    """The words of a text, in order, as UTF-8."""
    lower = text[:MAX_TEXT].lower()
    if not lower.isascii():
        lower = _PUNCTUATION.sub(" ", lower)
    # Most English text is done here: curly quotes and dashes were all it had beyond ASCII.
    if not lower.isascii():
        lower = _ALONE.sub(r" \g<0> ", lower)
    return lower.encode().translate(_SEPARATE).split() or [piece.encode() for piece in text[:MAX_TEXT].split()]


class Vocabulary(dict[bytes, int]):
    """Numbers words by first appearance; looking a new word up is what adds it."""

    def __missing__(self, word: bytes) -> int:
        code = self[word] = len(self)
        return code

    def lengths(self) -> IntArray:
        """Characters of each word, by code."""
        return np.fromiter((len(word) if word.isascii() else len(word.decode()) for word in self), np.int64, len(self))

    def marked(self, words: Iterable[bytes]) -> FloatArray:
        """One for each of the given words, by code, and zero for all others."""
        marks = np.zeros(len(self))
        marks[[self[word] for word in words if word in self]] = 1.0
        return marks


@dataclass(frozen=True, slots=True)
class Words:
    """The words of several texts, one text after another: text i is ``codes[start[i] : start[i + 1]]``."""

    codes: IntArray
    start: IntArray  # (texts + 1,)

    @property
    def counts(self) -> IntArray:
        """Number of words of each text."""
        return np.diff(self.start)

    @property
    def text(self) -> IntArray:
        """Which text each word belongs to."""
        return np.repeat(np.arange(len(self.start) - 1), self.counts)

    def take(self, texts: IntArray) -> Words:
        """The given texts, in the given order, repeats allowed."""
        counts = self.counts[texts]
        start = np.concatenate(([0], np.cumsum(counts)))
        source = np.arange(start[-1]) + np.repeat(self.start[:-1][texts] - start[:-1], counts)
        return Words(self.codes[source], start)


def read_words(texts: Sequence[str], vocabulary: Vocabulary) -> Words:
    """Split each text once and number its words in a vocabulary that several calls may share."""
    words: list[bytes] = []
    start = np.zeros(len(texts) + 1, dtype=np.int64)
    for number, text in enumerate(texts, start=1):
        words += split(text)
        start[number] = len(words)
    return Words(np.fromiter(map(vocabulary.__getitem__, words), np.int64, len(words)), start)
