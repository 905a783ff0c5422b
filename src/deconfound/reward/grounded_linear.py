"""The single linear correction: the plainest member of the grounded family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from deconfound.design import FloatArray, IntArray, Rows
from deconfound.reward.base import fit_once, require_positive, require_unit_interval
from deconfound.reward.fit import RewardFit
from deconfound.reward.grounded import STRENGTHS, Grounded, PreparedGrounded
from deconfound.reward.training_data import TrainingData


@dataclass(frozen=True, slots=True)
class GroundedLinear:
    """Grounded with a linear basis and a fixed penalty, so that only the strength is tuned.

    The paper's reference point for what a richer basis buys: with one number to choose it can hardly overfit, and
    underfits whenever the log's bias bends in psi.
    """

    name: ClassVar[str] = "grounded-linear"
    learns_from_experiment: ClassVar[bool] = True
    penalty: float = 1.0
    strength: float = 1.0
    log_penalty: float = 1.0

    def __post_init__(self) -> None:
        require_positive("penalty", self.penalty)
        require_positive("log_penalty", self.log_penalty)
        require_unit_interval("strength", self.strength)

    def fit(self, log: Rows, experiment: Rows) -> RewardFit:
        """Fit baseline and linear correction to all rows."""
        return fit_once(self, log, experiment)

    def grid(self) -> Sequence[Self]:
        """The strengths alone."""
        return tuple(replace(self, strength=strength) for strength in STRENGTHS)

    def regularization_order(self) -> tuple[float, ...]:
        """More penalty, then a weaker correction."""
        return (self.penalty, -self.strength)

    @classmethod
    def prepare(cls, sources: TrainingData, candidates: Sequence[Self]) -> PreparedGroundedLinear:  # noqa: ARG003
        """The same preparation as the rich family's."""
        return PreparedGroundedLinear(PreparedGrounded(sources))


@dataclass(frozen=True, slots=True)
class PreparedGroundedLinear:
    """The rich family's preparation, asked only for its linear basis."""

    rich: PreparedGrounded

    def predict(self, candidate: GroundedLinear, trains: Sequence[IntArray]) -> list[FloatArray]:
        return self.rich.predict(_rich(candidate), trains)

    def fit(self, candidate: GroundedLinear, train: IntArray) -> RewardFit:
        return self.rich.fit(_rich(candidate), train)


def _rich(candidate: GroundedLinear) -> Grounded:
    return Grounded("linear", candidate.penalty, candidate.strength, candidate.log_penalty)
