"""Gaussian conditioning in two steps: on many rows once, then on any subset of a few rows at little cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class ConditionedGaussian:
    """The distribution of a few rows given the outcomes of n observed rows.

    The observed rows have prior covariance A (noise included) and covariance B with the m few; the few have prior
    covariance E without noise. Later fits need of the observed rows only A^-1 y and A^-1 B.
    """

    observed_solution: FloatArray  # (n,) A^-1 y
    cross_solution: FloatArray  # (n, m) A^-1 B
    conditional_mean: FloatArray  # (m,) B'A^-1 y
    covariance: FloatArray  # (m, m) E - B'A^-1 B

    @classmethod
    def condition(
        cls, observed: FloatArray, target: FloatArray, between: FloatArray, few: FloatArray
    ) -> ConditionedGaussian:
        """One Cholesky factorization of A = ``observed`` (n, n), which is overwritten; B = ``between``, E = ``few``."""
        triangle = linalg.cho_factor(observed, lower=True, overwrite_a=True, check_finite=False)
        solved = linalg.cho_solve(triangle, np.column_stack([target, between]), check_finite=False)
        observed_solution, cross_solution = solved[:, 0], solved[:, 1:]
        covariance = few - between.T @ cross_solution
        conditional_mean = between.T @ observed_solution
        return cls(observed_solution, cross_solution, conditional_mean, (covariance + covariance.T) / 2.0)

    def solve_all(self, target: FloatArray, noise: FloatArray, trains: Sequence[IntArray]) -> list[FloatArray]:
        """``solve`` for each of several subsets."""
        return [self.solve(target, noise, train) for train in trains]

    def solve(self, target: FloatArray, noise: FloatArray, train: IntArray) -> FloatArray:
        """Weights (m,) of the few rows after observing ``target[train]``; zero for rows not in ``train``.

        ``noise`` (m,) is the noise variance of each target. A row drawn twice counts as two observations.
        """
        rows, count = np.unique(train, return_counts=True)
        system = self.covariance[np.ix_(rows, rows)]
        system[np.diag_indices_from(system)] += noise[rows] / count
        weights = np.zeros(len(self.conditional_mean))
        residual = target[rows] - self.conditional_mean[rows]
        weights[rows] = linalg.solve(system, residual, assume_a="pos", check_finite=False)
        return weights

    def predict(self, weights: FloatArray) -> FloatArray:
        """Posterior mean (m,) of the few rows, without noise."""
        return np.asarray(self.conditional_mean + self.covariance @ weights)

    def cross_weights(self, weights: FloatArray) -> FloatArray:
        """A^-1 B times weights (m,): what ``weights`` of the few take from those of the observed rows."""
        return np.asarray(self.cross_solution @ weights)
