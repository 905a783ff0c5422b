"""Learn the reward from the log alone, confounding included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from deconfound.design import FloatArray, IntArray
from deconfound.reward.base import FamilyDefaults, PreparedDefaults
from deconfound.reward.fit import RewardFit
from deconfound.reward.hyperparameters import require_positive
from deconfound.reward.training_data import TrainingData


@dataclass(frozen=True, slots=True)
class ObsOnly(FamilyDefaults):
    """The precise but biased extreme: ridge over phi on logged outcomes.

        minimise  sum_log (Y - phi'w - b)^2 + penalty * w'w

    The users who choose a model also rate it, so E[Y | x, m] in the log is not the causal reward, however many rows
    there are. This family serves for comparison, and as the baseline f_obs that other families correct.
    """

    name: ClassVar[str] = "obs-only"
    learns_from_experiment: ClassVar[bool] = False
    penalty: float = 1.0

    def __post_init__(self) -> None:
        require_positive("penalty", self.penalty)

    def regularization_order(self) -> tuple[float, ...]:
        return (self.penalty,)

    @classmethod
    def prepare(cls, data: TrainingData, candidates: Sequence[Self]) -> PreparedObsOnly:  # noqa: ARG003
        """One ridge on the log per penalty, cached by ``data``."""
        return PreparedObsOnly(data)


@dataclass(frozen=True, slots=True)
class PreparedObsOnly(PreparedDefaults):
    """The fit to the log."""

    data: TrainingData

    def predict(self, candidate: ObsOnly, train_subsets: Sequence[IntArray]) -> list[FloatArray]:
        """The same predictions for every training subset."""
        return [self.data.baseline(candidate.penalty).experiment for _ in train_subsets]

    def fit(self, candidate: ObsOnly, train: IntArray) -> RewardFit:  # noqa: ARG002
        linear = self.data.baseline(candidate.penalty).linear
        return RewardFit(float(linear.intercept), phi_coef=linear.coef)
