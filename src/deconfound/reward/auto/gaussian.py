"""Gaussian conditioning in two steps: on many rows once, then on any subset of a few rows at little cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray, IntArray


class ConditionalRows(Protocol):
    """The distribution of m rows given the log, to be conditioned on the outcomes of any subsets of them."""

    def solve_all(self, target: FloatArray, noise: FloatArray, trains: Sequence[IntArray]) -> list[FloatArray]:
        """Weights (m,) of the rows after observing ``target[train]``, for each subset; zero for rows not in it.

        ``noise`` (m,) is the noise variance of each target. A row drawn twice counts as two observations.
        """
        ...

    def predict(self, weights: FloatArray) -> FloatArray:
        """Posterior mean (m,) of the rows, without noise."""
        ...


@dataclass(frozen=True, slots=True)
class FactoredRows:
    """``ConditionalRows`` by one factorization per subset."""

    mean: FloatArray  # (m,)
    covariance: FloatArray  # (m, m)

    def solve_all(self, target: FloatArray, noise: FloatArray, trains: Sequence[IntArray]) -> list[FloatArray]:
        """Subset by subset."""
        return [self.solve(target, noise, train) for train in trains]

    def solve(self, target: FloatArray, noise: FloatArray, train: IntArray) -> FloatArray:
        """Weights (m,) of one subset."""
        rows, count = np.unique(train, return_counts=True)
        system = self.covariance[np.ix_(rows, rows)]
        system[np.diag_indices_from(system)] += noise[rows] / count
        weights = np.zeros(len(self.mean))
        residual = target[rows] - self.mean[rows]
        weights[rows] = linalg.solve(system, residual, assume_a="pos", check_finite=False)
        return weights

    def predict(self, weights: FloatArray) -> FloatArray:
        """One product."""
        return np.asarray(self.mean + self.covariance @ weights)


@dataclass(frozen=True, slots=True)
class ConditionedGaussian:
    """A few rows given the outcomes of n observed rows.

    The observed rows have prior covariance A (noise included) and covariance B with the m few; the few have prior
    covariance E without noise. Later fits need of the observed rows only A^-1 y and A^-1 B.
    """

    triangle: FloatArray  # (n, n) Cholesky factor of A, lower
    observed_solution: FloatArray  # (n,) A^-1 y
    cross_solution: FloatArray  # (n, m) A^-1 B
    few: FactoredRows  # mean B'A^-1 y, covariance E - B'A^-1 B

    @classmethod
    def condition(
        cls, observed: FloatArray, target: FloatArray, between: FloatArray, few: FloatArray
    ) -> ConditionedGaussian:
        """One Cholesky factorization of A = ``observed`` (n, n), which is overwritten; B = ``between``, E = ``few``."""
        triangle, _ = linalg.cho_factor(observed.T, lower=True, overwrite_a=True, check_finite=False)
        solved = linalg.cho_solve((triangle, True), np.column_stack([target, between]), check_finite=False)
        observed_solution, cross_solution = solved[:, 0], solved[:, 1:]
        covariance = few - between.T @ cross_solution
        conditional = FactoredRows(between.T @ observed_solution, (covariance + covariance.T) / 2.0)
        return cls(triangle, observed_solution, cross_solution, conditional)

    def without(self, removed: IntArray, target: FloatArray) -> ConditionedGaussian:
        """The few given all observed rows but those of number ``removed`` (r,), with the same factorization.

        ``target`` (n,) are outcomes, which may be new; those of removed rows do not matter. With U the columns of the
        removed rows in the identity, A^-1 (v - U c) has zeros in these rows if (U'A^-1 U) c = U'A^-1 v. The other rows
        then solve the system without them.
        """
        columns = np.zeros((len(target), len(removed) + 1))
        columns[removed, np.arange(len(removed))] = 1.0
        columns[:, -1] = target
        solved = linalg.cho_solve((self.triangle, True), columns, check_finite=False)
        unit_solution, whole = solved[:, :-1], np.column_stack([solved[:, -1], self.cross_solution])
        block = linalg.cho_factor(unit_solution[removed], lower=True, check_finite=False)
        shift = linalg.cho_solve(block, whole[removed], check_finite=False)
        solution = whole - unit_solution @ shift
        solution[removed] = 0.0
        observed_solution, cross_solution = solution[:, 0], solution[:, 1:]
        added = self.cross_solution[removed].T @ shift[:, 1:]  # what the removed rows explained
        covariance = self.few.covariance + (added + added.T) / 2.0
        conditional = FactoredRows(cross_solution.T @ target, covariance)
        return ConditionedGaussian(self.triangle, observed_solution, cross_solution, conditional)

    def cross_weights(self, weights: FloatArray) -> FloatArray:
        """A^-1 B times weights (m,): what ``weights`` of the few take from those of the observed rows."""
        return np.asarray(self.cross_solution @ weights)
