"""Split text into words: the one tokenizer behind the hashed text and the surface statistics.

A word is a run of letters, digits and underscores in any script, lower-cased. Scripts written without spaces (Chinese,
Japanese, Thai, Lao, Burmese, Khmer) give one word per character, so that word pairs can represent their words; every
symbol outside ASCII (an emoji, an arrow) is a word of its own. Punctuation and ASCII symbols separate words. A text
with nothing else ("?!", "+++") is split at its spaces, so that only blank text has no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray

MAX_CHARACTERS = 1_000_000
"""Characters of a text that are read; the rest is ignored."""

_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and accents that occur inside words, although Python does not count them as word characters.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
_PUNCTUATION = re.compile(
    "[\x80-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb-\xbf\u060c\u061b\u061f\u0964\u0965\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f"
    "\ufe0f\ufeff\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+"
)
_SINGLE_CHARACTER_TOKEN = re.compile(f"[{_SPACELESS}]|[^\\w\x00-\x7f{_MARKS}]")

# Bytes of a multi-byte character pass unchanged: separators outside ASCII were already replaced by a space.
_SEPARATE = bytes(code if code >= 128 or chr(code).isalnum() or code == ord("_") else ord(" ") for code in range(256))


def tokenize(text: str) -> list[bytes]:
    """The words of a text, in order, as UTF-8."""
    lower = text[:MAX_CHARACTERS].lower()
    if not lower.isascii():
        lower = _PUNCTUATION.sub(" ", lower)
    # Tested again: in most English text only curly quotes and dashes are outside ASCII.
    if not lower.isascii():
        lower = _SINGLE_CHARACTER_TOKEN.sub(r" \g<0> ", lower)
    return lower.encode().translate(_SEPARATE).split() or [piece.encode() for piece in text[:MAX_CHARACTERS].split()]


class Vocabulary(dict[bytes, int]):
    """Numbers words by first appearance; looking up a new word adds it."""

    def __missing__(self, word: bytes) -> int:
        token_id = self[word] = len(self)
        return token_id

    def lengths(self) -> IntArray:
        """Characters of each word, by token id."""
        return np.fromiter((len(word) if word.isascii() else len(word.decode()) for word in self), np.int64, len(self))

    def indicator(self, words: Iterable[bytes]) -> FloatArray:
        """1 for each of the given words and 0 for all others, by token id."""
        flags = np.zeros(len(self))
        flags[[self[word] for word in words if word in self]] = 1.0
        return flags


@dataclass(frozen=True, slots=True)
class TokenizedTexts:
    """The words of several texts, one text after another: text i is ``token_ids[offsets[i] : offsets[i + 1]]``."""

    token_ids: IntArray
    offsets: IntArray  # (texts + 1,)

    @property
    def counts(self) -> IntArray:
        """Number of words of each text."""
        return np.diff(self.offsets)

    @property
    def text_of_token(self) -> IntArray:
        """Index of the text that each word belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts)

    def take(self, texts: IntArray) -> TokenizedTexts:
        """The given texts, in the given order, repeats allowed."""
        counts = self.counts[texts]
        offsets = np.concatenate(([0], np.cumsum(counts)))
        source = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][texts] - offsets[:-1], counts)
        return TokenizedTexts(self.token_ids[source], offsets)


def tokenize_texts(texts: Sequence[str], vocabulary: Vocabulary) -> TokenizedTexts:
    """Split each text and number its words in a vocabulary that several calls may share."""
    words: list[bytes] = []
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    for number, text in enumerate(texts, start=1):
        words += tokenize(text)
        offsets[number] = len(words)
    return TokenizedTexts(np.fromiter(map(vocabulary.__getitem__, words), np.int64, len(words)), offsets)


@dataclass(frozen=True, slots=True)
class TokenizedPairs:
    """Pairs of context and output: pair i is ``contexts[context[i]]`` and ``outputs[output[i]]``."""

    contexts: tuple[str, ...]
    outputs: tuple[str, ...]
    context: IntArray  # (pairs,)
    output: IntArray  # (pairs,)
    vocabulary: Vocabulary
    context_tokens: TokenizedTexts
    output_tokens: TokenizedTexts


def tokenize_pairs(
    contexts: Sequence[str], outputs: Sequence[str], context: IntArray, output: IntArray
) -> TokenizedPairs:
    """Split distinct contexts and outputs, truncated to ``MAX_CHARACTERS``, with one vocabulary for both."""
    contexts = tuple(text[:MAX_CHARACTERS] for text in contexts)
    outputs = tuple(text[:MAX_CHARACTERS] for text in outputs)
    vocabulary = Vocabulary()
    context_tokens = tokenize_texts(contexts, vocabulary)
    output_tokens = tokenize_texts(outputs, vocabulary)
    return TokenizedPairs(contexts, outputs, context, output, vocabulary, context_tokens, output_tokens)
