"""What every family is, what it is fitted from, and what a fit is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, Self, TypeVar

import numpy as np

from deconfound.design import FloatArray, IntArray, Rows
from deconfound.errors import UsageError
from deconfound.linalg import one_blas_thread
from deconfound.reward.fit import RewardFit, clip
from deconfound.reward.training_data import ExperimentRidge, TrainingData


class HasPenalty(Protocol):
    """A family with nothing to choose but its ridge penalty."""

    @property
    def penalty(self) -> float: ...


@dataclass(frozen=True, slots=True)
class PreparedExperimentRidge:
    """Preparation of a family that is one ridge on the experiment, over phi or over psi."""

    ridge: ExperimentRidge
    features: Literal["phi", "psi"]

    def predict(self, candidate: HasPenalty, trains: Sequence[IntArray]) -> list[FloatArray]:
        """One small solve a subset."""
        return [clip(self.ridge.predict(candidate.penalty, train)) for train in trains]

    def fit(self, candidate: HasPenalty, train: IntArray) -> RewardFit:
        """Coefficients over the features it was prepared on."""
        linear = self.ridge.fit(candidate.penalty, train)
        if self.features == "phi":
            return RewardFit(float(linear.intercept), phi_coef=linear.coef)
        return RewardFit(float(linear.intercept), psi_coef=linear.coef)


F_contra = TypeVar("F_contra", contravariant=True)


class Prepared(Protocol[F_contra]):
    """A family's candidates with everything factored that neither fold nor hyperparameter changes."""

    def predict(self, candidate: F_contra, trains: Sequence[IntArray]) -> list[FloatArray]:
        """For each training subset of the experiment: clipped predictions for every experiment row."""
        ...

    def fit(self, candidate: F_contra, train: IntArray) -> RewardFit:
        """The finished fit from one training subset."""
        ...


class Family(Protocol):
    """A family is its hyperparameters; fitting returns a new, finished object."""

    name: ClassVar[str]
    learns_from_experiment: ClassVar[bool]

    def fit(self, log: Rows, experiment: Rows) -> RewardFit:
        """Fit with these hyperparameters to all rows."""
        ...

    def grid(self) -> Sequence[Self]:
        """The candidates that tuning compares; only itself where the paper fixes the defaults."""
        ...

    def regularization_order(self) -> tuple[float, ...]:
        """Larger means more regularized; decides ties."""
        ...

    @classmethod
    def prepare(cls, sources: TrainingData, candidates: Sequence[Self]) -> Prepared[Self]:
        """Factor what all candidates share."""
        ...


F = TypeVar("F", bound=Family)


def fit_once(family: F, log: Rows, experiment: Rows) -> RewardFit:
    """Fit one family once, to every row."""
    with one_blas_thread():
        prepared = type(family).prepare(TrainingData(log, experiment), [family])
        return prepared.fit(family, np.arange(len(experiment)))


def require_positive(name: str, value: float) -> None:
    """Refuse a penalty that would leave the fit undefined."""
    if not (np.isfinite(value) and value > 0):
        raise UsageError(f"{name} must be a positive number, not {value!r}.")


def require_unit_interval(name: str, value: float) -> None:
    """Refuse a weight outside [0, 1]."""
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{name} must lie in [0, 1], not {value!r}.")
