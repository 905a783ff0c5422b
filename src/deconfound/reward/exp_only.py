"""Learn the reward from the experiment alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, Self

from deconfound.design import FloatArray, IntArray
from deconfound.reward.base import FamilyDefaults, PreparedDefaults
from deconfound.reward.fit import RewardFit, clip
from deconfound.reward.hyperparameters import require_positive
from deconfound.reward.training_data import ExperimentRidge, TrainingData


@dataclass(frozen=True, slots=True)
class ExpOnly(FamilyDefaults):
    """The unbiased reference: ridge over phi on randomized outcomes.

        minimise  sum_experiment (Y - phi'w - b)^2 + penalty * w'w

    Randomization makes the regression causal. With few rows it is noisy, and the penalty shrinks every prediction
    toward the experiment's mean. The log is not used.
    """

    name: ClassVar[str] = "exp-only"
    penalty: float = 1.0

    def __post_init__(self) -> None:
        require_positive("penalty", self.penalty)

    def regularization_order(self) -> tuple[float, ...]:
        return (self.penalty,)

    @classmethod
    def prepare(cls, data: TrainingData, candidates: Sequence[Self]) -> PreparedExperimentRidge:  # noqa: ARG003
        """The experiment's kernel serves every penalty and fold."""
        return PreparedExperimentRidge(data.experiment_ridge, "phi")


class HasPenalty(Protocol):
    """A family whose only hyperparameter is a ridge penalty."""

    @property
    def penalty(self) -> float: ...


@dataclass(frozen=True, slots=True)
class PreparedExperimentRidge(PreparedDefaults):
    """One ridge on the experiment, over phi or over psi; also the preparation of ``RepresentationExp``."""

    ridge: ExperimentRidge
    features: Literal["phi", "psi"]

    def predict(self, candidate: HasPenalty, train_subsets: Sequence[IntArray]) -> list[FloatArray]:
        """One small solve per subset."""
        return [clip(prediction) for prediction in self.ridge.predictions(candidate.penalty, train_subsets)]

    def fit(self, candidate: HasPenalty, train: IntArray) -> RewardFit:
        """Coefficients over the features it was prepared on."""
        linear = self.ridge.fit(candidate.penalty, train)
        if self.features == "phi":
            return RewardFit(float(linear.intercept), phi_coef=linear.coef)
        return RewardFit(float(linear.intercept), psi_coef=linear.coef)
