"""Let the log choose the feature directions and the experiment the reward along them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from deconfound.design import DenseMatrix
from deconfound.reward.base import FamilyDefaults
from deconfound.reward.exp_only import PreparedExperimentRidge
from deconfound.reward.hyperparameters import require_positive
from deconfound.reward.training_data import ExperimentRidge, TrainingData


@dataclass(frozen=True, slots=True)
class RepresentationExp(FamilyDefaults):
    """Ridge over the few proxies psi on randomized outcomes.

        minimise  sum_experiment (Y - psi'w - b)^2 + penalty * w'w

    Of the log only the labels are used (through psi), never the outcomes, so no confounding enters. It is accurate
    where the reward varies along psi and misses whatever psi leaves out.
    """

    name: ClassVar[str] = "representation-exp"
    penalty: float = 1.0

    def __post_init__(self) -> None:
        require_positive("penalty", self.penalty)

    def regularization_order(self) -> tuple[float, ...]:
        return (self.penalty,)

    @classmethod
    def prepare(cls, data: TrainingData, candidates: Sequence[Self]) -> PreparedExperimentRidge:  # noqa: ARG003
        """The kernel of the experiment's psi serves every penalty and fold."""
        experiment = data.experiment
        ridge = ExperimentRidge.from_features(
            DenseMatrix(experiment.require_psi()),
            experiment.require_outcome(),
            experiment.weight_or_ones,
            data.limits,
        )
        return PreparedExperimentRidge(ridge, "psi")
