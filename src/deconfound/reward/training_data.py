"""One log and one experiment, with the factorizations that families share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from deconfound.design import FeatureMatrix, FloatArray, IntArray, Rows, merge_duplicate_rows
from deconfound.errors import UsageError
from deconfound.linalg import (
    DEFAULT_LIMITS,
    FactorizationLimits,
    Linear,
    PooledRidge,
    PooledSystem,
    empty_source,
)
from deconfound.reward.fit import clip
from deconfound.reward.log_source import LoggedRows, LogSource
from deconfound.reward.summed_rows import SummedRows


class TrainingData:
    """One log and one experiment; computes each factorization once for all families that need it."""

    def __init__(self, log: Rows | LogSource, experiment: Rows, limits: FactorizationLimits = DEFAULT_LIMITS) -> None:
        source = _in_memory(log, experiment, limits) if isinstance(log, Rows) else log
        if source.total_weight == 0 or len(experiment) == 0:
            raise UsageError("A reward needs at least one row of log and one of experiment.")
        if source.phi_columns != experiment.phi.shape[1]:
            raise UsageError("The log's phi and the experiment's phi must have the same number of columns.")
        self.log: LogSource = source
        self.experiment = experiment
        self.limits = limits
        self._baseline_by_penalty: dict[float, Baseline] = {}
        self._pooled_by_min_penalty: dict[float, PooledRidge] = {}

    @property
    def log_rows(self) -> Rows:
        """The log's rows, for a family that needs them."""
        if self.log.rows is None:
            raise UsageError(
                "This family needs the rows of the log, which is too long for that; choose another family."
            )
        return self.log.rows

    @cached_property
    def experiment_ridge(self) -> ExperimentRidge:
        """Ridge over the experiment's phi, for any penalty and subset."""
        experiment = self.experiment
        return ExperimentRidge.from_features(
            experiment.phi, experiment.require_outcome(), experiment.weight_or_ones, self.limits
        )

    def baseline(self, penalty: float) -> Baseline:
        """f_obs: the clipped ridge on the log with this penalty, and its predictions on the experiment."""
        if penalty not in self._baseline_by_penalty:
            linear = self.log.fit_ridge(penalty, self.limits)
            self._baseline_by_penalty[penalty] = Baseline(linear, clip(linear(self.experiment.phi)))
        return self._baseline_by_penalty[penalty]

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


def _in_memory(log: Rows, experiment: Rows, limits: FactorizationLimits) -> LogSource:
    """The log's distinct rows, or sums over them beside a long experiment."""
    distinct = merge_duplicate_rows(log)
    if limits.prefers_sums(experiment.phi):
        return SummedRows.beside(experiment, distinct)
    return LoggedRows(distinct)


@dataclass(frozen=True, slots=True)
class Baseline:
    """f_obs, the log's own reward, and its predictions on the experiment."""

    linear: Linear
    experiment: FloatArray  # (n,), clipped


@dataclass(frozen=True, slots=True)
class ExperimentRidge:
    """Ridge on any subset of the experiment's rows: minimise sum of squares + penalty * w'w."""

    pooled: PooledRidge
    target: FloatArray  # (n,)
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
        return cls(PooledRidge.from_log(empty_source(features, limits), features), target, weight)

    def predict(self, penalty: float, train: IntArray) -> FloatArray:
        """Unclipped predictions on all rows, from a fit to the rows ``train``."""
        system = self._system(penalty, train)
        return system.predict(system.solve(self.target, self.weight, train))

    def fit(self, penalty: float, train: IntArray) -> Linear:
        """Coefficients of the fit to the rows ``train``."""
        system = self._system(penalty, train)
        return system.linear(system.solve(self.target, self.weight, train))

    def _system(self, penalty: float, train: IntArray) -> PooledSystem:
        return self.pooled.system(0.0, penalty / float(self.weight[train].sum()))
