"""Learn the reward from the log and believe it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from deconfound.design import FloatArray, IntArray, Rows
from deconfound.reward.base import fit_once, require_positive
from deconfound.reward.fit import RewardFit
from deconfound.reward.training_data import TrainingData


@dataclass(frozen=True, slots=True)
class ObsOnly:
    """The precise and biased endpoint: ridge over phi on logged outcomes.

        minimise  sum_log (Y - phi'w - b)^2 + penalty * w'w

    Users who chose a model also judge it, so E[Y | x, m] in the log is not the causal reward, however many rows
    there are. It is here to be compared with, and as the baseline f_obs that other families correct.
    """

    name: ClassVar[str] = "obs-only"
    learns_from_experiment: ClassVar[bool] = False
    penalty: float = 1.0

    def __post_init__(self) -> None:
        require_positive("penalty", self.penalty)

    def fit(self, log: Rows, experiment: Rows) -> RewardFit:
        """Fit to all log rows; the experiment's outcomes are not used."""
        return fit_once(self, log, experiment)

    def grid(self) -> Sequence[Self]:
        """Nothing to tune: the experiment has no say."""
        return (self,)

    def regularization_order(self) -> tuple[float, ...]:
        return (self.penalty,)

    @classmethod
    def prepare(cls, sources: TrainingData, candidates: Sequence[Self]) -> PreparedObsOnly:  # noqa: ARG003
        """One log ridge a penalty, kept by the sources."""
        return PreparedObsOnly(sources)


@dataclass(frozen=True, slots=True)
class PreparedObsOnly:
    """The log's own fit."""

    sources: TrainingData

    def predict(self, candidate: ObsOnly, trains: Sequence[IntArray]) -> list[FloatArray]:
        """The same predictions whatever part of the experiment is held out."""
        return [self.sources.baseline(candidate.penalty).experiment for _ in trains]

    def fit(self, candidate: ObsOnly, train: IntArray) -> RewardFit:  # noqa: ARG002
        linear = self.sources.baseline(candidate.penalty).linear
        return RewardFit(float(linear.intercept), phi_coef=linear.coef)
