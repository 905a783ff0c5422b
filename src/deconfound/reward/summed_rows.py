"""A log in memory beside a long experiment: fits from sums over its rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from deconfound.design import DenseMatrix, FeatureMatrix, FloatArray, Rows
from deconfound.linalg import FactoredSource, FactorizationLimits, Linear, factor_moments, ridge_of_moments
from deconfound.linalg.moments import Moments
from deconfound.reward.auto.component_kernels import KernelScale
from deconfound.reward.auto.linear_columns import LinearMoments
from deconfound.reward.auto.linear_sums import count_models, moments_of_rows
from deconfound.reward.log_source import LoggedRows

MAX_MODEL_COLUMNS = 20_000
"""Columns of single models, up to about 150 of them; sums of more with the text would need gigabytes."""


@dataclass(frozen=True, eq=False)
class SummedRows:
    """A log whose rows are known, and which enters fits through sums over them.

    Systems then have the size of the columns of phi. With several thousand rows in the experiment, those of the size of
    the rows take longer.
    """

    rows: Rows
    n_models: int
    scale: KernelScale

    @classmethod
    def beside(cls, experiment: Rows, log: Rows, scale: KernelScale | None = None) -> SummedRows:
        """The log, with columns for the models of both tables, by default on its own scale."""
        return cls(log, count_models(log, experiment), scale or KernelScale.from_log(log))

    @property
    def sample(self) -> Rows:
        """All rows."""
        return self.rows

    @property
    def total_weight(self) -> float:
        """Number of log rows."""
        return self.rows.total_weight

    @property
    def phi_columns(self) -> int:
        """Number of columns of phi."""
        return self.rows.phi.shape[1]

    @cached_property
    def moments(self) -> LinearMoments | None:
        """Sums over the columns of ``auto``; None with more than ``MAX_MODEL_COLUMNS`` of single models."""
        modifiers = 0 if self.rows.modifiers is None else self.rows.modifiers.shape[1]
        if self.n_models * (1 + modifiers) > MAX_MODEL_COLUMNS:
            return None
        mean = float(self.rows.normalized_weight @ self.rows.require_outcome())
        return moments_of_rows(self.rows, self.n_models, self.scale, mean)

    @cached_property
    def phi_moments(self) -> Moments:
        """Moments of phi and the outcome."""
        return LoggedRows(self.rows).phi_moments

    def residual_moments(self, baseline: Linear, /) -> Moments:
        """Moments of psi and of the outcome minus the clipped ``baseline``."""
        return LoggedRows(self.rows).residual_moments(baseline)

    def fit_ridge(self, penalty: float, limits: FactorizationLimits) -> Linear:  # noqa: ARG002
        """From the moments."""
        return ridge_of_moments(self.phi_moments, penalty)

    def factor_outcome(
        self, experiment: FeatureMatrix, min_penalty: float, limits: FactorizationLimits
    ) -> FactoredSource:
        """In the primal."""
        return factor_moments(self.phi_moments, experiment, min_penalty, limits)

    def factor_residual(
        self, baseline: Linear, experiment: FloatArray, min_penalty: float, limits: FactorizationLimits
    ) -> FactoredSource:
        """In the primal."""
        return factor_moments(self.residual_moments(baseline), DenseMatrix(experiment), min_penalty, limits)
