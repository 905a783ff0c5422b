"""What can be seen of contexts and outputs without judging them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deconfound.design import FloatArray
from deconfound.features.surface import surface_statistics as pair_statistics
from deconfound.features.tokenize import tokenize, tokenize_pairs
from deconfound_bench.cached.world import varies
from deconfound_bench.grid import Grid

ENDS = (".", "!", "?")


def surface_statistics(grid: Grid) -> FloatArray:
    """Surface statistics (contexts, models, s) of every output against its context."""
    shape = (len(grid.contexts), len(grid.models))
    context = np.repeat(np.arange(shape[0]), shape[1])
    outputs = [output for row in grid.outputs for output in row]
    values = pair_statistics(tokenize_pairs(grid.contexts, outputs, context, np.arange(len(outputs))))
    return np.asarray(values.reshape(*shape, -1))


def context_features(contexts: Sequence[str]) -> FloatArray:
    """A fixed vector for each context, standardised: how long it is and how it is written."""
    table = np.array([_describe(text) for text in contexts])
    moving = table[:, varies(table)]
    return np.asarray((moving - moving.mean(axis=0)) / moving.std(axis=0))


def lengths(grid: Grid) -> FloatArray:
    """Mean words of each model's outputs, scaled to [0, 1]: what its use costs."""
    words = np.array([[len(tokenize(output)) for output in row] for row in grid.outputs]).mean(axis=0)
    span = float(np.ptp(words))
    return np.asarray((words - words.min()) / span if span > 0 else np.zeros(len(words)))


def _describe(text: str) -> tuple[float, ...]:
    words = tokenize(text)
    count = max(len(words), 1)
    sentences = max(sum(text.count(end) for end in ENDS), 1)
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
