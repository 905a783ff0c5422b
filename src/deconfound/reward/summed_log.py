"""A log of any length as the families use it: fits from sums over its rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deconfound.design import DenseMatrix, FeatureMatrix, FloatArray, IntArray, Rows, usable_sd
from deconfound.linalg import FactoredSource, FactorizationLimits, Linear, factor_moments, ridge_of_moments
from deconfound.linalg.arrowhead import Arrowhead
from deconfound.linalg.log_sums import LogSums, ModelSums
from deconfound.linalg.moments import Moments
from deconfound.reward.auto.component_kernels import KernelScale
from deconfound.reward.auto.linear_columns import LinearColumns, LinearMoments
from deconfound.reward.fit import clip

ROUNDING_OF_SUMS = 1e-6
"""As ``ROUNDING`` of a standard deviation, where it is the root of a difference of two sums."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureMaps:
    """How phi, psi and modifiers follow from the summed columns x = [text, dense].

    phi = scale * x[at],    psi = [x, 1] @ psi_coef,    effect modifiers = modifier_weight * summed modifiers
    """

    phi_at: IntArray  # (d,)
    phi_scale: FloatArray  # (d,)
    psi_coef: FloatArray  # (text + dense + 1, r)
    modifier_weight: FloatArray  # (c,)
    psi_repeats_phi: bool  # psi is phi on another scale, and has no component of its own


@dataclass(frozen=True, eq=False)
class SummedLog:
    """Sums over a log's rows, and the maps from the summed columns to features.

    Where sums do not suffice, as for residuals of a clipped baseline, a uniform sample of the rows is used.
    """

    sums: LogSums
    models: tuple[str, ...]  # in the order of their codes
    maps: FeatureMaps
    sample: Rows  # with phi and psi by the same maps
    whole: SummedLog | None = None  # the log that this is a part of, if it is, and whose scale it has

    @property
    def rows(self) -> None:
        """There are too many."""

    @property
    def total_weight(self) -> float:
        """Number of log rows."""
        return self.sums.rows

    @property
    def phi_columns(self) -> int:
        """Number of columns of phi."""
        return len(self.maps.phi_at)

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
        """In the primal, from the residuals of the sample."""
        return factor_moments(self.residual_moments(baseline), DenseMatrix(experiment), min_penalty, limits)

    def residual_moments(self, baseline: Linear, /) -> Moments:
        """Moments of psi and of the outcome minus the clipped ``baseline``, over the sample."""
        sample, psi = self.sample, DenseMatrix(self.sample.require_psi())
        residual = sample.require_outcome() - clip(baseline(sample.phi))
        return Moments.estimate(psi, residual[:, None], sample.weight_or_ones)

    @cached_property
    def phi_moments(self) -> Moments:
        """Moments of phi and the outcome."""
        at, scale, one, weight = self.maps.phi_at, self.maps.phi_scale, self._one, self.sums.rows
        gram = self._gram
        mean, target_mean = scale * gram[at, one] / weight, gram[one, one + 1] / weight
        covariance = gram[np.ix_(at, at)]
        covariance *= scale[:, None] / weight
        covariance *= scale
        covariance -= np.outer(mean, mean)
        cross = scale * gram[at, one + 1] / weight - mean * target_mean
        return Moments(weight, mean, np.array([target_mean]), covariance, cross[:, None])

    @cached_property
    def moments(self) -> LinearMoments:
        """Sums over the columns of ``auto``: phi, psi and intercept, and those of each model."""
        weight, one = self.sums.rows, self._one
        mean = float(self._gram[one, one + 1] / weight)
        scale = self._own_scale() if self.whole is None else self.whole.moments.scale
        psi = self.maps.psi_coef / scale.psi_scale  # from [x, 1] to scaled psi (text + dense + 1, r)
        psi[one] -= scale.psi_mean / scale.psi_scale
        columns = LinearColumns(self.phi_columns, psi.shape[1], len(self.models), len(self.maps.modifier_weight))
        gram, products = self._gram[: one + 1, : one + 1], self._gram[: one + 1, one + 1]
        blocks = [self._of_model(name, psi, mean) for name in self.models]
        shared = self._to_auto(self._to_auto(gram, psi).T, psi)
        cross = self._to_auto((products - mean * gram[:, one])[:, None], psi)[:, 0]
        return LinearMoments(
            columns,
            Arrowhead(shared, np.stack([b.border for b in blocks]), np.stack([b.corner for b in blocks])),
            np.concatenate([cross, *(b.cross for b in blocks)]),
            max(float(self._gram[one + 1, one + 1] - weight * mean**2), 0.0),
            weight,
            mean,
            scale,
            psi_repeats_phi=self.maps.psi_repeats_phi,
        )

    def _own_scale(self) -> KernelScale:
        """As ``KernelScale.from_log`` has it."""
        at, weight, one = self.maps.phi_at, self.sums.rows, self._one
        square_norm = float((self.maps.phi_scale**2 * np.diag(self._gram)[at]).sum() / weight)
        psi = self.maps.psi_coef
        gram = self._gram[: one + 1, : one + 1]
        mean = psi.T @ gram[:, one] / weight
        variance = np.einsum("ij,ij->j", psi, gram @ psi) / weight - mean**2
        sd = np.sqrt(np.maximum(variance, 0.0))
        length = usable_sd(sd, np.abs(mean) + sd, ROUNDING_OF_SUMS) * np.sqrt(max(len(sd), 1))
        return KernelScale(max(square_norm, np.finfo(np.float64).tiny), mean, length)

    def _to_auto(self, sums: FloatArray, psi: FloatArray) -> FloatArray:
        """Sums with [x, 1] (text + dense + 1, m) -> sums with [phi, scaled psi, 1]."""
        phi = self.maps.phi_scale[:, None] * sums[self.maps.phi_at]
        return np.concatenate([phi, psi.T @ sums, sums[self._one :]])

    def _of_model(self, name: str, psi: FloatArray, mean: float) -> _ModelBlock:
        sums = self.sums.models.get(name) or ModelSums.zero(self.sums.layout)
        own, dense = np.append(1.0, self.maps.modifier_weight), self.sums.layout.dense
        border = np.concatenate([sums.text, sums.shared[: dense + 1]])
        cross = sums.shared[dense + 1] - mean * sums.shared[dense]
        return _ModelBlock(self._to_auto(border, psi) * own, own[:, None] * sums.modifiers * own, own * cross)

    @cached_property
    def _gram(self) -> FloatArray:
        return self.sums.gram()

    @property
    def _one(self) -> int:
        """The number of the column of ones."""
        return self.sums.layout.text + self.sums.layout.dense


@dataclass(frozen=True, slots=True, eq=False)
class _ModelBlock:
    """The columns of one model: sums with the shared columns, among themselves, and with outcomes."""

    border: FloatArray  # (shared, 1 + c)
    corner: FloatArray  # (1 + c, 1 + c)
    cross: FloatArray  # (1 + c,)
