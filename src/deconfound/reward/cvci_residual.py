"""Pool what the log's reward leaves unexplained, in proxy space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from deconfound.design import DenseMatrix, FloatArray, IntArray
from deconfound.linalg import PooledRidge
from deconfound.linalg.pooled_fits import KernelFits, PooledFits, SummedFits
from deconfound.linalg.subset_moments import SubsetMoments
from deconfound.reward.base import FamilyDefaults, PreparedDefaults
from deconfound.reward.cvci import POOLINGS
from deconfound.reward.fit import RewardFit, clip
from deconfound.reward.hyperparameters import require_positive, require_unit_interval
from deconfound.reward.training_data import TrainingData

PENALTIES = (1e-2, 1e-1, 1.0, 10.0)


@dataclass(frozen=True, slots=True)
class CvciResidual(FamilyDefaults):
    """The log's reward plus a pooled ridge over psi on its residual.

        minimise  (1 - pooling) * mean_experiment (Y - f_obs - psi'w - b)^2
                + pooling * mean_log (Y - f_obs - psi'w - b)^2 + penalty * w'w
        reward  = clip( f_obs + psi'w + b )

    It is accurate where f_obs already captures the complex part and a simple one is left. The log's own residuals are
    close to zero by construction, so ``pooling`` shrinks toward no correction at all.
    """

    name: ClassVar[str] = "cvci-residual"
    pooling: float = 0.5
    penalty: float = 1e-1
    log_penalty: float = 1.0

    def __post_init__(self) -> None:
        require_unit_interval("pooling", self.pooling)
        require_positive("penalty", self.penalty)
        require_positive("log_penalty", self.log_penalty)

    def grid(self, data: TrainingData) -> Sequence[Self]:  # noqa: ARG002
        """Pooling weight and residual penalty, both tuned in the paper."""
        return tuple(replace(self, pooling=pooling, penalty=p) for p in PENALTIES for pooling in POOLINGS)

    def regularization_order(self) -> tuple[float, ...]:
        return (self.penalty, self.pooling)

    @classmethod
    def prepare(cls, data: TrainingData, candidates: Sequence[Self]) -> PreparedCvciResidual:
        """One factorization of the log's psi per baseline."""
        return PreparedCvciResidual(data, min(candidate.penalty for candidate in candidates))


class PreparedCvciResidual(PreparedDefaults):
    """Residual systems on psi, one per baseline penalty in use."""

    def __init__(self, data: TrainingData, min_penalty: float) -> None:
        self.data = data
        self.min_penalty = min_penalty
        self._pooled_by_log_penalty: dict[float, PooledFits] = {}

    def predict(self, candidate: CvciResidual, train_subsets: Sequence[IntArray]) -> list[FloatArray]:
        """Baseline plus the residual fitted to each subset."""
        baseline = self.data.baseline(candidate.log_penalty).experiment
        fits, penalties = self._pooled(candidate.log_penalty), [candidate.penalty] * len(train_subsets)
        residuals = fits.predictions(candidate.pooling, penalties, train_subsets)
        return [clip(baseline + residual) for residual in residuals]

    def fit(self, candidate: CvciResidual, train: IntArray) -> RewardFit:
        """Baseline over phi and residual over psi."""
        baseline = self.data.baseline(candidate.log_penalty)
        linear = self._pooled(candidate.log_penalty).fit(candidate.pooling, candidate.penalty, train)
        return RewardFit(float(linear.intercept), psi_coef=linear.coef, baseline=baseline.linear)

    def _pooled(self, log_penalty: float) -> PooledFits:
        if log_penalty not in self._pooled_by_log_penalty:
            self._pooled_by_log_penalty[log_penalty] = self._pool(log_penalty)
        return self._pooled_by_log_penalty[log_penalty]

    def _pool(self, log_penalty: float) -> PooledFits:
        data, experiment, baseline = self.data, self.data.experiment, self.data.baseline(log_penalty)
        psi, weight = experiment.require_psi(), experiment.weight_or_ones
        residual = experiment.require_outcome() - baseline.experiment
        if data.uses_sums:
            moments = data.log.residual_moments(baseline.linear)
            return SummedFits(moments, SubsetMoments(DenseMatrix(psi), residual, weight))
        factored = data.log.factor_residual(baseline.linear, psi, self.min_penalty, data.limits)
        return KernelFits(PooledRidge.from_log(factored, DenseMatrix(psi)), residual, weight)
