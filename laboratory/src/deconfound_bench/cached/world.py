"""A cached grid as a benchmark sees it: what users make of each output, and who chooses what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray
from deconfound_bench.cached.router import Router

FAR = 3.0  # standard deviations


@dataclass(frozen=True, slots=True)
class World:
    """Users of several types, their liking of every output under each reward map, and the router of the log.

    With ``precision`` an outcome is drawn from a beta distribution around the liking; without it, it is the liking.
    """

    models: tuple[str, ...]
    liking: Mapping[str, FloatArray]  # reward -> (contexts, models, user types), in [0, 1]
    judged: FloatArray  # (contexts, models, components) what the liking is made of
    auxiliary: FloatArray  # (contexts, models, statistics) what can be seen of an output without judging it
    router: Router
    precision: float | None = None

    @property
    def contexts(self) -> int:
        """How many there are."""
        return int(self.auxiliary.shape[0])

    def q(self, reward: str) -> FloatArray:
        """The cached target (contexts, models): liking averaged over user types."""
        return np.asarray(self.liking[reward].mean(axis=2))


def varies(table: FloatArray) -> NDArray[np.bool_]:
    """Which columns are more than one value and its rounding."""
    return np.asarray(table.std(axis=0) > 1e-12 * np.maximum(np.abs(table).max(axis=0), 1.0))


def compress(auxiliary: FloatArray, size: int) -> FloatArray:
    """Standardised leading directions (cells, size) of statistics (contexts, models, s), constants left out.

    A trait of one output in a thousand would lead a direction of its own, tens of standard deviations long. Statistics
    are cut at ``FAR`` before they are turned, so that such a trait carries little and falls behind the leading ones.
    """
    flat = auxiliary.reshape(-1, auxiliary.shape[2])
    moving = flat[:, varies(flat)]
    scaled = np.clip((moving - moving.mean(axis=0)) / moving.std(axis=0), -FAR, FAR)
    scaled -= scaled.mean(axis=0)
    left, values, _ = np.linalg.svd(scaled, full_matrices=False)
    kept = min(size, int((values > 1e-9 * values.max(initial=0.0)).sum()))
    # A singular vector's sign is arbitrary; its largest entry is made positive.
    left = left[:, :kept] * np.sign(left[np.abs(left[:, :kept]).argmax(axis=0), np.arange(kept)])
    return np.asarray(left * np.sqrt(len(flat)))
