"""Pairs of context and output with every distinct text split into words once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deconfound.design import IntArray
from deconfound.features.tokenize import MAX_TEXT, Vocabulary, Words, read_words


@dataclass(frozen=True, slots=True)
class Texts:
    """Pair i is ``contexts[context[i]]`` and ``outputs[output[i]]``."""

    contexts: tuple[str, ...]
    outputs: tuple[str, ...]
    context: IntArray  # (pairs,)
    output: IntArray  # (pairs,)
    vocabulary: Vocabulary
    context_words: Words
    output_words: Words


def read_texts(contexts: Sequence[str], outputs: Sequence[str], context: IntArray, output: IntArray) -> Texts:
    """Split the texts, each cut at ``MAX_TEXT`` characters, and number their words together."""
    contexts = tuple(text[:MAX_TEXT] for text in contexts)
    outputs = tuple(text[:MAX_TEXT] for text in outputs)
    vocabulary = Vocabulary()
    context_words = read_words(contexts, vocabulary)
    output_words = read_words(outputs, vocabulary)
    return Texts(contexts, outputs, context, output, vocabulary, context_words, output_words)
