"""Texts as numbered words, for the hashed text and the surface statistics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.words.word_splitting import MAX_CHARACTERS, tokenize


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
