"""One log and one experiment, with the factorizations that families share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FeatureMatrix, FloatArray, IntArray, Rows, merge_duplicate_rows, number_distinct_rows
from deconfound.errors import UsageError
from deconfound.linalg import (
    DEFAULT_LIMITS,
    FactorizationLimits,
    Linear,
    PooledRidge,
    empty_source,
)
from deconfound.linalg.pooled_fits import KernelFits, PooledFits, SummedFits
from deconfound.linalg.subset_moments import SubsetMoments
from deconfound.reward.auto.component_kernels import KernelScale
from deconfound.reward.fit import clip
from deconfound.reward.log_source import LoggedRows, LogSource
from deconfound.reward.summed_rows import SummedRows


class TrainingData:
    """One log and one experiment; computes each factorization once for all families that need it."""

    def __init__(
        self,
        log: Rows | LogSource,
        experiment: Rows,
        limits: FactorizationLimits = DEFAULT_LIMITS,
        kernel_scale: KernelScale | None = None,
    ) -> None:
        """``kernel_scale`` is that of the whole log where this log is a part of one."""
        source = _in_memory(log, experiment, limits, kernel_scale) if isinstance(log, Rows) else log
        if source.total_weight == 0 or len(experiment) == 0:
            raise UsageError("A reward needs at least one row of log and one of experiment.")
        if source.phi_columns != experiment.phi.shape[1]:
            raise UsageError("The log's phi and the experiment's phi must have the same number of columns.")
        self.log: LogSource = source
        self.experiment = experiment
        self.limits = limits
        self._kernel_scale = kernel_scale
        self._baseline_by_penalty: dict[float, Baseline] = {}
        self._pooled_by_min_penalty: dict[float, PooledRidge] = {}
        self.uses_sums = limits.prefers_sums(experiment.phi)  # an experiment of many rows

    @property
    def log_rows(self) -> Rows:
        """The log's rows; a uniform sample of them where only sums over all are known."""
        return self.log.sample

    @cached_property
    def kernel_scale(self) -> KernelScale:
        """The units of ``auto``'s variances."""
        return self._kernel_scale or KernelScale.from_log(self.log_rows)

    @cached_property
    def experiment_ridge(self) -> ExperimentRidge:
        """Ridge over the experiment's phi, for any penalty and subset."""
        experiment = self.experiment
        if self.uses_sums:
            return ExperimentRidge(SummedFits(None, self._outcome_moments), experiment.weight_or_ones)
        return ExperimentRidge.from_features(
            experiment.phi, experiment.require_outcome(), experiment.weight_or_ones, self.limits
        )

    def baseline(self, penalty: float) -> Baseline:
        """f_obs: the clipped ridge on the log with this penalty, and its predictions on the experiment."""
        if penalty not in self._baseline_by_penalty:
            linear = self.log.fit_ridge(penalty, self.limits)
            self._baseline_by_penalty[penalty] = Baseline(linear, clip(linear(self.experiment.phi)))
        return self._baseline_by_penalty[penalty]

    def pooled_fits(self, min_penalty: float) -> PooledFits:
        """Pooled ridges over phi on both sources, valid for every penalty from ``min_penalty`` up."""
        if self.uses_sums:
            return self._summed_fits
        experiment = self.experiment
        return KernelFits(self.pooled_phi(min_penalty), experiment.require_outcome(), experiment.weight_or_ones)

    @cached_property
    def _summed_fits(self) -> SummedFits:
        return SummedFits(self.log.phi_moments, self._outcome_moments)

    @cached_property
    def _outcome_moments(self) -> SubsetMoments:
        experiment = self.experiment
        return SubsetMoments(experiment.phi, experiment.require_outcome(), experiment.weight_or_ones)

    def pooled_phi(self, min_penalty: float) -> PooledRidge:
        """Ridge over phi on both sources, valid for every penalty from ``min_penalty`` up."""
        cached = self.cached_pooled_phi(min_penalty)
        if cached is not None:
            return cached
        phi = self.experiment.phi
        factored = self.log.factor_outcome(phi, min_penalty, self.limits)
        self._pooled_by_min_penalty[min_penalty] = PooledRidge.from_log(factored, phi)
        return self._pooled_by_min_penalty[min_penalty]

    def cached_pooled_phi(self, min_penalty: float) -> PooledRidge | None:
        """The result of ``pooled_phi`` if it needs no new factorization, else None."""
        valid = [limit for limit in self._pooled_by_min_penalty if limit <= min_penalty]
        return self._pooled_by_min_penalty[max(valid)] if valid else None


def _in_memory(log: Rows, experiment: Rows, limits: FactorizationLimits, kernel_scale: KernelScale | None) -> LogSource:
    """The log's distinct rows, or sums over them beside a long experiment."""
    distinct = merge_duplicate_rows(log)
    if limits.prefers_sums(experiment.phi):
        return SummedRows.beside(experiment, distinct, kernel_scale)
    return LoggedRows(distinct)


@dataclass(frozen=True, slots=True, eq=False)
class LogPart:
    """A part of a log beside the same experiment, in units of the whole log: variances were estimated in those."""

    data: TrainingData
    distinct_rows: int  # of the whole log; 0 where only sums are known
    removed: IntArray | None  # numbers of those that the part lacks; None if it has some of the rows merged into one

    @classmethod
    def from_rows(cls, whole: TrainingData, log: Rows, is_removed: NDArray[np.bool_]) -> LogPart:
        """Without some of the rows (n,) that ``whole`` was made of."""
        part = log.take(np.flatnonzero(~is_removed))
        data = TrainingData(part, whole.experiment, whole.limits, whole.kernel_scale)
        number = number_distinct_rows(log)
        count, lost = np.bincount(number), np.bincount(number, weights=is_removed)
        is_exact = bool(((lost == 0) | (lost == count)).all())
        return cls(data, len(count), np.flatnonzero(lost) if is_exact else None)


@dataclass(frozen=True, slots=True)
class Baseline:
    """f_obs, the log's own reward, and its predictions on the experiment."""

    linear: Linear
    experiment: FloatArray  # (n,), clipped


@dataclass(frozen=True, slots=True)
class ExperimentRidge:
    """Ridge on any subset of the experiment's rows: minimise sum of squares + penalty * w'w."""

    fits: PooledFits
    weight: FloatArray  # (n,)

    @classmethod
    def from_features(
        cls,
        features: FeatureMatrix,
        target: FloatArray,
        weight: FloatArray,
        limits: FactorizationLimits = DEFAULT_LIMITS,
    ) -> ExperimentRidge:
        """Compute what every penalty and subset needs."""
        if limits.prefers_sums(features):
            return cls(SummedFits(None, SubsetMoments(features, target, weight)), weight)
        pooled = PooledRidge.from_log(empty_source(features, limits), features)
        return cls(KernelFits(pooled, target, weight), weight)

    def predictions(self, penalty: float, trains: Sequence[IntArray]) -> list[FloatArray]:
        """For each subset: unclipped predictions on all rows, from a fit to the rows of the subset."""
        return self.fits.predictions(0.0, [self._penalty_on_means(penalty, train) for train in trains], trains)

    def fit(self, penalty: float, train: IntArray) -> Linear:
        """Coefficients of the fit to the rows ``train``."""
        return self.fits.fit(0.0, self._penalty_on_means(penalty, train), train)

    def _penalty_on_means(self, penalty: float, train: IntArray) -> float:
        return penalty / float(self.weight[train].sum())
