"""Weighted ridge on two sources at once: a factored log and the experiment's rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from deconfound.design import FloatArray, IntArray, Matrix
from deconfound.linalg.factored import Factored
from deconfound.linalg.ridge import Linear


@dataclass(frozen=True, slots=True)
class Solution:
    """A pooled fit in the coordinates of the log's basis, plus what the experiment adds outside it."""

    coordinates: FloatArray  # (r,)
    dual: FloatArray  # (n,) weight of each experiment row, zero where it took no part
    intercept: float  # at the log's mean


@dataclass(frozen=True, slots=True)
class Pooled:
    """Both sources on the same features, ready for any pooling weight, penalty and subset of the experiment.

    With the log centred at its mean and C diagonal in Q, the pooled objective is

        pooling * (w'Cw - 2 w'cross + (b - target)^2) + penalty w'w
          + (1 - pooling) * sum_j share_j (y_j - v_j'w - b)^2

    so each fit is a diagonal plus as many rank-one terms as the experiment has rows.
    """

    side: Factored
    rows: Matrix  # (n, d) the experiment
    coordinates: FloatArray  # (n, r)
    outside: FloatArray | None  # (n, n) inner products of what sticks out of the basis

    @classmethod
    def of(cls, side: Factored, rows: Matrix) -> Pooled:
        """Place the experiment's rows in the basis of the factored log."""
        coordinates = side.basis.project(rows)
        if side.complete:
            return cls(side, rows, coordinates, None)
        kernel = rows @ rows.T
        kernel = kernel.toarray() if sparse.issparse(kernel) else np.asarray(kernel)
        mean = side.basis.mean
        along = np.asarray(rows @ mean)
        kernel = kernel - along[:, None] - along + mean @ mean
        return cls(side, rows, coordinates, kernel - coordinates @ coordinates.T)

    def at(self, pooling: float, penalty: float) -> System:
        """The systems of one pooling weight and penalty, shared by all folds."""
        scale = 1.0 / (pooling * self.side.values + penalty)
        small = self.outside is None and len(self.side.values) < len(self.coordinates)
        kernel = None if small else (self.coordinates * scale) @ self.coordinates.T
        if kernel is not None and self.outside is not None:
            kernel += self.outside / penalty
        return System(self, pooling, penalty, scale, kernel)


@dataclass(frozen=True, slots=True)
class System:
    """One pooling weight and penalty: solve for any subset of the experiment."""

    pooled: Pooled
    pooling: float
    penalty: float
    scale: FloatArray  # (r,) 1 / (pooling * values + penalty)
    kernel: FloatArray | None  # (n, n) in the dual

    def solve(self, target: FloatArray, weights: FloatArray, train: IntArray) -> Solution:
        """Fit to experiment targets ``target[train]`` with ``weights[train]``, rescaled to sum to one."""
        side = self.pooled.side
        weight = (1.0 - self.pooling) * weights[train] / weights[train].sum()
        gap = target[train] - side.target[0]
        if self.pooling == 1.0:
            log_alone = self.scale * side.cross[:, 0]
            return Solution(log_alone, np.zeros(len(target)), float(side.target[0]))
        if self.kernel is None:
            return self._primal(gap, weight, train)
        return self._dual(self.kernel, gap, weight, train)

    def _dual(self, kernel: FloatArray, gap: FloatArray, weight: FloatArray, train: IntArray) -> Solution:
        placed, side = self.pooled.coordinates, self.pooled.side
        pull = self.pooling * self.scale * side.cross[:, 0]
        matrix = kernel[np.ix_(train, train)]
        matrix[np.diag_indices_from(matrix)] += 1.0 / weight
        right = np.column_stack([gap - placed[train] @ pull, np.ones(len(train))])
        alpha, ones = linalg.cho_solve(linalg.cho_factor(matrix, check_finite=False), right, check_finite=False).T
        shift = alpha.sum() / (self.pooling + ones.sum())
        dual = np.zeros(len(placed))
        np.add.at(dual, train, alpha - shift * ones)
        return Solution(pull + self.scale * (placed.T @ dual), dual, float(side.target[0] + shift))

    def _primal(self, gap: FloatArray, weight: FloatArray, train: IntArray) -> Solution:
        placed, side = self.pooled.coordinates[train], self.pooled.side
        size = len(self.scale)
        matrix = np.empty((size + 1, size + 1))
        weighted = placed * weight[:, None]
        matrix[:size, :size] = placed.T @ weighted + np.diag(1.0 / self.scale)
        matrix[:size, size] = matrix[size, :size] = weighted.sum(axis=0)
        matrix[size, size] = weight.sum() + self.pooling
        right = np.append(self.pooling * side.cross[:, 0] + weighted.T @ gap, weight @ gap)
        solved = linalg.cho_solve(linalg.cho_factor(matrix, check_finite=False), right, check_finite=False)
        return Solution(solved[:size], np.zeros(len(self.pooled.coordinates)), float(side.target[0] + solved[size]))

    def predict(self, solution: Solution) -> FloatArray:
        """Unclipped predictions for every row of the experiment."""
        inside = self.pooled.coordinates @ solution.coordinates + solution.intercept
        if self.pooled.outside is None:
            return np.asarray(inside)
        return np.asarray(inside + self.pooled.outside @ solution.dual / self.penalty)

    def linear(self, solution: Solution) -> Linear:
        """The fit as coefficients over the features."""
        basis, coordinates = self.pooled.side.basis, solution.coordinates
        if self.pooled.outside is None:
            coef = basis.lift(coordinates)
        else:
            dual = solution.dual / self.penalty
            coef = basis.lift(coordinates - self.pooled.coordinates.T @ dual)
            coef = coef + np.asarray(self.pooled.rows.T @ dual) - basis.mean * dual.sum()
        return Linear(coef, solution.intercept - float(basis.mean @ coef))
