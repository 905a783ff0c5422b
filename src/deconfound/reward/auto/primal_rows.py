"""Conditioning on many rows of the experiment through systems of the size of the columns.

With W the prior variance of the coefficients, W^(1/2) T W^(1/2) their covariance given the log, C the diagonal of
count / noise of a subset of the experiment and Z its columns, the coefficients change by W^(1/2) x, where

    (T^-1 + W^(1/2) Z'CZ W^(1/2)) x = W^(1/2) Z'C residual

Subsets that are asked for together are solved together by conjugate gradients. One factorization, with the mean of
their C, serves all of them: the parts and resamples of one experiment differ little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray, IntArray
from deconfound.linalg.arrowhead import inverse_from_triangle
from deconfound.linalg.conjugate_gradients import conjugate_gradients
from deconfound.reward.auto.linear_columns import LinearRows
from deconfound.reward.auto.linear_sums import weighted_gram
from deconfound.reward.auto.moment_posterior import MomentPosterior
from deconfound.threads import parallel_map

RESIDUAL_RTOL = 1e-11
MAX_ITERATIONS = 300
COLUMNS_AT_ONCE = 8  # subsets that one thread multiplies at a time


@dataclass(frozen=True, slots=True, eq=False)
class PrimalRows:
    """``ConditionalRows`` by one factorization of the size of the columns."""

    posterior: MomentPosterior
    rows: LinearRows
    mean: FloatArray  # (m,) of the rows given the log
    root: FloatArray  # (size,) W^(1/2)
    precision: FloatArray  # (size, size) T^-1

    @classmethod
    def from_posterior(cls, posterior: MomentPosterior, rows: LinearRows) -> Self:
        """T = I - D (I - K^-1) D with D = P W^(-1/2) and W = V + U, in the notation of ``MomentPosterior``."""
        root = np.sqrt(posterior.prior_variance)
        shrink = np.divide(posterior.damping, root, out=np.zeros_like(root), where=root > 0)
        relative = posterior.factored.inverse()
        relative *= shrink
        relative *= shrink[:, None]
        relative[np.diag_indices_from(relative)] += 1.0 - shrink**2
        triangle = linalg.cholesky(relative, lower=True, overwrite_a=True, check_finite=False)
        mean = rows.times(posterior.mean[:, None])[:, 0]
        return cls(posterior, rows, mean, root, inverse_from_triangle(triangle))

    def solve_all(self, target: FloatArray, noise: FloatArray, trains: Sequence[IntArray]) -> list[FloatArray]:
        """All subsets together."""
        counts = np.stack([np.bincount(train, minlength=len(target)) for train in trains], axis=1)
        weight, residual = counts / noise[:, None], (target - self.mean)[:, None]
        right = self.root[:, None] * self.rows.transposed_times(weight * residual)
        shift = self.root[:, None] * self._solve(weight, right)
        return list((weight * (residual - self.rows.times(shift))).T)

    def predict(self, weights: FloatArray) -> FloatArray:
        """One product."""
        coef = self.posterior.covariance_times(self.rows.transposed_times(weights[:, None]))
        return np.asarray(self.mean + self.rows.times(coef)[:, 0])

    def _solve(self, weight: FloatArray, right: FloatArray) -> FloatArray:
        """x for every column of ``weight`` (m, subsets) and ``right`` (size, subsets)."""
        triangle = self._factor(weight.mean(axis=1))

        def apply(direction: FloatArray) -> FloatArray:
            starts = range(0, direction.shape[1], COLUMNS_AT_ONCE)
            panels = [slice(start, start + COLUMNS_AT_ONCE) for start in starts]
            return np.hstack(parallel_map(lambda panel: self._apply(direction[:, panel], weight[:, panel]), panels))

        def precondition(residual: FloatArray) -> FloatArray:
            return np.asarray(linalg.cho_solve((triangle, True), residual, check_finite=False))

        solution = conjugate_gradients(apply, precondition, right, RESIDUAL_RTOL, MAX_ITERATIONS)
        if solution is not None:
            return solution
        factored = (self._factor(column) for column in weight.T)
        exact = [
            linalg.cho_solve((lower, True), column, check_finite=False)
            for lower, column in zip(factored, right.T, strict=True)
        ]
        return np.stack(exact, axis=1)

    def _apply(self, direction: FloatArray, weight: FloatArray) -> FloatArray:
        of_rows = weight * self.rows.times(self.root[:, None] * direction)
        through_rows = self.root[:, None] * self.rows.transposed_times(of_rows)
        return np.asarray(self.precision @ direction + through_rows)

    def _factor(self, weight: FloatArray) -> FloatArray:
        """Lower Cholesky factor of the system with these weights of the rows (m,)."""
        system = weighted_gram(self.rows, weight).scaled(self.root).toarray()
        system += self.precision
        return np.asarray(linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False))
