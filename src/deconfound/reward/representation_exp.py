"""Let the log choose the directions and the experiment the reward along them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from deconfound.design import FloatArray, IntArray, Rows
from deconfound.reward.base import ExperimentRidge, RewardFit, Sources, clip, fit_all, require_positive


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
        return fit_all(self, log, experiment)

    def grid(self) -> Sequence[Self]:
        """A fixed default, as in the paper."""
        return (self,)

    def rigidity(self) -> tuple[float, ...]:
        """More penalty, more regularized."""
        return (self.penalty,)

    @classmethod
    def prepare(cls, sources: Sources, candidates: Sequence[Self]) -> PreparedRepresentationExp:  # noqa: ARG003
        """psi of the experiment serves every penalty and fold."""
        experiment = sources.experiment
        return PreparedRepresentationExp(
            ExperimentRidge.of(experiment.proxies, experiment.outcomes, experiment.weights)
        )


@dataclass(frozen=True, slots=True)
class PreparedRepresentationExp:
    """The experiment's psi, ready for any subset."""

    ridge: ExperimentRidge

    def predict(self, candidate: RepresentationExp, trains: Sequence[IntArray]) -> list[FloatArray]:
        """One solve in as many unknowns as proxies a subset."""
        return [clip(self.ridge.predict(candidate.penalty, train)) for train in trains]

    def fit(self, candidate: RepresentationExp, train: IntArray) -> RewardFit:
        """Coefficients over psi."""
        linear = self.ridge.fit(candidate.penalty, train)
        return RewardFit(float(linear.intercept), psi_coef=linear.coef)
