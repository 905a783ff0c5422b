"""Gaussian conditioning for many rows in both steps: conjugate gradients in place of one factorization per subset.

With S the diagonal of sqrt(count / noise) and K the covariance of the rows given the log, the weights are

    weights = S z,    (I + S K S) z = S residual

K is only ever multiplied with. A factor of rank ``RANK`` of K, by Nystrom's method, makes a few
products enough. Subsets that are known together share the products. Where the iterations do not converge, the systems
are factored after all: an unfinished solution would be a wrong number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray, IntArray
from deconfound.linalg.conjugate_gradients import conjugate_gradients

RANK = 200  # of the approximation of K
SEED = 0
SHIFT_RTOL = 1e-10  # of K's trace, added while it is approximated: Nystrom's method needs a positive definite matrix
RESIDUAL_RTOL = 1e-11
MAX_ITERATIONS = 1_000


@dataclass(frozen=True, slots=True)
class IterativeRows:
    """``ConditionalRows`` by conjugate gradients, all subsets with the same products."""

    mean: FloatArray  # (m,)
    product: Callable[[FloatArray], FloatArray]  # K times columns (m, c)
    factor: FloatArray  # (m, r) F with F F' close to K

    @classmethod
    def approximate(cls, mean: FloatArray, product: Callable[[FloatArray], FloatArray], scale: float) -> IterativeRows:
        """Approximate K by ``RANK`` products; ``scale`` is at least its trace."""
        rows = len(mean)
        test = np.random.default_rng(SEED).standard_normal((rows, min(RANK, rows)))
        test = linalg.qr(test, mode="economic", check_finite=False)[0]
        shifted = product(test) + SHIFT_RTOL * max(scale, 1.0) * test
        core = test.T @ shifted
        values, vectors = linalg.eigh((core + core.T) / 2.0, check_finite=False)
        usable = values > SHIFT_RTOL * values[-1]
        return cls(mean, product, np.asarray(shifted @ (vectors[:, usable] / np.sqrt(values[usable]))))

    def solve_all(self, target: FloatArray, noise: FloatArray, trains: Sequence[IntArray]) -> list[FloatArray]:
        """All subsets together."""
        counts = np.stack([np.bincount(train, minlength=len(target)) for train in trains], axis=1)
        scale = np.sqrt(counts / noise[:, None])  # (m, subsets)
        right = scale * (target - self.mean)[:, None]
        return list((scale * self._solve(scale, right)).T)

    def predict(self, weights: FloatArray) -> FloatArray:
        """One product."""
        return np.asarray(self.mean + self.product(weights[:, None])[:, 0])

    def _solve(self, scale: FloatArray, right: FloatArray) -> FloatArray:
        """Solve (I + S_c K S_c) z_c = right_c for every column c, all with the same products."""
        preconditioners = [_Preconditioner.from_factor(column[:, None] * self.factor) for column in scale.T]

        def precondition(residual: FloatArray) -> FloatArray:
            pairs = zip(preconditioners, residual.T, strict=True)
            return np.stack([each.solve(column) for each, column in pairs], axis=1)

        def apply(direction: FloatArray) -> FloatArray:
            return direction + scale * self.product(scale * direction)

        solution = conjugate_gradients(apply, precondition, right, RESIDUAL_RTOL, MAX_ITERATIONS)
        return self._solve_exactly(scale, right) if solution is None else solution

    def _solve_exactly(self, scale: FloatArray, right: FloatArray) -> FloatArray:
        """The same by factorization, for the rare systems that the iterations do not solve; slow."""
        covariance = self.product(np.eye(len(self.mean)))
        columns = []
        for root, column in zip(scale.T, right.T, strict=True):
            system = root[:, None] * (covariance + covariance.T) / 2.0 * root
            system[np.diag_indices_from(system)] += 1.0
            columns.append(linalg.solve(system, column, assume_a="pos", check_finite=False))
        return np.stack(columns, axis=1)


@dataclass(frozen=True, slots=True)
class IterativeGaussian:
    """m rows given the outcomes of n observed rows, as ``ConditionedGaussian`` with fewer entries.

    The observed rows have prior covariance A (noise included) and covariance B with the m; those have prior covariance
    E without noise.
    """

    triangle: FloatArray  # (n, n) Cholesky factor of A, lower
    between: FloatArray  # (n, m) B
    observed_solution: FloatArray  # (n,) A^-1 y
    few: IterativeRows

    @classmethod
    def condition(
        cls, observed: FloatArray, target: FloatArray, between: FloatArray, few: FloatArray
    ) -> IterativeGaussian:
        """One Cholesky factorization of A = ``observed`` (n, n), which is overwritten; B = ``between``, E = ``few``."""
        triangle, _ = linalg.cho_factor(observed.T, lower=True, overwrite_a=True, check_finite=False)
        solution = linalg.cho_solve((triangle, True), target, check_finite=False)

        def product(columns: FloatArray) -> FloatArray:
            through_log = linalg.cho_solve((triangle, True), between @ columns, check_finite=False)
            return np.asarray(few @ columns - between.T @ through_log)

        rows = IterativeRows.approximate(between.T @ solution, product, float(np.trace(few)))
        return cls(triangle, between, solution, rows)

    def cross_weights(self, weights: FloatArray) -> FloatArray:
        """A^-1 B times weights (m,)."""
        return np.asarray(linalg.cho_solve((self.triangle, True), self.between @ weights, check_finite=False))


@dataclass(frozen=True, slots=True)
class _Preconditioner:
    """(I + G G')^-1 by Woodbury's identity."""

    factor: FloatArray  # (m, r) G
    triangle: FloatArray  # (r, r) Cholesky factor of I + G'G

    @classmethod
    def from_factor(cls, factor: FloatArray) -> _Preconditioner:
        inner = factor.T @ factor
        inner[np.diag_indices_from(inner)] += 1.0
        return cls(factor, linalg.cholesky(inner, lower=True, check_finite=False))

    def solve(self, column: FloatArray) -> FloatArray:
        inner = linalg.cho_solve((self.triangle, True), self.factor.T @ column, check_finite=False)
        return np.asarray(column - self.factor @ inner)
