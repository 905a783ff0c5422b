"""Start from the log's reward and let the experiment subtract its bias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from deconfound.design import DenseMatrix, FloatArray, IntArray
from deconfound.reward.base import FamilyDefaults, PreparedDefaults
from deconfound.reward.fit import Basis, RewardFit, basis_expansion, clip
from deconfound.reward.hyperparameters import require_positive, require_unit_interval
from deconfound.reward.training_data import ExperimentRidge, TrainingData

BASES: tuple[Basis, ...] = ("linear", "quadratic")
PENALTIES = (1e-2, 1.0, 100.0)
STRENGTHS = tuple(float(s) for s in np.linspace(0.0, 1.0, 11))


@dataclass(frozen=True, slots=True)
class Grounded(FamilyDefaults):
    """Fit the large log first; estimate only its bias, in a few proxy directions, on the experiment.

        correction = argmin  sum_experiment (f_obs - Y - B(psi)'t - c)^2 + penalty * t't
        reward     = clip( f_obs - strength * (B(psi)'t + c) )

    Subtracting the exact projection of the bias on B(psi) can only reduce the error. The estimated projection is
    noisy, so a ``strength`` below one may be better: 0 is the log alone, 1 the full correction.
    """

    name: ClassVar[str] = "grounded"
    basis: Basis = "linear"
    penalty: float = 1.0
    strength: float = 1.0
    log_penalty: float = 1.0

    def __post_init__(self) -> None:
        require_positive("penalty", self.penalty)
        require_positive("log_penalty", self.log_penalty)
        require_unit_interval("strength", self.strength)

    def grid(self, data: TrainingData) -> Sequence[Self]:  # noqa: ARG002
        """Basis, penalty and strength, as in the paper's rich correction."""
        return tuple(
            replace(self, basis=basis, penalty=penalty, strength=strength)
            for basis in BASES
            for penalty in PENALTIES
            for strength in STRENGTHS
        )

    def regularization_order(self) -> tuple[float, ...]:
        """More penalty, then a weaker correction, then the smaller basis."""
        return (self.penalty, -self.strength, float(self.basis == "linear"))

    @classmethod
    def prepare(cls, data: TrainingData, candidates: Sequence[Self]) -> PreparedGrounded:  # noqa: ARG003
        """One baseline, and one small ridge per basis."""
        return PreparedGrounded(data)


class PreparedGrounded(PreparedDefaults):
    """The corrections of each basis, for any subset of the experiment."""

    def __init__(self, data: TrainingData) -> None:
        self.data = data
        self._ridge_by_basis: dict[tuple[Basis, float], ExperimentRidge] = {}  # also by the baseline's penalty
        self._full_corrections: tuple[object, list[FloatArray]] = (None, [])  # the latest, with its key

    def correction(self, basis: Basis, log_penalty: float) -> ExperimentRidge:
        """The ridge of f_obs - Y on B(psi)."""
        key = (basis, log_penalty)
        if key not in self._ridge_by_basis:
            experiment = self.data.experiment
            features = DenseMatrix(basis_expansion(experiment.require_psi(), basis))
            bias = self.data.baseline(log_penalty).experiment - experiment.require_outcome()
            self._ridge_by_basis[key] = ExperimentRidge.from_features(
                features, bias, experiment.weight_or_ones, self.data.limits
            )
        return self._ridge_by_basis[key]

    def predict(self, candidate: Grounded, train_subsets: Sequence[IntArray]) -> list[FloatArray]:
        """Baseline minus the correction fitted to each subset."""
        baseline = self.data.baseline(candidate.log_penalty).experiment
        corrections = self._full_strength_corrections(candidate, train_subsets)
        return [clip(baseline - candidate.strength * correction) for correction in corrections]

    def _full_strength_corrections(self, candidate: Grounded, train_subsets: Sequence[IntArray]) -> list[FloatArray]:
        """Corrections at strength one, reused for the next candidates if they differ in strength alone."""
        subsets = tuple(train.tobytes() for train in train_subsets)
        key = (candidate.basis, candidate.penalty, candidate.log_penalty, subsets)
        if self._full_corrections[0] != key:
            ridge = self.correction(candidate.basis, candidate.log_penalty)
            self._full_corrections = (key, ridge.predictions(candidate.penalty, train_subsets))
        return self._full_corrections[1]

    def fit(self, candidate: Grounded, train: IntArray) -> RewardFit:
        """Baseline over phi and correction over B(psi)."""
        linear = self.correction(candidate.basis, candidate.log_penalty).fit(candidate.penalty, train)
        return RewardFit(
            -candidate.strength * float(linear.intercept),
            psi_coef=-candidate.strength * linear.coef,
            basis=candidate.basis,
            baseline=self.data.baseline(candidate.log_penalty).linear,
        )


@dataclass(frozen=True, slots=True)
class GroundedLinear(FamilyDefaults):
    """``Grounded`` with a linear basis and a fixed penalty, so that only the strength is tuned.

    The paper's reference for the gain from a richer basis. With one number to choose it rarely overfits, but it
    underfits wherever the log's bias is not linear in psi.
    """

    name: ClassVar[str] = "grounded-linear"
    penalty: float = 1.0
    strength: float = 1.0
    log_penalty: float = 1.0

    def __post_init__(self) -> None:
        self.as_grounded()  # checks the ranges

    def as_grounded(self) -> Grounded:
        """The same hyperparameters as a member of the larger family."""
        return Grounded("linear", self.penalty, self.strength, self.log_penalty)

    def grid(self, data: TrainingData) -> Sequence[Self]:  # noqa: ARG002
        """The strengths."""
        return tuple(replace(self, strength=strength) for strength in STRENGTHS)

    def regularization_order(self) -> tuple[float, ...]:
        """More penalty, then a weaker correction."""
        return (self.penalty, -self.strength)

    @classmethod
    def prepare(cls, data: TrainingData, candidates: Sequence[Self]) -> PreparedGroundedLinear:  # noqa: ARG003
        """The preparation of ``Grounded``."""
        return PreparedGroundedLinear(PreparedGrounded(data))


@dataclass(frozen=True, slots=True)
class PreparedGroundedLinear(PreparedDefaults):
    """The preparation of ``Grounded``, used with its linear basis only."""

    grounded: PreparedGrounded

    def predict(self, candidate: GroundedLinear, train_subsets: Sequence[IntArray]) -> list[FloatArray]:
        return self.grounded.predict(candidate.as_grounded(), train_subsets)

    def fit(self, candidate: GroundedLinear, train: IntArray) -> RewardFit:
        return self.grounded.fit(candidate.as_grounded(), train)
