"""What an automatic answer is made of, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.features.study_arrays import ReplayArrays
from deconfound.reward import PreparedAuto, RewardFit, VarianceComponents

SOURCES = ("log", "experiment")
FEATURE_VIEWS = ("text", "proxies", "model")
NEGLIGIBLE_LOG_BIAS = 0.03
"""A bias of the log, in outcome units, that hardly changes an answer."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """How far each source and each view of an output decides between models.

    ``shares[i, j]`` is source i's part in the differences between models on one context as view j sees them: the
    covariance of that part with the whole over the variance of the whole. They sum to one; a negative one holds
    the others back. ``spread`` is their standard deviation over resampled experiments. Text from the experiment
    alone is the family ``exp-only``, text from the log alone ``obs-only``, proxies from the experiment alone
    ``representation-exp``; the others mix these.
    """

    shares: FloatArray  # (sources, views)
    spread: FloatArray  # (sources, views)
    parts: VarianceComponents

    @property
    def log(self) -> float:
        """The log's part in all."""
        return float(self.shares[0].sum())

    @property
    def log_bias(self) -> float:
        """Typical bias of the log between models, in outcome units."""
        return float(np.sqrt(self.parts.bias_model + self.parts.bias_proxies + self.parts.bias_text))

    @property
    def reason(self) -> str:
        """Why the log got as much as it got, in one sentence."""
        size, parts = f"about {self.log_bias:.2f}", self.parts
        if self.log_bias < NEGLIGIBLE_LOG_BIAS:
            return f"Where both speak, log and experiment agree (the log's bias is {size}), so the log is pooled."
        if parts.bias_model > parts.bias_proxies + parts.bias_text:
            return (
                f"The log's bias ({size}) goes with the model that was used: the log's averages per model are held "
                "back, what it teaches about outputs is kept."
            )
        return (
            f"The log's bias ({size}) goes with what the outputs are like: the log counts for less, the experiment "
            "for more."
        )


def attribute(
    prepared: PreparedAuto, cells: ReplayArrays, surface_share: float, samples: Sequence[IntArray]
) -> Attribution:
    """Shares of the fit to all experiment rows, and their spread over resampled ones."""
    everything = np.arange(len(prepared.experiment))
    first, *others = (_shares(prepared.shares(train), cells, surface_share) for train in (everything, *samples))
    spread = np.std(others, axis=0, ddof=1) if len(others) > 1 else np.full_like(first, np.nan)
    return Attribution(first, np.asarray(spread), prepared.parts)


def _shares(pair: tuple[RewardFit, RewardFit], cells: ReplayArrays, surface_share: float) -> FloatArray:
    split = np.array([[_leads(part) for part in _views(fit, cells, surface_share)] for fit in pair])
    whole = split.sum(axis=(0, 1))
    variance = float(np.vdot(whole, whole))
    if variance == 0:
        return np.zeros(split.shape[:2])
    return np.asarray(np.tensordot(split, whole, axes=([2, 3], [0, 1])) / variance)


def _views(fit: RewardFit, cells: ReplayArrays, surface_share: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The reward on every cell as text, proxies and the model alone see it."""
    rows = cells.rows(surface_share)
    nothing = np.zeros((len(cells.contexts), cells.models))
    text = nothing if fit.phi_coef is None else cells.average(np.asarray(rows.phi @ fit.phi_coef))
    proxies = nothing if fit.psi_coef is None else cells.average(rows.require_psi() @ fit.psi_coef)
    effect = nothing.copy()
    if fit.model_effect is not None:
        known = min(cells.models, len(fit.model_effect))
        effect[:, :known] = fit.model_effect[:known]
    return text, proxies, effect


def _leads(q: FloatArray) -> FloatArray:
    """What tells models apart: the reward less its mean over the models of each context."""
    return np.asarray(q - q.mean(axis=1, keepdims=True))
