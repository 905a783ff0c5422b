"""Means and covariances from one pass over many rows; parts of a table can be merged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np

from deconfound.design import FeatureMatrix, FloatArray
from deconfound.threads import parallel_map

CHUNKS = 4  # fixed, so that the order of summation does not depend on the machine


@dataclass(frozen=True, slots=True)
class Moments:
    """Weighted moments of features and targets, sufficient for any ridge on them.

    ``covariance`` and ``cross_covariance`` are divided by the total weight. The moments of two parts of a table merge
    into those of the whole.
    """

    weight: float
    mean: FloatArray  # (d,)
    target_mean: FloatArray  # (m,)
    covariance: FloatArray  # (d, d) of the features
    cross_covariance: FloatArray  # (d, m) of the features with the targets

    @classmethod
    def estimate(cls, features: FeatureMatrix, targets: FloatArray, weight: FloatArray) -> Moments:
        """Moments of (n, d) features and (n, m) targets, chunks of rows in parallel."""
        edges = np.linspace(0, len(weight), CHUNKS + 1).astype(int)
        chunks = [slice(start, end) for start, end in pairwise(edges) if end > start]
        parts = parallel_map(lambda chunk: cls.of_rows(features.take(chunk), targets[chunk], weight[chunk]), chunks)
        return reduce(cls.merge, parts)

    @classmethod
    def of_rows(cls, features: FeatureMatrix, targets: FloatArray, weight: FloatArray) -> Moments:
        """The same without threads: for tens of thousands of sparse rows, merging chunks would take longer."""
        total = float(weight.sum())
        normalized = weight / total
        target_mean = normalized @ targets
        columns = features.weighted_covariance(normalized, targets - target_mean)
        return cls(total, columns.mean, target_mean, columns.covariance, columns.cross_covariance)

    def merge(self, other: Moments) -> Moments:
        """Moments of both sets of rows together."""
        total = self.weight + other.weight
        a, b = self.weight / total, other.weight / total
        mean_shift, target_shift = other.mean - self.mean, other.target_mean - self.target_mean
        cross_between = (a * b) * np.outer(mean_shift, target_shift)
        return Moments(
            total,
            self.mean + b * mean_shift,
            self.target_mean + b * target_shift,
            a * self.covariance + b * other.covariance + (a * b) * np.outer(mean_shift, mean_shift),
            a * self.cross_covariance + b * other.cross_covariance + cross_between,
        )
