"""Learn the reward from the experiment alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from deconfound.reward.base import FamilyDefaults, PreparedExperimentRidge
from deconfound.reward.hyperparameters import require_positive
from deconfound.reward.training_data import TrainingData


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
