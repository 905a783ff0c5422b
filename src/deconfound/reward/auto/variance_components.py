"""Learn from both sources how large each part of an outcome is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deconfound.design import Rows, stack
from deconfound.linalg import one_blas_thread
from deconfound.reward.auto.kernels import PARTS, Placed, Scale, VarianceComponents
from deconfound.reward.auto.marginal_likelihood import maximize_marginal_likelihood
from deconfound.reward.training_data import TrainingData

LEARNED_FROM = 300
"""Rows of each source that the sizes are learned from; a few hundred settle nine numbers."""

EXPECTED_REWARD, EXPECTED_BIAS = 1 / 3, 1 / 30
"""Where the search for a part's size starts, as a share of the outcome's variance."""

SPREAD = 3.0
"""Standard deviation of the prior over log(size): a part may be twenty times larger or smaller than expected."""

SMALLEST = 1e-6
"""Variance of constant outcomes, so that logarithms exist."""


def fit_variance_components(sources: TrainingData) -> VarianceComponents:
    """The likeliest sizes, from a sample of both sources."""
    log, experiment = subsample(sources.log, LEARNED_FROM), subsample(sources.experiment, LEARNED_FROM)
    scale = Scale.of(sources.log)
    both = _joined(log, experiment)
    kernels = Placed.of(both, scale).kernels(Placed.of(both, scale))
    logged = np.arange(len(both)) < len(log)
    among = np.outer(logged, logged).astype(np.float64)
    listed = [*kernels, *(kernel * among for kernel in kernels), np.diag(1.0 / both.weight_or_ones)]
    target = both.require_outcome() - level(sources)
    variance = max(float(target.var()), SMALLEST)
    shares = np.array([EXPECTED_REWARD] * 4 + [EXPECTED_BIAS] * 4 + [1.0])
    there = _there(sources, log)
    sizes = np.zeros(len(PARTS))
    used = [kernel for kernel, possible in zip(listed, there, strict=True) if possible]
    with one_blas_thread():
        sizes[there], _ = maximize_marginal_likelihood(used, target, variance * shares[there], SPREAD)
    return VarianceComponents.of(sizes)


def _there(sources: TrainingData, log: Rows) -> NDArray[np.bool_]:
    """Which parts these sources can have: none over proxies or models that are not known."""
    psi, model = log.psi is not None and log.psi.shape[1] > 0, log.model is not None
    modelled = sources.experiment.model is not None
    return np.array([True, psi, modelled, True, True, psi, model, True, True])


def subsample(rows: Rows, most: int) -> Rows:
    """All rows, or a sample of so many of them."""
    if len(rows) <= most:
        return rows
    return rows.take(np.sort(np.random.default_rng(most).choice(len(rows), most, replace=False)))


def level(sources: TrainingData) -> float:
    """Around which all parts vary: the mean outcome of the log."""
    return float(sources.log.normalized_weight @ sources.log.require_outcome())


def _joined(log: Rows, experiment: Rows) -> Rows:
    """Rows of both sources, the log's first."""
    both = (log, experiment)
    psi = None if log.psi is None or experiment.psi is None else np.vstack([log.psi, experiment.psi])
    unknown = [np.full(len(rows), -1 - at) if rows.model is None else rows.model for at, rows in enumerate(both)]
    return Rows(
        stack([rows.phi for rows in both]),
        psi,
        np.concatenate([rows.require_outcome() for rows in both]),
        np.concatenate(unknown),
        np.concatenate([rows.weight_or_ones for rows in both]),
    )
