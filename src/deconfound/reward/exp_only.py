"""Learn the reward from the experiment and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from deconfound.design import Rows
from deconfound.reward.base import PreparedExperimentRidge, fit_once, require_positive
from deconfound.reward.fit import RewardFit
from deconfound.reward.training_data import TrainingData


@dataclass(frozen=True, slots=True)
class ExpOnly:
    """The unbiased reference: ridge over phi on randomized outcomes.

        minimise  sum_experiment (Y - phi'w - b)^2 + penalty * w'w

    Randomization makes the regression causal; with few rows it is also noisy, and the penalty pulls every
    prediction towards the experiment's mean. The log is not looked at.
    """

    name: ClassVar[str] = "exp-only"
    learns_from_experiment: ClassVar[bool] = True
    penalty: float = 1.0

    def __post_init__(self) -> None:
        require_positive("penalty", self.penalty)

    def fit(self, log: Rows, experiment: Rows) -> RewardFit:
        """Fit to all experiment rows; the log is accepted so that every family is called alike."""
        return fit_once(self, log, experiment)

    def grid(self) -> Sequence[Self]:
        return (self,)

    def regularization_order(self) -> tuple[float, ...]:
        return (self.penalty,)

    @classmethod
    def prepare(cls, sources: TrainingData, candidates: Sequence[Self]) -> PreparedExperimentRidge:  # noqa: ARG003
        """The experiment's kernel serves every penalty and fold."""
        return PreparedExperimentRidge(sources.alone, "phi")
