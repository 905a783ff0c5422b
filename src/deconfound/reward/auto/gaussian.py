"""Two sources of Gaussian evidence: take in the large one once, then any part of the small one at next to no cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class ConditionedGaussian:
    """What remains unknown about a few rows after many others were seen.

    The many have prior covariance A (noise included) and covariance B with the few; the few have prior covariance E
    without noise. All that later fits need of the many is A^-1 y and A^-1 B.
    """

    alone: FloatArray  # (n,) A^-1 y
    shared: FloatArray  # (n, m) A^-1 B
    expected: FloatArray  # (m,) what the many say of the few
    covariance: FloatArray  # (m, m) E - B'A^-1 B

    @classmethod
    def of(cls, many: FloatArray, target: FloatArray, between: FloatArray, few: FloatArray) -> ConditionedGaussian:
        """One Cholesky factorization of ``many`` (n, n), which is overwritten."""
        triangle = linalg.cho_factor(many, lower=True, overwrite_a=True, check_finite=False)
        solved = linalg.cho_solve(triangle, np.column_stack([target, between]), check_finite=False)
        alone, shared = solved[:, 0], solved[:, 1:]
        covariance = few - between.T @ shared
        return cls(alone, shared, between.T @ alone, (covariance + covariance.T) / 2.0)

    def learn(self, target: FloatArray, noise: FloatArray, train: IntArray) -> FloatArray:
        """Weights (m,) of the few after seeing ``target[train]``, zero for rows that took no part.

        ``noise`` (m,) is the variance of each target; a row drawn twice counts as two observations of it.
        """
        rows, count = np.unique(train, return_counts=True)
        system = self.covariance[np.ix_(rows, rows)]
        system[np.diag_indices_from(system)] += noise[rows] / count
        weights = np.zeros(len(self.expected))
        gap = target[rows] - self.expected[rows]
        weights[rows] = linalg.solve(system, gap, assume_a="pos", check_finite=False)
        return weights

    def predict(self, weights: FloatArray) -> FloatArray:
        """Posterior mean (m,) of the few, noise not included."""
        return np.asarray(self.expected + self.covariance @ weights)

    def back(self, weights: FloatArray) -> FloatArray:
        """Weights (n,) of the many that go with weights of the few."""
        return np.asarray(self.alone - self.shared @ weights)
