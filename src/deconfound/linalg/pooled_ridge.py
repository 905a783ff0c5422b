"""Weighted ridge on two sources at once: a factored log and the experiment's rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from deconfound.design import FeatureMatrix, FloatArray, IntArray
from deconfound.linalg.factorization import FactoredSource
from deconfound.linalg.kernels import centered_inner_products
from deconfound.linalg.ridge import Linear


@dataclass(frozen=True, slots=True)
class PooledSolution:
    """A pooled fit: coordinates in the log's basis, or weights of experiment rows, or neither for the log alone."""

    intercept: float  # at the log's mean
    coordinates: FloatArray | None = None  # (r,) in the primal
    dual: FloatArray | None = None  # (n,) in the dual, zero for rows outside the training subset


@dataclass(frozen=True, slots=True)
class PooledRidge:
    """Both sources on the same features, ready for any pooling weight, penalty and subset of the experiment.

    With the log centered at its mean and C diagonal in Q, the pooled objective is

        pooling * (w'Cw - 2 w'cross_covariance + (b - target_mean)^2) + penalty w'w
          + (1 - pooling) * sum_j weight_j (y_j - v_j'w - b)^2

    so each fit is a diagonal plus one rank-one term per experiment row.
    """

    log: FactoredSource
    rows: FeatureMatrix  # (n, d) the experiment
    coordinates: FloatArray  # (n, r)
    residual_kernel: FloatArray | None  # (n, n) inner products of the parts of the rows outside the basis

    @classmethod
    def from_log(cls, log: FactoredSource, rows: FeatureMatrix) -> PooledRidge:
        """Pool a factored log with the rows that ``factor`` received as ``other_rows``."""
        if log.spans_other_rows:
            return cls(log, rows, log.other_coordinates, None)
        kernel = centered_inner_products(rows, rows, log.basis.mean)
        return cls(log, rows, log.other_coordinates, kernel - log.other_coordinates @ log.other_coordinates.T)

    def first(self, rows: int) -> PooledRidge:
        """The same log with only the first rows of the experiment."""
        residual_kernel = None if self.residual_kernel is None else self.residual_kernel[:rows, :rows]
        return PooledRidge(self.log, self.rows.take(slice(rows)), self.coordinates[:rows], residual_kernel)

    def system(self, pooling: float, penalty: float) -> PooledSystem:
        """The system of one pooling weight and penalty, shared by all folds."""
        scale = 1.0 / (pooling * self.log.eigenvalues + penalty)
        log_coordinates = pooling * scale * self.log.cross_covariance[:, 0]
        primal = self.residual_kernel is None and len(self.log.eigenvalues) < len(self.coordinates)
        kernel = None if primal else self._kernel(scale, penalty)
        log_prediction = self.coordinates @ log_coordinates
        return PooledSystem(self, pooling, penalty, scale, log_coordinates, log_prediction, kernel)

    def _kernel(self, scale: FloatArray, penalty: float) -> FloatArray:
        scaled = self.coordinates * np.sqrt(scale)
        kernel = scaled @ scaled.T  # NumPy takes half the time for a product with its own transpose
        if self.residual_kernel is not None:
            kernel += self.residual_kernel / penalty
        return np.asarray(kernel)


@dataclass(frozen=True, slots=True)
class PooledSystem:
    """One pooling weight and penalty: solve for any subset of the experiment."""

    pooled: PooledRidge
    pooling: float
    penalty: float
    scale: FloatArray  # (r,) 1 / (pooling * eigenvalues + penalty)
    log_coordinates: FloatArray  # (r,) of the fit to the log alone
    log_prediction: FloatArray  # (n,) of that fit for the experiment's rows, without intercept
    kernel: FloatArray | None  # (n, n) in the dual

    def solve(self, target: FloatArray, weight: FloatArray, train: IntArray) -> PooledSolution:
        """Fit to experiment targets ``target[train]`` with ``weight[train]``, rescaled to sum to one."""
        center = float(self.pooled.log.target_mean[0])
        if self.pooling == 1.0:
            return PooledSolution(center)
        scaled_weight = (1.0 - self.pooling) * weight[train] / weight[train].sum()
        centered = target[train] - center
        if self.kernel is None:
            return self._solve_primal(centered, scaled_weight, train, center)
        return self._solve_dual(self.kernel, centered, scaled_weight, train, center)

    def _solve_dual(
        self, kernel: FloatArray, centered: FloatArray, weight: FloatArray, train: IntArray, center: float
    ) -> PooledSolution:
        matrix = kernel[np.ix_(train, train)]
        matrix[np.diag_indices_from(matrix)] += 1.0 / weight
        right = np.column_stack([centered - self.log_prediction[train], np.ones(len(train))])
        alpha, ones = _solve_in_place(matrix, right).T
        shift = alpha.sum() / (self.pooling + ones.sum())
        # A row that was drawn twice has two dual weights, which add up.
        dual = np.bincount(train, weights=alpha - shift * ones, minlength=len(kernel)).astype(np.float64)
        return PooledSolution(center + float(shift), dual=dual)

    def _solve_primal(self, centered: FloatArray, weight: FloatArray, train: IntArray, center: float) -> PooledSolution:
        coordinates, log = self.pooled.coordinates[train], self.pooled.log
        size = len(self.scale)
        matrix = np.empty((size + 1, size + 1))
        weighted = coordinates * weight[:, None]
        matrix[:size, :size] = coordinates.T @ weighted + np.diag(1.0 / self.scale)
        matrix[:size, size] = matrix[size, :size] = weighted.sum(axis=0)
        matrix[size, size] = weight.sum() + self.pooling
        right = np.append(self.pooling * log.cross_covariance[:, 0] + weighted.T @ centered, weight @ centered)
        solution = _solve_in_place(matrix, right[:, None])[:, 0]
        return PooledSolution(center + float(solution[size]), coordinates=solution[:size])

    def predict(self, solution: PooledSolution) -> FloatArray:
        """Unclipped predictions for every row of the experiment."""
        if self.kernel is not None and solution.dual is not None:
            return np.asarray(self.kernel @ solution.dual + self.log_prediction + solution.intercept)
        return np.asarray(self.pooled.coordinates @ self._coordinates(solution) + solution.intercept)

    def linear(self, solution: PooledSolution) -> Linear:
        """The fit as coefficients over the features."""
        pooled, log = self.pooled, self.pooled.log
        dual = np.zeros(len(pooled.coordinates)) if solution.dual is None else solution.dual
        coordinates = self._coordinates(solution)
        if pooled.residual_kernel is None:
            return self._uncentered(log.basis.to_feature_space(coordinates), solution)
        experiment_rhs = pooled.rows.transposed_product(dual) - log.basis.mean * dual.sum()
        inside = coordinates - pooled.coordinates.T @ dual / self.penalty
        coef = log.basis.to_feature_space(inside) + experiment_rhs / self.penalty
        if log.normal_equations is not None:
            coef = log.normal_equations.solve(coef, experiment_rhs, self.pooling, self.penalty)
        return self._uncentered(coef, solution)

    def _coordinates(self, solution: PooledSolution) -> FloatArray:
        if solution.dual is not None:
            return np.asarray(self.log_coordinates + self.scale * (self.pooled.coordinates.T @ solution.dual))
        return self.log_coordinates if solution.coordinates is None else solution.coordinates

    def _uncentered(self, coef: FloatArray, solution: PooledSolution) -> Linear:
        """Coefficients with the intercept moved from the log's mean to the origin."""
        return Linear(coef, solution.intercept - float(self.pooled.log.basis.mean @ coef))


def _solve_in_place(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a positive definite system; with thousands of small ones SciPy's wrapper would dominate the time."""
    _, solution, failed = dposv(matrix, right, overwrite_a=True, overwrite_b=True)
    if failed:
        raise np.linalg.LinAlgError("a ridge system is not positive definite to rounding; increase the penalty")
    return np.asarray(solution)
