"""Start from the log's reward and let the experiment subtract its bias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from deconfound.design import DenseMatrix, FloatArray, IntArray, Rows
from deconfound.linalg import Linear
from deconfound.reward.base import fit_once, require_positive, require_unit_interval
from deconfound.reward.fit import Basis, RewardFit, basis_expansion, clip
from deconfound.reward.training_data import ExperimentRidge, TrainingData

PENALTIES = (1e-2, 1.0, 100.0)
STRENGTHS = tuple(float(s) for s in np.linspace(0.0, 1.0, 11))


@dataclass(frozen=True, slots=True)
class Grounded:
    """Fit the large log first and spend the experiment on its bias, in a few proxy directions.

        correction = argmin  sum_experiment (f_obs - Y - B(psi)'t - c)^2 + penalty * t't
        reward     = clip( f_obs - strength * (B(psi)'t + c) )

    The exact projection of the bias on B(psi) could only help; the estimated one is noisy, which is why
    ``strength`` below one exists: 0 is the log alone, 1 the full correction.
    """

    name: ClassVar[str] = "grounded"
    learns_from_experiment: ClassVar[bool] = True
    basis: Basis = "linear"
    penalty: float = 1.0
    strength: float = 1.0
    log_penalty: float = 1.0

    def __post_init__(self) -> None:
        require_positive("penalty", self.penalty)
        require_positive("log_penalty", self.log_penalty)
        require_unit_interval("strength", self.strength)

    def fit(self, log: Rows, experiment: Rows) -> RewardFit:
        """Fit baseline and correction to all rows."""
        return fit_once(self, log, experiment)

    def grid(self) -> Sequence[Self]:
        """Basis, penalty and strength, as in the paper's rich correction."""
        bases: tuple[Basis, ...] = ("linear", "quadratic")
        return tuple(
            replace(self, basis=basis, penalty=penalty, strength=strength)
            for basis in bases
            for penalty in PENALTIES
            for strength in STRENGTHS
        )

    def regularization_order(self) -> tuple[float, ...]:
        """More penalty, then a weaker correction, then the smaller basis."""
        return (self.penalty, -self.strength, float(self.basis == "linear"))

    @classmethod
    def prepare(cls, sources: TrainingData, candidates: Sequence[Self]) -> PreparedGrounded:  # noqa: ARG003
        """One baseline and one small ridge a basis."""
        return PreparedGrounded(sources)


@dataclass(frozen=True, slots=True)
class PreparedGrounded:
    """The corrections of each basis, ready for any subset of the experiment."""

    sources: TrainingData
    ridges: dict[tuple[Basis, float], ExperimentRidge] = field(default_factory=dict)
    latest: dict[tuple[object, ...], list[FloatArray]] = field(default_factory=dict)  # corrections at full strength

    def correction(self, basis: Basis, log_penalty: float) -> ExperimentRidge:
        """The ridge of f_obs - Y on B(psi), made once a basis and baseline."""
        key = (basis, log_penalty)
        if key not in self.ridges:
            experiment = self.sources.experiment
            bias = self.sources.baseline(log_penalty).experiment - experiment.require_outcome()
            self.ridges[key] = ExperimentRidge.of(
                DenseMatrix(basis_expansion(experiment.require_psi(), basis)),
                bias,
                experiment.weight_or_ones,
                self.sources.limits,
            )
        return self.ridges[key]

    def predict(self, candidate: Grounded, trains: Sequence[IntArray]) -> list[FloatArray]:
        """Baseline minus the correction each subset supports."""
        baseline = self.sources.baseline(candidate.log_penalty).experiment
        return [clip(baseline - candidate.strength * full) for full in self._full(candidate, trains)]

    def _full(self, candidate: Grounded, trains: Sequence[IntArray]) -> list[FloatArray]:
        """Corrections at full strength, kept for the candidates that follow and differ in strength alone."""
        cuts = tuple(train.tobytes() for train in trains)
        key = (candidate.basis, candidate.penalty, candidate.log_penalty, cuts)
        if key not in self.latest:
            ridge = self.correction(candidate.basis, candidate.log_penalty)
            self.latest.clear()
            self.latest[key] = [ridge.predict(candidate.penalty, train) for train in trains]
        return self.latest[key]

    def fit(self, candidate: Grounded, train: IntArray) -> RewardFit:
        """Baseline over phi and correction over B(psi)."""
        linear = self.correction(candidate.basis, candidate.log_penalty).fit(candidate.penalty, train)
        return corrected(self.sources.baseline(candidate.log_penalty).linear, linear, candidate)


def corrected(baseline: Linear, correction: Linear, candidate: Grounded) -> RewardFit:
    """clip( f_obs - strength * correction ) as a finished reward."""
    return RewardFit(
        -candidate.strength * float(correction.intercept),
        psi_coef=-candidate.strength * correction.coef,
        basis=candidate.basis,
        baseline=baseline,
    )
