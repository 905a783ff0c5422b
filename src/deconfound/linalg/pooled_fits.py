"""Fits of pooled ridges to many subsets of an experiment: from its rows, or from sums over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dposv

from deconfound.design import FloatArray, IntArray
from deconfound.linalg.moments import Moments
from deconfound.linalg.pooled_ridge import PooledRidge
from deconfound.linalg.ridge import Linear
from deconfound.linalg.subset_moments import NarrowMoments, SubsetMoments


class PooledFits(Protocol):
    """Pooled ridges of one target, as ``PooledRidge`` defines them, for any subset of the experiment."""

    def predictions(self, pooling: float, penalties: Sequence[float], trains: Sequence[IntArray]) -> list[FloatArray]:
        """For each subset and its penalty: unclipped predictions for every row of the experiment."""
        ...

    def fit(self, pooling: float, penalty: float, train: IntArray) -> Linear:
        """Coefficients of the fit to one subset."""
        ...


@dataclass(frozen=True, slots=True)
class KernelFits:
    """From the experiment's rows, in systems whose size is their number or that of a factored log."""

    pooled: PooledRidge
    target: FloatArray  # (n,)
    weight: FloatArray  # (n,)

    def predictions(self, pooling: float, penalties: Sequence[float], trains: Sequence[IntArray]) -> list[FloatArray]:
        """Subset by subset; those that follow each other with equal penalties share their matrices."""
        predictions: list[FloatArray] = []
        system = None
        for penalty, train in zip(penalties, trains, strict=True):
            if system is None or penalty != system.penalty:
                system = self.pooled.system(pooling, penalty)
            predictions.append(system.predict(system.solve(self.target, self.weight, train)))
        return predictions

    def fit(self, pooling: float, penalty: float, train: IntArray) -> Linear:
        """One system."""
        system = self.pooled.system(pooling, penalty)
        return system.linear(system.solve(self.target, self.weight, train))


@dataclass(frozen=True, eq=False)
class SummedFits:
    """From sums over the rows of both sources, in systems of the size of the columns, for a long experiment.

    Predictions, which only compare hyperparameters, add up sparse columns to ``TUNING_WIDTH``; fits do not.
    """

    log: Moments | None  # None: the experiment alone, for pooling zero
    subsets: SubsetMoments

    def predictions(self, pooling: float, penalties: Sequence[float], trains: Sequence[IntArray]) -> list[FloatArray]:
        """One system per subset, and one product with the rows for all of them."""
        narrow, log = self.subsets.narrow, self._narrow_log
        fits = [
            _solve(log, narrow.of(train), pooling, penalty) for penalty, train in zip(penalties, trains, strict=True)
        ]
        features = narrow.subsets.features
        predicted = features @ np.stack([fit.coef for fit in fits], axis=1)
        return [column + fit.intercept for column, fit in zip(predicted.T, fits, strict=True)]

    def fit(self, pooling: float, penalty: float, train: IntArray) -> Linear:
        """One system at the full width."""
        return _solve(self.log, self.subsets.of(train), pooling, penalty)

    @cached_property
    def _narrow_log(self) -> Moments | None:
        narrow: NarrowMoments = self.subsets.narrow
        return None if self.log is None else narrow.folded(self.log)


def _solve(log: Moments | None, subset: Moments, pooling: float, penalty: float) -> Linear:
    """Minimise the pooled objective of ``PooledRidge``, both sources given by their moments.

    With a = pooling and e = 1 - pooling, the best intercept leaves a e (gap - shift'w)^2 of the two means, where gap is
    the difference of the sources' mean targets and shift that of their mean features.
    """
    if log is None:
        matrix, right = subset.covariance.copy(), subset.cross_covariance[:, 0].copy()
        mean, target_mean = subset.mean, float(subset.target_mean[0])
    else:
        share = 1.0 - pooling
        shift, gap = subset.mean - log.mean, float(subset.target_mean[0] - log.target_mean[0])
        matrix = pooling * log.covariance + share * subset.covariance
        matrix += (pooling * share) * np.outer(shift, shift)
        right = pooling * log.cross_covariance[:, 0] + share * subset.cross_covariance[:, 0]
        right += (pooling * share * gap) * shift
        mean, target_mean = log.mean + share * shift, float(log.target_mean[0]) + share * gap
    matrix[np.diag_indices_from(matrix)] += penalty
    # The matrix is symmetric, so its transpose, which LAPACK overwrites without a copy, is the same.
    _, solution, failed = dposv(matrix.T, right, overwrite_a=True, overwrite_b=True)
    if failed:
        raise np.linalg.LinAlgError("a ridge system is not positive definite to rounding; increase the penalty")
    coef = np.asarray(solution).ravel()
    return Linear(coef, target_mean - float(mean @ coef))
