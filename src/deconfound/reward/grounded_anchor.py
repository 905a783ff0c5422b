"""A grounded correction whose two scales are calibrated on both sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from deconfound.design import FloatArray, IntArray, Rows, group_folds
from deconfound.linalg import Linear, ridge
from deconfound.reward.base import fit_once, require_positive, require_unit_interval
from deconfound.reward.fit import Basis, RewardFit, basis_expansion, clip
from deconfound.reward.grounded import PENALTIES, PreparedGrounded
from deconfound.reward.training_data import TrainingData

POOLINGS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
CROSS_FITS = 5


@dataclass(frozen=True, slots=True)
class GroundedAnchor:
    """Keep the experiment's correction direction c(z) and pool only two numbers, (b, alpha).

        minimise  pooling * mean_log (Y - b f_obs_cf + alpha c)^2
                + (1 - pooling) * mean_experiment (Y - b f_obs + alpha c)^2
                + baseline_anchor * (b - 1)^2 + strength_anchor * (alpha - strength)^2
        reward  = clip( b f_obs - alpha c )

    On the log the baseline is cross-fitted (f_obs_cf): its in-sample predictions would make the log look better
    calibrated than it is. With ``strength`` 1 this is the paper's variant.
    """

    name: ClassVar[str] = "grounded-anchor"
    learns_from_experiment: ClassVar[bool] = True
    basis: Basis = "linear"
    penalty: float = 1.0
    strength: float = 1.0
    log_penalty: float = 1.0
    pooling: float = 0.03
    baseline_anchor: float = 1e-2
    strength_anchor: float = 1e-2

    def __post_init__(self) -> None:
        require_positive("penalty", self.penalty)
        require_positive("log_penalty", self.log_penalty)
        require_positive("baseline_anchor", self.baseline_anchor)
        require_positive("strength_anchor", self.strength_anchor)
        require_unit_interval("strength", self.strength)
        require_unit_interval("pooling", self.pooling)

    def fit(self, log: Rows, experiment: Rows) -> RewardFit:
        """Fit baseline, direction and scales to all rows."""
        return fit_once(self, log, experiment)

    def grid(self) -> Sequence[Self]:
        """Basis, penalty and pooling weight; the scales have a closed form."""
        bases: tuple[Basis, ...] = ("linear", "quadratic")
        return tuple(
            replace(self, basis=basis, penalty=penalty, pooling=pooling)
            for basis in bases
            for penalty in PENALTIES
            for pooling in POOLINGS
        )

    def regularization_order(self) -> tuple[float, ...]:
        """More penalty, then more of the log, then the smaller basis."""
        return (self.penalty, self.pooling, float(self.basis == "linear"))

    @classmethod
    def prepare(cls, sources: TrainingData, candidates: Sequence[Self]) -> PreparedGroundedAnchor:  # noqa: ARG003
        """The grounded preparation; baselines on the log are cross-fitted when first needed."""
        return PreparedGroundedAnchor(PreparedGrounded(sources))


@dataclass(frozen=True, slots=True)
class PreparedGroundedAnchor:
    """Correction directions from the experiment, and the log's cross-fitted baselines."""

    rich: PreparedGrounded
    cross_fits: dict[float, FloatArray] = field(default_factory=dict)

    def predict(self, candidate: GroundedAnchor, trains: Sequence[IntArray]) -> list[FloatArray]:
        """Calibrated baseline minus calibrated correction."""
        baseline = self.rich.sources.baseline(candidate.log_penalty).experiment
        predictions = []
        for train in trains:
            linear = self._direction(candidate, train)
            direction = linear(basis_expansion(self.rich.sources.experiment.require_psi(), candidate.basis))
            b, alpha = self._scales(candidate, linear, train)
            predictions.append(clip(b * baseline - alpha * direction))
        return predictions

    def fit(self, candidate: GroundedAnchor, train: IntArray) -> RewardFit:
        """Scaled baseline over phi, scaled correction over B(psi)."""
        linear = self._direction(candidate, train)
        b, alpha = self._scales(candidate, linear, train)
        baseline = self.rich.sources.baseline(candidate.log_penalty).linear
        return RewardFit(
            -alpha * float(linear.intercept),
            psi_coef=-alpha * linear.coef,
            basis=candidate.basis,
            baseline=baseline,
            baseline_weight=b,
        )

    def _direction(self, candidate: GroundedAnchor, train: IntArray) -> Linear:
        return self.rich.correction(candidate.basis, candidate.log_penalty).fit(candidate.penalty, train)

    def _scales(self, candidate: GroundedAnchor, linear: Linear, train: IntArray) -> tuple[float, float]:
        """(b, alpha) from the two-by-two normal equations."""
        log, experiment = self.rich.sources.log, self.rich.sources.experiment
        shares = experiment.weight_or_ones[train] / experiment.weight_or_ones[train].sum()
        baseline = self.rich.sources.baseline(candidate.log_penalty).experiment[train]
        direction = linear(basis_expansion(experiment.require_psi()[train], candidate.basis))
        sides = [((1 - candidate.pooling) * shares, baseline, direction, experiment.require_outcome()[train])]
        if candidate.pooling > 0:
            along = linear(basis_expansion(log.require_psi(), candidate.basis))
            honest = self._cross_fitted(candidate.log_penalty)
            sides.append((candidate.pooling * log.normalized_weight, honest, along, log.require_outcome()))
        matrix = np.diag([candidate.baseline_anchor, candidate.strength_anchor])
        right = np.array([candidate.baseline_anchor, candidate.strength_anchor * candidate.strength])
        for weight, base, correction, outcome in sides:
            design = np.column_stack([base, -correction])
            matrix = matrix + design.T @ (design * weight[:, None])
            right = right + design.T @ (weight * outcome)
        b, alpha = np.linalg.solve(matrix, right)
        return float(b), float(alpha)

    def _cross_fitted(self, log_penalty: float) -> FloatArray:
        """f_obs on each log row from the folds that do not hold its context."""
        if log_penalty not in self.cross_fits:
            log = self.rich.sources.log
            group = np.arange(len(log)) if log.context is None else log.context
            honest = self.rich.sources.baseline(log_penalty).log.copy()
            for fold in group_folds(group, CROSS_FITS, seed=0):
                part = log.take(fold.train)
                linear = ridge(part.phi, part.require_outcome(), log_penalty, part.weight, self.rich.sources.limits)
                honest[fold.held_out] = clip(linear(log.phi.take(fold.held_out)))
            self.cross_fits[log_penalty] = honest
        return self.cross_fits[log_penalty]
