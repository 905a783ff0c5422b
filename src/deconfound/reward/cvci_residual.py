"""Pool what the log's reward leaves over, in proxy space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from deconfound.design import DenseMatrix, FloatArray, IntArray, Rows
from deconfound.linalg import PooledRidge, factor
from deconfound.reward.base import fit_once, require_positive, require_unit_interval
from deconfound.reward.cvci import POOLINGS
from deconfound.reward.fit import RewardFit, clip
from deconfound.reward.training_data import TrainingData

PENALTIES = (1e-2, 1e-1, 1.0, 10.0)


@dataclass(frozen=True, slots=True)
class CvciResidual:
    """The log's reward plus a pooled ridge over psi on its residual.

        minimise  (1 - pooling) * mean_experiment (Y - f_obs - psi'w - b)^2
                + pooling * mean_log (Y - f_obs - psi'w - b)^2 + penalty * w'w
        reward  = clip( f_obs + psi'w + b )

    It wins when f_obs already holds the hard part and only something simple is left. The log's own residuals are
    close to zero by construction, so ``pooling`` acts as a pull towards no correction at all.
    """

    name: ClassVar[str] = "cvci-residual"
    learns_from_experiment: ClassVar[bool] = True
    pooling: float = 0.5
    penalty: float = 1e-1
    log_penalty: float = 1.0

    def __post_init__(self) -> None:
        require_unit_interval("pooling", self.pooling)
        require_positive("penalty", self.penalty)
        require_positive("log_penalty", self.log_penalty)

    def fit(self, log: Rows, experiment: Rows) -> RewardFit:
        """Fit baseline and pooled residual to all rows."""
        return fit_once(self, log, experiment)

    def grid(self) -> Sequence[Self]:
        """Pooling weight and residual penalty, both tuned in the paper."""
        return tuple(replace(self, pooling=pooling, penalty=p) for p in PENALTIES for pooling in POOLINGS)

    def regularization_order(self) -> tuple[float, ...]:
        return (self.penalty, self.pooling)

    @classmethod
    def prepare(cls, sources: TrainingData, candidates: Sequence[Self]) -> PreparedCvciResidual:
        """One factorization of the log's psi a baseline."""
        return PreparedCvciResidual(sources, min(candidate.penalty for candidate in candidates))


@dataclass(frozen=True, slots=True)
class PreparedCvciResidual:
    """Residual systems on psi, one for each baseline penalty in use."""

    sources: TrainingData
    smallest: float
    systems: dict[float, PooledRidge] = field(default_factory=dict)

    def _pooled(self, log_penalty: float) -> PooledRidge:
        if log_penalty not in self.systems:
            log, experiment = self.sources.log, self.sources.experiment
            residual = log.require_outcome() - self.sources.baseline(log_penalty).log
            other_rows = DenseMatrix(experiment.require_psi())
            side = factor(
                DenseMatrix(log.require_psi()),
                residual[:, None],
                log.normalized_weight,
                other_rows,
                self.smallest,
                self.sources.limits,
            )
            self.systems[log_penalty] = PooledRidge.from_log(side, other_rows)
        return self.systems[log_penalty]

    def predict(self, candidate: CvciResidual, trains: Sequence[IntArray]) -> list[FloatArray]:
        """Baseline plus the residual each subset supports."""
        experiment, baseline = self.sources.experiment, self.sources.baseline(candidate.log_penalty).experiment
        system = self._pooled(candidate.log_penalty).system(candidate.pooling, candidate.penalty)
        residual = experiment.require_outcome() - baseline
        solutions = (system.solve(residual, experiment.weight_or_ones, train) for train in trains)
        return [clip(baseline + system.predict(solution)) for solution in solutions]

    def fit(self, candidate: CvciResidual, train: IntArray) -> RewardFit:
        """Baseline over phi and residual over psi."""
        experiment, baseline = self.sources.experiment, self.sources.baseline(candidate.log_penalty)
        system = self._pooled(candidate.log_penalty).system(candidate.pooling, candidate.penalty)
        solution = system.solve(experiment.require_outcome() - baseline.experiment, experiment.weight_or_ones, train)
        linear = system.linear(solution)
        return RewardFit(float(linear.intercept), psi_coef=linear.coef, baseline=baseline.linear)
