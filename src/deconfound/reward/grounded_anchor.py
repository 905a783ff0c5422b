"""A grounded correction whose two scales are calibrated on both sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from deconfound.design import FloatArray, IntArray, group_folds
from deconfound.linalg import Linear, ridge
from deconfound.reward.base import FamilyDefaults, PreparedDefaults
from deconfound.reward.fit import Basis, RewardFit, basis_expansion, clip
from deconfound.reward.grounded import BASES, PENALTIES, PreparedGrounded
from deconfound.reward.hyperparameters import require_positive, require_unit_interval
from deconfound.reward.training_data import TrainingData

POOLINGS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
LOG_FOLDS = 5  # of the baseline's cross-fitting on the log


@dataclass(frozen=True, slots=True)
class GroundedAnchor(FamilyDefaults):
    """Take the correction direction c(z) from the experiment and pool only two numbers, (b, alpha).

        minimise  pooling * mean_log (Y - b f_obs_cf + alpha c)^2
                + (1 - pooling) * mean_experiment (Y - b f_obs + alpha c)^2
                + baseline_anchor * (b - 1)^2 + strength_anchor * (alpha - strength)^2
        reward  = clip( b f_obs - alpha c )

    On the log the baseline is cross-fitted (f_obs_cf): its in-sample predictions would make the log look better
    calibrated than it is. With ``strength`` 1 this is the paper's variant.
    """

    name: ClassVar[str] = "grounded-anchor"
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

    def grid(self, data: TrainingData) -> Sequence[Self]:  # noqa: ARG002
        """Basis, penalty and pooling weight; the two scales have a closed form."""
        return tuple(
            replace(self, basis=basis, penalty=penalty, pooling=pooling)
            for basis in BASES
            for penalty in PENALTIES
            for pooling in POOLINGS
        )

    def regularization_order(self) -> tuple[float, ...]:
        """More penalty, then more of the log, then the smaller basis."""
        return (self.penalty, self.pooling, float(self.basis == "linear"))

    @classmethod
    def prepare(cls, data: TrainingData, candidates: Sequence[Self]) -> PreparedGroundedAnchor:  # noqa: ARG003
        """The preparation of ``Grounded``; baselines on the log are cross-fitted when first needed."""
        return PreparedGroundedAnchor(data)


class PreparedGroundedAnchor(PreparedDefaults):
    """Correction directions from the experiment, and cross-fitted baselines on the log."""

    def __init__(self, data: TrainingData) -> None:
        self.data = data
        self._grounded = PreparedGrounded(data)
        self._cross_fitted_by_penalty: dict[float, FloatArray] = {}

    def predict(self, candidate: GroundedAnchor, train_subsets: Sequence[IntArray]) -> list[FloatArray]:
        """Scaled baseline minus scaled correction."""
        baseline = self.data.baseline(candidate.log_penalty).experiment
        predictions = []
        for train in train_subsets:
            linear = self._direction(candidate, train)
            direction = linear(basis_expansion(self.data.experiment.require_psi(), candidate.basis))
            b, alpha = self._scales(candidate, linear, train)
            predictions.append(clip(b * baseline - alpha * direction))
        return predictions

    def fit(self, candidate: GroundedAnchor, train: IntArray) -> RewardFit:
        """Scaled baseline over phi, scaled correction over B(psi)."""
        linear = self._direction(candidate, train)
        b, alpha = self._scales(candidate, linear, train)
        return RewardFit(
            -alpha * float(linear.intercept),
            psi_coef=-alpha * linear.coef,
            basis=candidate.basis,
            baseline=self.data.baseline(candidate.log_penalty).linear,
            baseline_weight=b,
        )

    def _direction(self, candidate: GroundedAnchor, train: IntArray) -> Linear:
        return self._grounded.correction(candidate.basis, candidate.log_penalty).fit(candidate.penalty, train)

    def _scales(self, candidate: GroundedAnchor, linear: Linear, train: IntArray) -> tuple[float, float]:
        """(b, alpha) from the two-by-two normal equations."""
        log, experiment = self.data.log_rows, self.data.experiment
        shares = experiment.weight_or_ones[train] / experiment.weight_or_ones[train].sum()
        baseline = self.data.baseline(candidate.log_penalty).experiment[train]
        direction = linear(basis_expansion(experiment.require_psi()[train], candidate.basis))
        blocks = [((1 - candidate.pooling) * shares, baseline, direction, experiment.require_outcome()[train])]
        if candidate.pooling > 0:
            log_direction = linear(basis_expansion(log.require_psi(), candidate.basis))
            log_baseline = self._cross_fitted_baseline(candidate.log_penalty)
            blocks.append(
                (candidate.pooling * log.normalized_weight, log_baseline, log_direction, log.require_outcome())
            )
        matrix = np.diag([candidate.baseline_anchor, candidate.strength_anchor])
        right = np.array([candidate.baseline_anchor, candidate.strength_anchor * candidate.strength])
        for weight, base, correction, outcome in blocks:
            design = np.column_stack([base, -correction])
            matrix = matrix + design.T @ (design * weight[:, None])
            right = right + design.T @ (weight * outcome)
        b, alpha = np.linalg.solve(matrix, right)
        return float(b), float(alpha)

    def _cross_fitted_baseline(self, log_penalty: float) -> FloatArray:
        """f_obs on each log row, fitted without the fold that contains its context."""
        if log_penalty not in self._cross_fitted_by_penalty:
            log = self.data.log_rows
            group = np.arange(len(log)) if log.context is None else log.context
            prediction = clip(self.data.baseline(log_penalty).linear(log.phi))
            for fold in group_folds(group, LOG_FOLDS, seed=0):
                part = log.take(fold.train)
                linear = ridge(part.phi, part.require_outcome(), log_penalty, part.weight, self.data.limits)
                prediction[fold.held_out] = clip(linear(log.phi.take(fold.held_out)))
            self._cross_fitted_by_penalty[log_penalty] = prediction
        return self._cross_fitted_by_penalty[log_penalty]
