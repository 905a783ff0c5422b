"""A log as the families use it: its rows, or sums over the rows of a log that is too long for memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from deconfound.design import DenseMatrix, FeatureMatrix, FloatArray, Rows
from deconfound.linalg import FactoredSource, FactorizationLimits, Linear, factor, ridge
from deconfound.linalg.moments import Moments
from deconfound.reward.auto.linear_columns import LinearMoments
from deconfound.reward.fit import clip


class LogSource(Protocol):
    """What a family may ask of a log."""

    @property
    def rows(self) -> Rows | None:
        """The log's distinct rows; None where only sums are known."""
        ...

    @property
    def sample(self) -> Rows:
        """The same rows, or a uniform sample where only sums over all of them are known."""
        ...

    @property
    def moments(self) -> LinearMoments | None:
        """Sums over the columns of ``auto``; None where kernels between rows are used instead."""
        ...

    @property
    def total_weight(self) -> float:
        """Number of log rows."""
        ...

    @property
    def phi_columns(self) -> int:
        """Number of columns of phi."""
        ...

    @property
    def phi_moments(self) -> Moments:
        """Moments of phi and the outcome."""
        ...

    def residual_moments(self, baseline: Linear, /) -> Moments:
        """Moments of psi and of the outcome minus the clipped ``baseline``."""
        ...

    def fit_ridge(self, penalty: float, limits: FactorizationLimits) -> Linear:
        """Minimize the sum of squares of outcomes over phi + penalty * w'w."""
        ...

    def factor_outcome(
        self, experiment: FeatureMatrix, min_penalty: float, limits: FactorizationLimits
    ) -> FactoredSource:
        """Factor phi for outcomes, to be pooled with the experiment's phi."""
        ...

    def factor_residual(
        self, baseline: Linear, experiment: FloatArray, min_penalty: float, limits: FactorizationLimits
    ) -> FactoredSource:
        """Factor psi for outcomes minus the clipped ``baseline``, to be pooled with the experiment's psi."""
        ...


@dataclass(frozen=True, slots=True)
class LoggedRows:
    """A log in memory; equal rows are merged into one weighted row."""

    rows: Rows

    @property
    def sample(self) -> Rows:
        """All of them."""
        return self.rows

    @property
    def moments(self) -> None:
        """Kernels between rows are used instead."""

    @property
    def total_weight(self) -> float:
        """Number of log rows."""
        return self.rows.total_weight

    @property
    def phi_columns(self) -> int:
        """Number of columns of phi."""
        return self.rows.phi.shape[1]

    @property
    def phi_moments(self) -> Moments:
        """Moments of phi and the outcome; only for few columns."""
        return Moments.estimate(self.rows.phi, self.rows.require_outcome()[:, None], self.rows.weight_or_ones)

    def residual_moments(self, baseline: Linear, /) -> Moments:
        """Moments of psi and of the outcome minus the clipped ``baseline``."""
        residual = self.rows.require_outcome() - clip(baseline(self.rows.phi))
        return Moments.estimate(DenseMatrix(self.rows.require_psi()), residual[:, None], self.rows.weight_or_ones)

    def fit_ridge(self, penalty: float, limits: FactorizationLimits) -> Linear:
        """In the dual or the primal, whichever is smaller."""
        return ridge(self.rows.phi, self.rows.require_outcome(), penalty, self.rows.weight, limits)

    def factor_outcome(
        self, experiment: FeatureMatrix, min_penalty: float, limits: FactorizationLimits
    ) -> FactoredSource:
        """One factorization of the rows."""
        target = self.rows.require_outcome()[:, None]
        return factor(self.rows.phi, target, self.rows.normalized_weight, experiment, min_penalty, limits)

    def factor_residual(
        self, baseline: Linear, experiment: FloatArray, min_penalty: float, limits: FactorizationLimits
    ) -> FactoredSource:
        """One factorization of the rows."""
        residual = self.rows.require_outcome() - clip(baseline(self.rows.phi))
        psi, weight = DenseMatrix(self.rows.require_psi()), self.rows.normalized_weight
        return factor(psi, residual[:, None], weight, DenseMatrix(experiment), min_penalty, limits)
