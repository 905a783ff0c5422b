"""The kernels behind ``auto``: text, proxies, model, model by context, and intercept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FeatureMatrix, FloatArray, Rows, usable_sd

TEXT, PROXIES, MODEL, BY_CONTEXT, INTERCEPT = range(5)  # the components, in the order of ``KernelRows.kernels``
ROWS_AT_ONCE = 1_024


@dataclass(frozen=True, slots=True)
class KernelScale:
    """Scales of the features for which every kernel has mean one on the diagonal over the log."""

    phi_square_norm: float  # mean over the log
    psi_mean: FloatArray  # (r,)
    psi_scale: FloatArray  # (r,) standard deviation times sqrt(r)

    @classmethod
    def from_log(cls, log: Rows) -> KernelScale:
        """Means over the log, rows weighted by the observations they represent."""
        squares = log.phi.squared_row_norms()
        phi_square_norm = max(float(log.normalized_weight @ squares), np.finfo(np.float64).tiny)
        psi = np.zeros((len(log), 0)) if log.psi is None else log.psi
        mean = log.normalized_weight @ psi
        sd = np.sqrt(log.normalized_weight @ (psi - mean) ** 2)
        usable = usable_sd(sd, np.abs(psi).max(axis=0, initial=0.0))  # one that is constant in the log has weight zero
        return cls(phi_square_norm, mean, usable * np.sqrt(max(psi.shape[1], 1)))

    def scale_psi(self, rows: Rows) -> FloatArray:
        """Proxies of rows (n, r), centered and scaled; no columns where there are none."""
        return np.zeros((len(rows), 0)) if rows.psi is None else (rows.psi - self.psi_mean) / self.psi_scale


@dataclass(frozen=True, slots=True)
class KernelRows:
    """Rows on a common scale, between which kernels are computed."""

    phi: FeatureMatrix
    psi: FloatArray  # (n, r), scaled
    model: FloatArray  # (n,) codes as numbers; NaN where unknown, so that unknown models never equal another
    modifiers: FloatArray  # (n, c), no columns where there are none
    phi_square_norm: float

    @classmethod
    def from_rows(cls, rows: Rows, scale: KernelScale) -> KernelRows:
        """Apply the scale of the log."""
        unknown = np.full(len(rows), np.nan)
        model = unknown if rows.model is None else np.where(rows.model < 0, np.nan, rows.model)
        modifiers = np.zeros((len(rows), 0)) if rows.modifiers is None else rows.modifiers
        return cls(rows.phi, scale.scale_psi(rows), model, modifiers, scale.phi_square_norm)

    def kernels(self, other: KernelRows) -> tuple[FloatArray, ...]:
        """The kernels (n, m) of text, proxies, model, model by context, and intercept."""
        text = self.phi.inner_products(other.phi)
        text /= self.phi_square_norm
        same_model = (self.model[:, None] == other.model).astype(np.float64)
        by_context = same_model * (self.modifiers @ other.modifiers.T)
        return text, self.psi @ other.psi.T, same_model, by_context, np.ones_like(same_model)

    def covariance(self, other: KernelRows, variances: FloatArray) -> FloatArray:
        """Sum of the kernels times their ``variances`` (5,), one kernel and a few rows of the others in memory."""
        text, proxies, model, by_context, intercept = variances
        total = self.phi.inner_products(other.phi)
        total *= text / self.phi_square_norm
        for start in range(0, len(total), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            total[rows] += proxies * (self.psi[rows] @ other.psi.T)
            total[rows] += intercept
            same_model = self.model[rows, None] == other.model
            if by_context > 0:
                total[rows] += same_model * (by_context * (self.modifiers[rows] @ other.modifiers.T) + model)
            elif model > 0:
                total[rows] += model * same_model
        return total
