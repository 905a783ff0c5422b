"""Let the log choose the directions and the experiment the reward along them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from deconfound.design import DenseMatrix, Rows
from deconfound.reward.base import PreparedExperimentRidge, fit_once, require_positive
from deconfound.reward.fit import RewardFit
from deconfound.reward.training_data import ExperimentRidge, TrainingData


@dataclass(frozen=True, slots=True)
class RepresentationExp:
    """Ridge over the few proxies psi on randomized outcomes.

        minimise  sum_experiment (Y - psi'w - b)^2 + penalty * w'w

    Logged outcomes play no part, only logged labels (through psi), so no confounding enters. It wins when the
    reward varies along directions that psi keeps and cannot see what psi drops.
    """

    name: ClassVar[str] = "representation-exp"
    learns_from_experiment: ClassVar[bool] = True
    penalty: float = 1.0

    def __post_init__(self) -> None:
        require_positive("penalty", self.penalty)

    def fit(self, log: Rows, experiment: Rows) -> RewardFit:
        """Fit to all experiment rows on psi."""
        return fit_once(self, log, experiment)

    def grid(self) -> Sequence[Self]:
        return (self,)

    def regularization_order(self) -> tuple[float, ...]:
        return (self.penalty,)

    @classmethod
    def prepare(cls, sources: TrainingData, candidates: Sequence[Self]) -> PreparedExperimentRidge:  # noqa: ARG003
        """psi of the experiment serves every penalty and fold."""
        experiment = sources.experiment
        ridge = ExperimentRidge.of(
            DenseMatrix(experiment.require_psi()),
            experiment.require_outcome(),
            experiment.weight_or_ones,
            sources.limits,
        )
        return PreparedExperimentRidge(ridge, "psi")
