"""How much each component contributes to the variance of outcomes, estimated from both sources."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray, Rows, stack, without_agreeing_repeats
from deconfound.errors import UsageError
from deconfound.progress import Progress, no_progress, prefixed
from deconfound.reward.auto.component_kernels import BY_CONTEXT, KernelRows, KernelScale
from deconfound.reward.auto.marginal_likelihood import maximize_marginal_likelihood
from deconfound.reward.hyperparameters import require_positive
from deconfound.reward.training_data import TrainingData
from deconfound.threads import one_blas_thread

ROWS_PER_SOURCE = 300
"""Rows of each source used to estimate the variances; a few hundred are enough for twelve numbers."""

PRIOR_REWARD_SHARE, PRIOR_BIAS_SHARE = 1 / 3, 1 / 30
"""Prior median of a component's variance, as a share of the outcome's variance; the search starts there."""

PRIOR_BY_CONTEXT_SHARE = 1 / 1000
"""The same for the parts of reward and bias that depend on model and context together; most studies have none."""

PRIOR_LOG_SD = 3.0
"""Prior standard deviation of log(variance): one standard deviation is a factor of 20."""

MULTIPLE_RTOL = 1e-9
"""Relative difference of two sets of features that counts as rounding."""

MIN_VARIANCE = 1e-6
"""Variance assumed for constant outcomes, so that its logarithm is finite."""


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Variances of the components whose sum is an outcome.

    An outcome is reward + noise in the experiment and reward + bias + noise in the log. Reward and bias each have a
    component linear in the text (phi), one linear in the proxies (psi), one per model, one per model that is linear in
    the effect modifiers (by context), and an intercept. Each variance is that of its component on an average row of the
    log. The log may lack which model suits which context: ``unshared_model_by_context`` is the variance of a part of
    the reward that only the experiment shows.
    """

    reward_text: float
    reward_proxies: float
    reward_model: float
    reward_model_by_context: float
    reward_intercept: float
    bias_text: float
    bias_proxies: float
    bias_model: float
    bias_model_by_context: float
    bias_intercept: float
    noise: float
    unshared_model_by_context: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            variance = getattr(self, field.name)
            if not (np.isfinite(variance) and variance >= 0):
                raise UsageError(f"{field.name} must be a variance, zero or more, not {variance!r}.")
        require_positive("noise", self.noise)

    @property
    def reward(self) -> FloatArray:
        """Variances of the reward's components that the log shares (5,), in the order of ``KernelRows.kernels``."""
        by_model = (self.reward_model, self.reward_model_by_context)
        return np.array([self.reward_text, self.reward_proxies, *by_model, self.reward_intercept])

    @property
    def unshared(self) -> FloatArray:
        """Variances of the reward's components that only the experiment shows (5,), in the same order."""
        return np.array([0.0, 0.0, 0.0, self.unshared_model_by_context, 0.0])

    @property
    def bias(self) -> FloatArray:
        """Variances of the log bias's components (5,), in the same order."""
        by_model = (self.bias_model, self.bias_model_by_context)
        return np.array([self.bias_text, self.bias_proxies, *by_model, self.bias_intercept])

    @property
    def has_model_by_context(self) -> bool:
        """Whether the reward depends on model and context together."""
        return self.reward_model_by_context > 0 or self.unshared_model_by_context > 0

    @classmethod
    def from_array(cls, variances: FloatArray) -> VarianceComponents:
        """From all variances (12,), in the order of the fields."""
        return cls(*(float(variance) for variance in variances))


def fit_variance_components(data: TrainingData, progress: Progress = no_progress) -> VarianceComponents:
    """Maximum a posteriori variances, from a sample of both sources.

    Components that these sources cannot have, such as proxies where psi is missing, get variance zero.
    """
    log = subsample(data.log_rows, ROWS_PER_SOURCE)
    experiment = subsample(without_agreeing_repeats(data.experiment), ROWS_PER_SOURCE)
    both = _stack_sources(log, experiment)
    rows = KernelRows.from_rows(both, KernelScale.from_log(data.log_rows))
    reward_kernels = rows.kernels(rows)
    from_log = np.arange(len(both)) < len(log)
    both_from_log, both_from_experiment = (np.outer(of, of).astype(np.float64) for of in (from_log, ~from_log))
    bias_kernels = (kernel * both_from_log for kernel in reward_kernels)
    unshared_kernel = reward_kernels[BY_CONTEXT] * both_from_experiment
    kernels = [*reward_kernels, *bias_kernels, np.diag(1.0 / both.weight_or_ones), unshared_kernel]
    target = both.require_outcome() - prior_mean(data)
    start = prior_variances(float(target.var()))
    present = _identifiable(data)
    used = [kernel for kernel, is_present in zip(kernels, present, strict=True) if is_present]
    variances = np.zeros(len(start))
    steps = prefixed(progress, "estimating variances, ")
    with one_blas_thread():
        variances[present] = maximize_marginal_likelihood(used, target, start[present], PRIOR_LOG_SD, steps)
    return VarianceComponents.from_array(variances)


def prior_variances(outcome_variance: float) -> FloatArray:
    """Prior medians of all variances (12,), at which the search starts."""
    reward, bias = _prior_shares(PRIOR_REWARD_SHARE), _prior_shares(PRIOR_BIAS_SHARE)
    shares = np.array([*reward, *bias, 1.0, PRIOR_BY_CONTEXT_SHARE])
    return max(outcome_variance, MIN_VARIANCE) * shares


def _prior_shares(share: float) -> tuple[float, ...]:
    return share, share, share, PRIOR_BY_CONTEXT_SHARE, share


def prior_mean(data: TrainingData) -> float:
    """The mean around which all components vary: that of the log's outcomes."""
    return float(data.log_rows.normalized_weight @ data.log_rows.require_outcome())


def subsample(rows: Rows, max_rows: int | None) -> Rows:
    """All rows, or a random sample of ``max_rows`` in their order; the same sample every time."""
    if max_rows is None or len(rows) <= max_rows:
        return rows
    return rows.take(np.sort(np.random.default_rng(max_rows).choice(len(rows), max_rows, replace=False)))


def _identifiable(data: TrainingData) -> NDArray[np.bool_]:
    """Which components these sources can have (12,): none over proxies, models or modifiers that are missing.

    Without text and labels, the proxies are the columns of phi again, and have no component of their own.
    """
    log, experiment = data.log_rows, data.experiment
    psi = log.psi is not None and log.psi.shape[1] > 0 and not _is_multiple(log.psi, log)
    modifiers = log.modifiers is not None and experiment.modifiers is not None
    log_model, model = log.model is not None, experiment.model is not None
    return present_components(psi=psi, model=model, log_model=log_model, modifiers=modifiers)


def present_components(*, psi: bool, model: bool, log_model: bool, modifiers: bool) -> NDArray[np.bool_]:
    """Which of the twelve variances can be estimated, by what the sources have; text and intercept always can."""
    reward = (True, psi, model, model and modifiers, True)
    bias = (True, psi, log_model, log_model and modifiers, True)
    return np.array([*reward, *bias, True, model and log_model and modifiers])


def _is_multiple(psi: FloatArray, rows: Rows) -> bool:
    """Whether phi is psi times a number, by their products with one random vector."""
    if rows.phi.shape[1] != psi.shape[1]:
        return False
    direction = np.random.default_rng(0).standard_normal((psi.shape[1], 1))
    by_phi, by_psi = np.asarray(rows.phi @ direction).ravel(), (psi @ direction).ravel()
    factor = float(by_phi @ by_psi) / max(float(by_psi @ by_psi), np.finfo(np.float64).tiny)
    return bool(np.allclose(by_phi, factor * by_psi, rtol=0.0, atol=MULTIPLE_RTOL * np.abs(by_phi).max(initial=0.0)))


def _stack_sources(log: Rows, experiment: Rows) -> Rows:
    """Rows of both sources, the log's first."""
    both = (log, experiment)
    psi = None if log.psi is None or experiment.psi is None else np.vstack([log.psi, experiment.psi])
    modifiers = None
    if log.modifiers is not None and experiment.modifiers is not None:
        modifiers = np.vstack([log.modifiers, experiment.modifiers])
    model = [np.full(len(rows), -1) if rows.model is None else rows.model for rows in both]
    return Rows(
        stack([rows.phi for rows in both]),
        psi,
        np.concatenate([rows.require_outcome() for rows in both]),
        np.concatenate(model),
        np.concatenate([rows.weight_or_ones for rows in both]),
        modifiers=modifiers,
    )
