"""Weighted ridge on two sources at once: a factored log and the experiment's rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from deconfound.design import FloatArray, IntArray, Matrix
from deconfound.linalg.factorization import FactoredSource
from deconfound.linalg.kernels import centred_product
from deconfound.linalg.ridge import Linear


@dataclass(frozen=True, slots=True)
class PooledSolution:
    """A pooled fit: coordinates in the log's basis, or weights of experiment rows, or neither for the log's own fit."""

    intercept: float  # at the log's mean
    coordinates: FloatArray | None = None  # (r,) in the primal
    dual: FloatArray | None = None  # (n,) in the dual, zero for rows that took no part


@dataclass(frozen=True, slots=True)
class PooledRidge:
    """Both sources on the same features, ready for any pooling weight, penalty and subset of the experiment.

    With the log centred at its mean and C diagonal in Q, the pooled objective is

        pooling * (w'Cw - 2 w'cross + (b - target)^2) + penalty w'w
          + (1 - pooling) * sum_j share_j (y_j - v_j'w - b)^2

    so each fit is a diagonal plus as many rank-one terms as the experiment has rows.
    """

    side: FactoredSource
    rows: Matrix  # (n, d) the experiment
    coordinates: FloatArray  # (n, r)
    outside: FloatArray | None  # (n, n) inner products of what sticks out of the basis

    @classmethod
    def of(cls, side: FactoredSource, rows: Matrix) -> PooledRidge:
        """Pool the factored log with the rows that were announced to ``factor``."""
        if side.complete:
            return cls(side, rows, side.seen, None)
        kernel = centred_product(rows, rows, side.basis.mean)
        return cls(side, rows, side.seen, kernel - side.seen @ side.seen.T)

    def _kernel(self, scale: FloatArray, penalty: float) -> FloatArray:
        half = self.coordinates * np.sqrt(scale)
        kernel = half @ half.T  # a product with its own transpose costs half of another
        if self.outside is not None:
            kernel += self.outside / penalty
        return np.asarray(kernel)

    def at(self, pooling: float, penalty: float) -> PooledSystem:
        """The systems of one pooling weight and penalty, shared by all folds."""
        scale = 1.0 / (pooling * self.side.values + penalty)
        pull = pooling * scale * self.side.cross[:, 0]
        small = self.outside is None and len(self.side.values) < len(self.coordinates)
        kernel = None if small else self._kernel(scale, penalty)
        return PooledSystem(self, pooling, penalty, scale, pull, self.coordinates @ pull, kernel)


@dataclass(frozen=True, slots=True)
class PooledSystem:
    """One pooling weight and penalty: solve for any subset of the experiment."""

    pooled: PooledRidge
    pooling: float
    penalty: float
    scale: FloatArray  # (r,) 1 / (pooling * values + penalty)
    pull: FloatArray  # (r,) coordinates of the log's own fit
    offset: FloatArray  # (n,) what the log's own fit says of each row
    kernel: FloatArray | None  # (n, n) in the dual

    def solve(self, target: FloatArray, weights: FloatArray, train: IntArray) -> PooledSolution:
        """Fit to experiment targets ``target[train]`` with ``weights[train]``, rescaled to sum to one."""
        centre = float(self.pooled.side.target[0])
        if self.pooling == 1.0:
            return PooledSolution(centre)
        weight = (1.0 - self.pooling) * weights[train] / weights[train].sum()
        gap = target[train] - centre
        if self.kernel is None:
            return self._primal(gap, weight, train, centre)
        return self._dual(self.kernel, gap, weight, train, centre)

    def _dual(
        self, kernel: FloatArray, gap: FloatArray, weight: FloatArray, train: IntArray, centre: float
    ) -> PooledSolution:
        matrix = kernel[np.ix_(train, train)]
        matrix[np.diag_indices_from(matrix)] += 1.0 / weight
        alpha, ones = _solve(matrix, np.column_stack([gap - self.offset[train], np.ones(len(train))])).T
        shift = alpha.sum() / (self.pooling + ones.sum())
        # A row drawn twice has two weights.
        dual = np.bincount(train, weights=alpha - shift * ones, minlength=len(kernel)).astype(np.float64)
        return PooledSolution(centre + float(shift), dual=dual)

    def _primal(self, gap: FloatArray, weight: FloatArray, train: IntArray, centre: float) -> PooledSolution:
        placed, side = self.pooled.coordinates[train], self.pooled.side
        size = len(self.scale)
        matrix = np.empty((size + 1, size + 1))
        weighted = placed * weight[:, None]
        matrix[:size, :size] = placed.T @ weighted + np.diag(1.0 / self.scale)
        matrix[:size, size] = matrix[size, :size] = weighted.sum(axis=0)
        matrix[size, size] = weight.sum() + self.pooling
        right = np.append(self.pooling * side.cross[:, 0] + weighted.T @ gap, weight @ gap)
        solved = _solve(matrix, right[:, None])[:, 0]
        return PooledSolution(centre + float(solved[size]), coordinates=solved[:size])

    def predict(self, solution: PooledSolution) -> FloatArray:
        """Unclipped predictions for every row of the experiment."""
        if self.kernel is not None and solution.dual is not None:
            return np.asarray(self.kernel @ solution.dual + self.offset + solution.intercept)
        return np.asarray(self.pooled.coordinates @ self._coordinates(solution) + solution.intercept)

    def linear(self, solution: PooledSolution) -> Linear:
        """The fit as coefficients over the features."""
        pooled, side = self.pooled, self.pooled.side
        dual = np.zeros(len(pooled.coordinates)) if solution.dual is None else solution.dual
        inside = self._coordinates(solution)
        if pooled.outside is None:
            return self._at_zero(side.basis.lift(inside), solution)
        push = np.asarray(pooled.rows.T @ dual) - side.basis.mean * dual.sum()
        coef = side.basis.lift(inside - pooled.coordinates.T @ dual / self.penalty) + push / self.penalty
        if side.polish is not None:
            coef = side.polish(coef, push, self.pooling, self.penalty)
        return self._at_zero(coef, solution)

    def _coordinates(self, solution: PooledSolution) -> FloatArray:
        if solution.dual is not None:
            return np.asarray(self.pull + self.scale * (self.pooled.coordinates.T @ solution.dual))
        return self.pull if solution.coordinates is None else solution.coordinates

    def _at_zero(self, coef: FloatArray, solution: PooledSolution) -> Linear:
        """Coefficients with the intercept moved from the log's mean to the origin."""
        return Linear(coef, solution.intercept - float(self.pooled.side.basis.mean @ coef))


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a positive definite system in place; thousands of small ones make SciPy's wrapper the larger part."""
    _, solution, failed = dposv(matrix, right, overwrite_a=True, overwrite_b=True)
    if failed:
        raise np.linalg.LinAlgError("a ridge system lost its positive definiteness; a larger penalty will restore it")
    return np.asarray(solution)
