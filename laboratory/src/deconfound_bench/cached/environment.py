"""The simulated environment around a grid: expected outcomes per user type, and the router that writes the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray
from deconfound_bench.cached.router import Router

CLIP_SD = 3.0  # statistics are clipped at this many standard deviations before the PCA
CONSTANT_RTOL = 1e-12  # a column whose standard deviation is smaller than this, relative to its size, is constant
RANK_RTOL = 1e-9  # singular values below this share of the largest are rounding error


@dataclass(frozen=True, slots=True)
class Environment:
    """Users of several types, their expected outcome on every output under each reward map, and the log's router.

    With ``precision``, outcomes are drawn from a beta distribution around the expected outcome. Without it, an outcome
    equals its expectation.
    """

    models: tuple[str, ...]
    expected_outcome: Mapping[str, FloatArray]  # reward -> (contexts, models, user types), in [0, 1]
    components: FloatArray  # (contexts, models, components), the judged qualities that determine the outcome
    statistics: FloatArray  # (contexts, models, statistics), measurable without a judge
    router: Router
    precision: float | None = None

    @property
    def n_contexts(self) -> int:
        """Number of contexts."""
        return int(self.statistics.shape[0])

    def target(self, reward: str) -> FloatArray:
        """The true q (contexts, models): the expected outcome averaged over user types."""
        return np.asarray(self.expected_outcome[reward].mean(axis=2))


def non_constant(table: FloatArray) -> NDArray[np.bool_]:
    """Which columns vary by more than rounding error."""
    return np.asarray(table.std(axis=0) > CONSTANT_RTOL * np.maximum(np.abs(table).max(axis=0), 1.0))


def pca_proxies(statistics: FloatArray, size: int) -> FloatArray:
    """Standardized principal components (cells, size) of statistics (contexts, models, s), without constant ones.

    A property of one output in a thousand would get a component of its own, tens of standard deviations long.
    Clipping at ``CLIP_SD`` removes most of its variance, so that it does not appear among the leading components.
    """
    flat = statistics.reshape(-1, statistics.shape[2])
    varying = flat[:, non_constant(flat)]
    scaled = np.clip((varying - varying.mean(axis=0)) / varying.std(axis=0), -CLIP_SD, CLIP_SD)
    scaled -= scaled.mean(axis=0)
    left, values, _ = np.linalg.svd(scaled, full_matrices=False)
    rank = min(size, int((values > RANK_RTOL * values.max(initial=0.0)).sum()))
    # The sign of a singular vector is arbitrary; its largest entry is made positive.
    left = left[:, :rank] * np.sign(left[np.abs(left[:, :rank]).argmax(axis=0), np.arange(rank)])
    return np.asarray(left * np.sqrt(len(flat)))
