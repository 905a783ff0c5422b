"""How much each source and each kind of feature contributes to the estimated differences between models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, ReplayRows
from deconfound.reward.auto.variance_components import VarianceComponents
from deconfound.reward.fit import RewardFit

SOURCES = ("log", "experiment")
FEATURE_VIEWS = ("text", "proxies", "model", "model by context")


@dataclass(frozen=True, slots=True)
class Attribution:
    """Shares of sources and feature views in the differences between models on the same context.

    Let D be the reward minus its mean over the models of each context, and D_ij the part of it that comes from source
    i through view j. Then ``shares[i, j]`` = <D_ij, D> / <D, D>. The shares sum to one; negative ones offset others.
    ``exp-only`` is text from the experiment alone, ``obs-only`` text from the log alone, ``representation-exp`` proxies
    from the experiment alone; other families mix these.
    """

    shares: FloatArray  # (sources, views)
    bootstrap_sd: FloatArray  # (sources, views) over resampled experiments; NaN with fewer than two
    variance_components: VarianceComponents

    @property
    def log_bias_sd(self) -> float:
        """Standard deviation of the log's bias between models, in outcome units."""
        variances = self.variance_components
        by_model = variances.bias_model + variances.bias_model_by_context
        return float(np.sqrt(by_model + variances.bias_proxies + variances.bias_text))


def attribute(
    fits_by_source: Iterable[tuple[RewardFit, RewardFit]], replay: ReplayRows, variance_components: VarianceComponents
) -> Attribution:
    """Shares of the first fit, and their standard deviation over the others, which are bootstrap refits.

    Each fit is given as its summands from the log and from the experiment, without clipping.
    """
    shares, *refitted = (_shares(by_source, replay) for by_source in fits_by_source)
    bootstrap_sd = np.std(refitted, axis=0, ddof=1) if len(refitted) > 1 else np.full_like(shares, np.nan)
    return Attribution(shares, np.asarray(bootstrap_sd), variance_components)


def _shares(by_source: tuple[RewardFit, RewardFit], replay: ReplayRows) -> FloatArray:
    parts = np.array([[_center_within_context(q) for q in _q_by_view(fit, replay)] for fit in by_source])
    total = parts.sum(axis=(0, 1))
    variance = float(np.vdot(total, total))
    if variance == 0:
        return np.zeros(parts.shape[:2])
    return np.asarray(np.tensordot(parts, total, axes=([2, 3], [0, 1])) / variance)


def _q_by_view(fit: RewardFit, replay: ReplayRows) -> tuple[FloatArray, ...]:
    """The summands of q (contexts, models), one per view."""
    rows = replay.distinct
    zeros = np.zeros((replay.n_contexts, replay.n_models))
    text = zeros if fit.phi_coef is None else replay.mean_over_draws(np.asarray(rows.phi @ fit.phi_coef))
    proxies = zeros if fit.psi_coef is None else replay.mean_over_draws(rows.require_psi() @ fit.psi_coef)
    model = zeros.copy()
    if fit.model_effect is not None:
        fitted = min(replay.n_models, len(fit.model_effect))
        model[:, :fitted] = fit.model_effect[:fitted]
    return text, proxies, model, _by_context(fit, replay)


def _by_context(fit: RewardFit, replay: ReplayRows) -> FloatArray:
    if fit.modifier_coef is None or replay.distinct.modifiers is None:
        return np.zeros((replay.n_contexts, replay.n_models))
    fitted = replay.model < len(fit.modifier_coef)
    coef = fit.modifier_coef[np.where(fitted, replay.model, 0)]
    effect = np.einsum("ij,ij->i", replay.distinct.modifiers[replay.row_index], coef)
    return replay.mean_by_cell(np.where(fitted, effect, 0.0))


def _center_within_context(q: FloatArray) -> FloatArray:
    return np.asarray(q - q.mean(axis=1, keepdims=True))
