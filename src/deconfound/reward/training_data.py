"""One log and one experiment, with the factorizations that families share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deconfound.design import FloatArray, IntArray, Matrix, Rows, merge_duplicate_rows
from deconfound.errors import UsageError
from deconfound.linalg import Linear, PooledRidge, PooledSystem, empty_source, factor, ridge
from deconfound.reward.fit import clip


class TrainingData:
    """One log and one experiment, and what several families would otherwise factor again."""

    def __init__(self, log: Rows, experiment: Rows, longer: TrainingData | None = None) -> None:
        if len(log) == 0 or len(experiment) == 0:
            raise UsageError("A reward needs at least one row of log and one of experiment.")
        if log.phi.shape[1] != experiment.phi.shape[1]:
            raise UsageError("The log's phi and the experiment's phi must have the same number of columns.")
        self.log = merge_duplicate_rows(log) if longer is None else log
        self.experiment = experiment
        self._longer = longer  # the same log and an experiment that starts with this one
        self._baselines: dict[float, Baseline] = {}
        self._pooled: dict[float, PooledRidge] = {}

    def first(self, rows: int) -> TrainingData:
        """The same log with the first rows of the experiment; the log is not factored again."""
        return TrainingData(self.log, self.experiment.take(np.arange(rows)), longer=self)

    @cached_property
    def alone(self) -> ExperimentRidge:
        """The experiment's phi by itself."""
        return ExperimentRidge.of(self.experiment.phi, self.experiment.outcomes, self.experiment.weights)

    def baseline(self, penalty: float) -> Baseline:
        """f_obs, the clipped ridge on the log, and its predictions on both sources."""
        if self._longer is not None:
            return self._longer.baseline(penalty).first(len(self.experiment))
        if penalty not in self._baselines:
            log = self.log
            linear = ridge(log.phi, log.outcomes, penalty, log.weight)
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
        log, seen = self.log, self.experiment.phi
        side = factor(log.phi, log.outcomes[:, None], log.shares, seen=seen, smallest=smallest)
        self._pooled[smallest] = PooledRidge.of(side, seen)
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
    def of(cls, features: Matrix, target: FloatArray, weights: FloatArray) -> ExperimentRidge:
        """Prepare the features once for every penalty and subset."""
        return cls(PooledRidge.of(empty_source(features), features), target, weights)

    def predict(self, penalty: float, train: IntArray) -> FloatArray:
        """Unclipped predictions on all rows, learned from the rows ``train``."""
        system = self._system(penalty, train)
        return system.predict(system.solve(self.target, self.weights, train))

    def fit(self, penalty: float, train: IntArray) -> Linear:
        """The linear fit to the rows ``train``."""
        system = self._system(penalty, train)
        return system.linear(system.solve(self.target, self.weights, train))

    def _system(self, penalty: float, train: IntArray) -> PooledSystem:
        return self.pooled.at(0.0, penalty / float(self.weights[train].sum()))
