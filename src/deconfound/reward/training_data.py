"""One log and one experiment, with the factorizations that families share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deconfound.design import FeatureMatrix, FloatArray, IntArray, Rows, merge_duplicate_rows
from deconfound.errors import UsageError
from deconfound.linalg import (
    DEFAULT_LIMITS,
    FactorizationLimits,
    Linear,
    PooledRidge,
    PooledSystem,
    empty_source,
    factor,
    ridge,
)
from deconfound.reward.fit import clip


class TrainingData:
    """One log and one experiment, and what several families would otherwise factor again."""

    def __init__(
        self,
        log: Rows,
        experiment: Rows,
        longer: TrainingData | None = None,
        limits: FactorizationLimits = DEFAULT_LIMITS,
    ) -> None:
        if len(log) == 0 or len(experiment) == 0:
            raise UsageError("A reward needs at least one row of log and one of experiment.")
        if log.phi.shape[1] != experiment.phi.shape[1]:
            raise UsageError("The log's phi and the experiment's phi must have the same number of columns.")
        self.log = merge_duplicate_rows(log) if longer is None else log
        self.experiment = experiment
        self.limits = limits
        self._longer = longer  # the same log and an experiment that starts with this one
        self._baselines: dict[float, Baseline] = {}
        self._pooled: dict[float, PooledRidge] = {}

    def first(self, rows: int) -> TrainingData:
        """The same log with the first rows of the experiment; the log is not factored again."""
        return TrainingData(self.log, self.experiment.take(np.arange(rows)), self, self.limits)

    @cached_property
    def alone(self) -> ExperimentRidge:
        """The experiment's phi by itself."""
        experiment = self.experiment
        return ExperimentRidge.of(experiment.phi, experiment.require_outcome(), experiment.weight_or_ones, self.limits)

    def baseline(self, penalty: float) -> Baseline:
        """f_obs, the clipped ridge on the log, and its predictions on both sources."""
        if self._longer is not None:
            return self._longer.baseline(penalty).first(len(self.experiment))
        if penalty not in self._baselines:
            log = self.log
            linear = ridge(log.phi, log.require_outcome(), penalty, log.weight, self.limits)
            self._baselines[penalty] = Baseline(linear, clip(linear(log.phi)), clip(linear(self.experiment.phi)))
        return self._baselines[penalty]

    def cached_pooled_phi(self, smallest: float) -> PooledRidge | None:
        """What ``pooled_phi`` would give, if that costs nothing."""
        if self._longer is not None:
            ready = self._longer.cached_pooled_phi(smallest)
            return None if ready is None else ready.first(len(self.experiment))
        limits = [limit for limit in self._pooled if limit <= smallest]
        return self._pooled[max(limits)] if limits else None

    def pooled_phi(self, smallest: float) -> PooledRidge:
        """Log and experiment on phi, good for every penalty from ``smallest`` up."""
        if self._longer is not None:
            return self._longer.pooled_phi(smallest).first(len(self.experiment))
        ready = self.cached_pooled_phi(smallest)
        if ready is not None:
            return ready
        log, other_rows = self.log, self.experiment.phi
        target = log.require_outcome()[:, None]
        side = factor(log.phi, target, log.normalized_weight, other_rows, smallest, self.limits)
        self._pooled[smallest] = PooledRidge.from_log(side, other_rows)
        return self._pooled[smallest]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The log's own reward and what it says of both sources' rows."""

    linear: Linear
    log: FloatArray  # (n_log,), clipped
    experiment: FloatArray  # (n_exp,), clipped

    def first(self, rows: int) -> Baseline:
        """The same for the first rows of the experiment."""
        return Baseline(self.linear, self.log, self.experiment[:rows])


@dataclass(frozen=True, slots=True)
class ExperimentRidge:
    """Ridge on experiment rows alone, for any subset of them: sum of squares + penalty * w'w."""

    pooled: PooledRidge
    target: FloatArray
    weights: FloatArray

    @classmethod
    def of(
        cls,
        features: FeatureMatrix,
        target: FloatArray,
        weights: FloatArray,
        limits: FactorizationLimits = DEFAULT_LIMITS,
    ) -> ExperimentRidge:
        """Prepare the features once for every penalty and subset."""
        return cls(PooledRidge.from_log(empty_source(features, limits), features), target, weights)

    def predict(self, penalty: float, train: IntArray) -> FloatArray:
        """Unclipped predictions on all rows, learned from the rows ``train``."""
        system = self._system(penalty, train)
        return system.predict(system.solve(self.target, self.weights, train))

    def fit(self, penalty: float, train: IntArray) -> Linear:
        """The linear fit to the rows ``train``."""
        system = self._system(penalty, train)
        return system.linear(system.solve(self.target, self.weights, train))

    def _system(self, penalty: float, train: IntArray) -> PooledSystem:
        return self.pooled.system(0.0, penalty / float(self.weights[train].sum()))
