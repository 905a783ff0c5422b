"""Pool the two regressions and let the experiment choose the mixture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from deconfound.design import FloatArray, IntArray, Rows, merge_duplicate_rows, stack
from deconfound.linalg import FactorizationLimits, Linear, ridge
from deconfound.reward.base import fit_once, require_positive, require_unit_interval
from deconfound.reward.fit import RewardFit, clip
from deconfound.reward.training_data import TrainingData

POOLINGS = tuple(float(p) for p in np.linspace(0.0, 1.0, 21))
PENALTIES = (3e-3, 1e-2, 1e-1)


@dataclass(frozen=True, slots=True)
class Cvci:
    """Cross-validated causal inference: one ridge over phi on both sources, mixed by ``pooling``.

        minimise  (1 - pooling) * mean_experiment (Y - phi'w - b)^2
                + pooling * mean_log (Y - phi'w - b)^2 + penalty * w'w

    Means, not sums: the mixture does not drift as the log grows. ``pooling`` 0 is the experiment alone
    (``ExpOnly(penalty * n_experiment)``), 1 the log alone (``ObsOnly(penalty * n_log)``); between them log bias is
    traded for experiment noise, at an exchange rate that held-out randomized outcomes set.
    """

    name: ClassVar[str] = "cvci"
    learns_from_experiment: ClassVar[bool] = True
    pooling: float = 0.5
    penalty: float = 1e-2

    def __post_init__(self) -> None:
        require_unit_interval("pooling", self.pooling)
        require_positive("penalty", self.penalty)

    def fit(self, log: Rows, experiment: Rows) -> RewardFit:
        """Fit the mixture to all rows of both sources."""
        return fit_once(self, log, experiment)

    def grid(self) -> Sequence[Self]:
        """Twenty-one pooling weights at each of three penalties."""
        return tuple(replace(self, pooling=pooling, penalty=p) for p in PENALTIES for pooling in POOLINGS)

    def regularization_order(self) -> tuple[float, ...]:
        return (self.penalty, self.pooling)

    @classmethod
    def prepare(cls, sources: TrainingData, candidates: Sequence[Self]) -> PreparedCvci:
        """One factorization of the log for every candidate and fold, made when first needed."""
        return PreparedCvci(sources, min(candidate.penalty for candidate in candidates))


@dataclass(frozen=True, slots=True)
class PreparedCvci:
    """Both sources on phi, ready for any mixture and subset."""

    sources: TrainingData
    smallest: float

    def predict(self, candidate: Cvci, trains: Sequence[IntArray]) -> list[FloatArray]:
        experiment = self.sources.experiment
        system = self.sources.pooled_phi(self.smallest).system(candidate.pooling, candidate.penalty)
        solutions = (system.solve(experiment.require_outcome(), experiment.weight_or_ones, train) for train in trains)
        return [clip(system.predict(solution)) for solution in solutions]

    def fit(self, candidate: Cvci, train: IntArray) -> RewardFit:
        """Coefficients over phi; a single fit is one plain ridge, cheaper than a factorization made for many."""
        experiment = self.sources.experiment
        log, ready = self.sources.log, self.sources.cached_pooled_phi(self.smallest)
        if ready is None and log.phi.stacks_cheaply:
            linear = _stacked(candidate, log, experiment.take(train), self.sources.limits)
        else:
            system = self.sources.pooled_phi(self.smallest).system(candidate.pooling, candidate.penalty)
            linear = system.linear(system.solve(experiment.require_outcome(), experiment.weight_or_ones, train))
        return RewardFit(float(linear.intercept), phi_coef=linear.coef)


def _stacked(candidate: Cvci, log: Rows, experiment: Rows, limits: FactorizationLimits) -> Linear:
    """Ridge on the rows of both sources, each weighted by its share of the mixture."""
    parts = ((log, candidate.pooling), (experiment, 1.0 - candidate.pooling))
    used = [(rows, share) for rows, share in parts if share > 0]
    phi = stack([rows.phi for rows, _ in used])
    outcome = np.concatenate([rows.require_outcome() for rows, _ in used])
    both = merge_duplicate_rows(
        Rows(phi, outcome=outcome, weight=np.concatenate([share * rows.normalized_weight for rows, share in used]))
    )
    return ridge(both.phi, both.require_outcome(), candidate.penalty, both.weight, limits)
