"""Quantities of contexts and outputs that can be measured without a judge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.design import FloatArray
from deconfound.features.surface import surface_statistics as pair_statistics
from deconfound.features.tokenize import tokenize_pairs
from deconfound.words.word_splitting import tokenize
from deconfound_bench.cached.environment import non_constant
from deconfound_bench.grid import Grid

SENTENCE_ENDS = (".", "!", "?")


def surface_statistics(grid: Grid) -> FloatArray:
    """Surface statistics (contexts, models, s) of every output given its context."""
    shape = (len(grid.contexts), len(grid.models))
    context = np.repeat(np.arange(shape[0]), shape[1])
    outputs = [output for row in grid.outputs for output in row]
    values = pair_statistics(tokenize_pairs(grid.contexts, outputs, context, np.arange(len(outputs))))
    return np.asarray(values.reshape(*shape, -1))


def context_features(contexts: Sequence[str]) -> FloatArray:
    """Standardized features of each context: its length and style, without constant columns."""
    table = np.array([_describe_context(text) for text in contexts])
    varying = table[:, non_constant(table)]
    return np.asarray((varying - varying.mean(axis=0)) / varying.std(axis=0))


def relative_cost(grid: Grid) -> FloatArray:
    """The cost of each model: the mean number of words of its outputs, rescaled to [0, 1]."""
    words = np.array([[len(tokenize(output)) for output in row] for row in grid.outputs]).mean(axis=0)
    span = float(np.ptp(words))
    return np.asarray((words - words.min()) / span if span > 0 else np.zeros(len(words)))


def _describe_context(text: str) -> tuple[float, ...]:
    words = tokenize(text)
    count = max(len(words), 1)
    sentences = max(sum(text.count(end) for end in SENTENCE_ENDS), 1)
    return (
        float(np.log1p(len(words))),
        sum(map(len, words)) / count,
        count / sentences,
        len(set(words)) / count,
        sum(word.isdigit() for word in words) / count,
        text.count('"') / sentences,
        sum(letter.isupper() for letter in text) / max(len(text), 1),
        text.count("\n") / sentences,
    )
