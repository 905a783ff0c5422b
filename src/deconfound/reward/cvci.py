"""Pool the two regressions and let the experiment choose the mixture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from deconfound.design import FloatArray, IntArray, Rows, merge_duplicate_rows, stack
from deconfound.linalg import FactorizationLimits, Linear, ridge
from deconfound.reward.base import FamilyDefaults, PreparedDefaults
from deconfound.reward.exp_only import ExpOnly
from deconfound.reward.fit import RewardFit, clip
from deconfound.reward.hyperparameters import require_positive, require_unit_interval
from deconfound.reward.obs_only import ObsOnly
from deconfound.reward.training_data import TrainingData

POOLINGS = tuple(float(p) for p in np.linspace(0.0, 1.0, 21))


@dataclass(frozen=True, slots=True)
class Cvci(FamilyDefaults):
    """Cross-validated causal inference: one ridge over phi on both sources, mixed by ``pooling``.

        minimise  (1 - pooling) * mean_experiment (Y - phi'w - b)^2
                + pooling * mean_log (Y - phi'w - b)^2 + penalty * w'w

    These are means, not sums, so the mixture does not change as the log grows. ``pooling`` 0 is the experiment alone
    (``ExpOnly(penalty * n_experiment)``), 1 the log alone (``ObsOnly(penalty * n_log)``). In between, log bias is
    traded for experiment noise; held-out randomized outcomes choose the trade-off.
    """

    name: ClassVar[str] = "cvci"
    pooling: float = 0.5
    penalty: float = 1e-2

    def __post_init__(self) -> None:
        require_unit_interval("pooling", self.pooling)
        require_positive("penalty", self.penalty)

    def grid(self, data: TrainingData) -> Sequence[Self]:
        """21 pooling weights at each of three penalties: that of ``obs-only`` per row of the log, that of ``exp-only``
        per row of the experiment, and their geometric mean.

        The two ends of pooling are then those two families. A penalty on means has to shrink as rows are added, or a
        long log could never be fitted as closely as ``obs-only`` fits it.
        """
        return tuple(replace(self, pooling=pooling, penalty=p) for p in penalties(data) for pooling in POOLINGS)

    def regularization_order(self) -> tuple[float, ...]:
        return (self.penalty, self.pooling)

    @classmethod
    def prepare(cls, data: TrainingData, candidates: Sequence[Self]) -> PreparedCvci:
        """One factorization of the log for every candidate and fold, computed when first needed."""
        return PreparedCvci(data, min(candidate.penalty for candidate in candidates))


def penalties(data: TrainingData) -> tuple[float, ...]:
    """The penalties of the grid, smallest first; only one where log and experiment have equally many rows."""
    log = ObsOnly().penalty / data.log.total_weight
    experiment = ExpOnly().penalty / data.experiment.total_weight
    return tuple(sorted({log, math.sqrt(log * experiment), experiment}))


@dataclass(frozen=True, slots=True)
class PreparedCvci(PreparedDefaults):
    """Both sources on phi, for any mixture and subset."""

    data: TrainingData
    min_penalty: float

    def predict(self, candidate: Cvci, train_subsets: Sequence[IntArray]) -> list[FloatArray]:
        fits, penalties = self.data.pooled_fits(self.min_penalty), [candidate.penalty] * len(train_subsets)
        return [clip(prediction) for prediction in fits.predictions(candidate.pooling, penalties, train_subsets)]

    def fit(self, candidate: Cvci, train: IntArray) -> RewardFit:
        """Coefficients over phi; without a cached factorization one plain ridge is cheaper."""
        log, experiment = self.data.log.rows, self.data.experiment
        cached = self.data.cached_pooled_phi(self.min_penalty)
        stacks = log is not None and log.phi.stacks_cheaply and not self.data.uses_sums
        if cached is None and log is not None and stacks:
            linear = _stacked_ridge(candidate, log, experiment.take(train), self.data.limits)
        else:
            linear = self.data.pooled_fits(self.min_penalty).fit(candidate.pooling, candidate.penalty, train)
        return RewardFit(float(linear.intercept), phi_coef=linear.coef)


def _stacked_ridge(candidate: Cvci, log: Rows, experiment: Rows, limits: FactorizationLimits) -> Linear:
    """Ridge on the rows of both sources, each weighted by its share of the mixture."""
    sources = ((log, candidate.pooling), (experiment, 1.0 - candidate.pooling))
    used = [(rows, share) for rows, share in sources if share > 0]
    phi = stack([rows.phi for rows, _ in used])
    outcome = np.concatenate([rows.require_outcome() for rows, _ in used])
    weight = np.concatenate([share * rows.normalized_weight for rows, share in used])
    both = merge_duplicate_rows(Rows(phi, outcome=outcome, weight=weight))
    return ridge(both.phi, both.require_outcome(), candidate.penalty, both.weight, limits)
