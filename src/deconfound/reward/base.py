"""What every family is, what it is fitted from, and what a fit is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Protocol, Self, TypeVar

import numpy as np

from deconfound.design import FloatArray, IntArray, Matrix, Rows, collapse
from deconfound.errors import UsageError
from deconfound.linalg import Linear, Pooled, System, blank, factor, one_blas_thread, ridge

Basis = Literal["linear", "quadratic"]


def expand(psi: FloatArray, basis: Basis) -> FloatArray:
    """B(psi): the proxies themselves, or the proxies and their squares."""
    return psi if basis == "linear" else np.hstack([psi, psi * psi])


def clip(prediction: FloatArray) -> FloatArray:
    """Outcomes live in [0, 1] and so do predictions of them."""
    return np.clip(prediction, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class RewardFit:
    """A finished reward r(x, m); every family ends in this one form.

        clip( baseline_weight * clip(baseline(phi)) + phi @ phi_coef + B(psi) @ psi_coef + intercept )

    Parts that a family does not use are None. With ``by_model``, what a model's outputs are liked beyond what text
    and proxies show is added to that, and the sum clipped again.
    """

    intercept: float
    phi_coef: FloatArray | None = None  # (d,)
    psi_coef: FloatArray | None = None  # (r,) or (2r,)
    basis: Basis = "linear"
    baseline: Linear | None = None
    baseline_weight: float = 1.0
    by_model: FloatArray | None = None  # (k,), by model code

    def predict(self, rows: Rows) -> FloatArray:
        """Reward of each row, in [0, 1]."""
        return self.shown(rows) if rows.model is None else self.written_by(rows.model, self.shown(rows))

    def written_by(self, model: IntArray, shown: FloatArray) -> FloatArray:
        """Reward (n,) of outputs by these models, from what text and proxies show of them."""
        if self.by_model is None:
            return shown
        return clip(shown + np.where(model < 0, 0.0, self.by_model[model]))

    def of_models(self, shown: FloatArray) -> FloatArray:
        """q (n, k) from what text and proxies show of each model's outputs, averaged over draws."""
        if self.by_model is None:
            return shown
        effect = np.zeros(shown.shape[1])  # a model that neither source has seen has none
        effect[: len(self.by_model)] = self.by_model[: len(effect)]
        return clip(shown + effect)

    def shown(self, rows: Rows) -> FloatArray:
        """Reward of each row as text and proxies show it, whoever wrote it."""
        baseline = None if self.baseline is None else np.asarray(rows.phi @ self.baseline.coef)
        own = None if self.phi_coef is None else np.asarray(rows.phi @ self.phi_coef)
        psi = np.empty((len(rows), 0)) if self.psi_coef is None else rows.proxies
        return self.combine(baseline, own, psi)

    def combine(self, baseline: FloatArray | None, own: FloatArray | None, psi: FloatArray) -> FloatArray:
        """Reward of rows whose products with the baseline's and with ``phi_coef`` are at hand.

        Who asks many rewards about the same rows multiplies once for all of them.
        """
        total = np.full(len(psi), self.intercept)
        if self.baseline is not None and baseline is not None:
            total += self.baseline_weight * clip(baseline + self.baseline.intercept)
        if own is not None:
            total += own
        if self.psi_coef is not None:
            total += expand(psi, self.basis) @ self.psi_coef
        return clip(total)


class Sources:
    """One log and one experiment, and what several families would otherwise factor again."""

    def __init__(self, log: Rows, experiment: Rows, longer: Sources | None = None) -> None:
        if len(log) == 0 or len(experiment) == 0:
            raise UsageError("A reward needs at least one row of log and one of experiment.")
        if log.phi.shape[1] != experiment.phi.shape[1]:
            raise UsageError("The log's phi and the experiment's phi must have the same number of columns.")
        self.log = collapse(log) if longer is None else log
        self.experiment = experiment
        self._longer = longer  # the same log and an experiment that starts with this one
        self._baselines: dict[float, Baseline] = {}
        self._pooled: dict[float, Pooled] = {}

    def first(self, rows: int) -> Sources:
        """The same log with the first rows of the experiment; the log is not factored again."""
        return Sources(self.log, self.experiment.take(np.arange(rows)), longer=self)

    @cached_property
    def alone(self) -> ExperimentRidge:
        """The experiment's phi by itself."""
        return ExperimentRidge.of(self.experiment.phi, self.experiment.outcomes, self.experiment.weights)

    def baseline(self, penalty: float) -> Baseline:
        """f_obs, the clipped ridge on the log, and its predictions on both sources."""
        if self._longer is not None:
            return self._longer.baseline(penalty).first(len(self.experiment))
        if penalty not in self._baselines:
            log = self.log
            linear = ridge(log.phi, log.outcomes, penalty, log.weight)
            self._baselines[penalty] = Baseline(linear, clip(linear(log.phi)), clip(linear(self.experiment.phi)))
        return self._baselines[penalty]

    def pooled_if_ready(self, smallest: float) -> Pooled | None:
        """What ``pooled_phi`` would give, if that costs nothing."""
        if self._longer is not None:
            ready = self._longer.pooled_if_ready(smallest)
            return None if ready is None else ready.first(len(self.experiment))
        limits = [limit for limit in self._pooled if limit <= smallest]
        return self._pooled[max(limits)] if limits else None

    def pooled_phi(self, smallest: float) -> Pooled:
        """Log and experiment on phi, good for every penalty from ``smallest`` up."""
        if self._longer is not None:
            return self._longer.pooled_phi(smallest).first(len(self.experiment))
        ready = self.pooled_if_ready(smallest)
        if ready is not None:
            return ready
        log, seen = self.log, self.experiment.phi
        side = factor(log.phi, log.outcomes[:, None], log.shares, seen=seen, smallest=smallest)
        self._pooled[smallest] = Pooled.of(side, seen)
        return self._pooled[smallest]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The log's own reward and what it says of both sources' rows."""

    linear: Linear
    log: FloatArray  # (n_log,), clipped
    experiment: FloatArray  # (n_exp,), clipped

    def first(self, rows: int) -> Baseline:
        """The same for the first rows of the experiment."""
        return Baseline(self.linear, self.log, self.experiment[:rows])


@dataclass(frozen=True, slots=True)
class ExperimentRidge:
    """Ridge on experiment rows alone, for any subset of them: sum of squares + penalty * w'w."""

    pooled: Pooled
    target: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, features: Matrix, target: FloatArray, weights: FloatArray) -> ExperimentRidge:
        """Prepare the features once for every penalty and subset."""
        return cls(Pooled.of(blank(features), features), target, weights)

    def predict(self, penalty: float, train: IntArray) -> FloatArray:
        """Unclipped predictions on all rows, learned from the rows ``train``."""
        system = self._system(penalty, train)
        return system.predict(system.solve(self.target, self.weights, train))

    def fit(self, penalty: float, train: IntArray) -> Linear:
        """The linear fit to the rows ``train``."""
        system = self._system(penalty, train)
        return system.linear(system.solve(self.target, self.weights, train))

    def _system(self, penalty: float, train: IntArray) -> System:
        return self.pooled.at(0.0, penalty / float(self.weights[train].sum()))


class HasPenalty(Protocol):
    """A family with nothing to choose but its ridge penalty."""

    @property
    def penalty(self) -> float: ...


@dataclass(frozen=True, slots=True)
class PreparedAlone:
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

    def rigidity(self) -> tuple[float, ...]:
        """Larger means more regularized; decides ties."""
        ...

    @classmethod
    def prepare(cls, sources: Sources, candidates: Sequence[Self]) -> Prepared[Self]:
        """Factor what all candidates share."""
        ...


F = TypeVar("F", bound=Family)


def fit_all(family: F, log: Rows, experiment: Rows) -> RewardFit:
    """Fit one family once, to every row."""
    with one_blas_thread():
        prepared = type(family).prepare(Sources(log, experiment), [family])
        return prepared.fit(family, np.arange(len(experiment)))


def require_positive(name: str, value: float) -> None:
    """Refuse a penalty that would leave the fit undefined."""
    if not (np.isfinite(value) and value > 0):
        raise UsageError(f"{name} must be a positive number, not {value!r}.")


def require_share(name: str, value: float) -> None:
    """Refuse a weight outside [0, 1]."""
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{name} must lie in [0, 1], not {value!r}.")
