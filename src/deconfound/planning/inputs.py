"""What a plan is computed from: the variances of an experiment row and a prior on the models' values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

import numpy as np
from scipy.special import chdtri

from deconfound.data.cross_table import MAX_MODELS
from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.value.mean_weights import MIN_ROWS_PER_MODEL

MIN_OUTCOME_SD, MAX_OUTCOME_SD = 1e-4, 0.5  # no outcome in [0, 1] has a larger standard deviation
MIN_BETWEEN_MODEL_SD = 0.01  # lower end of the prior on the sd between models: models are never exactly equal
MAX_BETWEEN_MODEL_SD = 0.5  # upper end, for values in [0, 1]
BETWEEN_MODEL_SD_POINTS = 50  # grid points between the two ends, over which the posterior is averaged
DEFAULT_BETWEEN_MODEL_SD = 0.1  # assumed unless given: a difference like 0.6 against 0.7 is typical
ASSUMED_VARIANCE_FACTOR = 1.5  # uncertainty of assumed variances: they may be this many times larger or smaller
MIN_TOTAL_DF = 10  # degrees of freedom over all models; with fewer the variance interval spans a factor above three
MIN_PILOT_ROWS = 10  # per model; with fewer a model's variance is uncertain by a factor of two
COVERAGE = 0.8  # probability with which the variance of a row lies in the reported interval

InputSource: TypeAlias = Literal["pilot", "log", "assumed"]


@dataclass(frozen=True, slots=True)
class ValuePrior:
    """Normal distribution of the models' true values, before the planned experiment."""

    mean: FloatArray  # (k,)
    covariance: FloatArray  # (k, k)


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """Variances of one experiment row and a prior on the models' values, whatever they were estimated from.

    With n rows, n_a of them for model a, and further replayed contexts, the value of model a has the variance

        residual_variance_a / n_a + context_covariance_aa / (n + extra_contexts)

    if the reward is used, and ``outcome_variance_a / n_a`` if it is not. Rows of one user, and unequal weights, carry
    less information than as many independent rows: ``outcome_variance`` and ``residual_variance`` include that.
    """

    models: tuple[str, ...]
    within_model_variance: FloatArray  # (k,) of a single outcome
    outcome_variance: FloatArray  # (k,) of a mean outcome, times its rows: within_model_variance * design effect
    residual_variance: FloatArray  # (k,) the same of what the reward leaves unexplained
    context_covariance: (
        FloatArray  # (k, k) of the weighted reward over contexts; diagonal includes the residual's share
    )
    df_per_row: FloatArray  # (k,) for each row beyond the first: below 1 where rows share users or contexts
    prior: ValuePrior
    variance_factor_interval: tuple[float, float]  # all variances may be this many times as large
    source: InputSource
    source_name: str = ""  # file or table that the variances come from
    rows_per_model: tuple[int, ...] = ()  # rows behind the variances; empty for assumed inputs
    pilot_rows: int = 0  # randomized rows that already exist

    @property
    def reward_helps(self) -> bool:
        """Whether the reward lowers the variance of a row."""
        return bool((self.residual_variance < self.outcome_variance).any())

    @property
    def possible_mean(self) -> FloatArray:
        """Prior means (k,), moved toward one half as far as ``within_model_variance`` demands.

        An outcome in [0, 1] with mean m has a variance of at most m (1 - m).
        """
        largest = 0.5 + np.sqrt(np.maximum(MAX_OUTCOME_SD**2 - self.within_model_variance, 0.0))
        return np.asarray(np.clip(self.prior.mean, 1 - largest, largest))

    @property
    def design_effect(self) -> float:
        """Factor on the required rows because users repeat or weights are unequal; 1 for independent rows."""
        return float(self.outcome_variance.mean() / self.within_model_variance.mean())

    @property
    def sparse_models(self) -> tuple[str, ...]:
        """Models with too few rows for a variance of their own, so that it rests on the other models."""
        minimum = MIN_PILOT_ROWS if self.source == "pilot" else MIN_ROWS_PER_MODEL
        counts = zip(self.models, self.rows_per_model, strict=False)  # assumed inputs have no counts
        return tuple(name for name, rows in counts if rows < minimum)

    def scaled(self, factor: float) -> Self:
        """The same inputs with every row variance multiplied by ``factor``."""
        return replace(
            self,
            within_model_variance=factor * self.within_model_variance,
            outcome_variance=factor * self.outcome_variance,
            residual_variance=factor * self.residual_variance,
            context_covariance=factor * self.context_covariance,
        )


@dataclass(frozen=True, slots=True)
class AssumedInputs:
    """Assumptions to plan with when there is no data: models differ in their values only.

    ``outcome_sd`` is the standard deviation of outcomes within a model, ``reward_r2`` the share of its square that a
    reward will explain, ``model_sd`` the standard deviation of the values between models.
    """

    models: int
    outcome_sd: float
    reward_r2: float = 0.0
    model_sd: float = DEFAULT_BETWEEN_MODEL_SD

    def __post_init__(self) -> None:
        if self.models < 2:
            raise UsageError(f"--models must be at least 2, not {self.models}: a comparison needs two models.")
        if self.models > MAX_MODELS:
            raise UsageError(f"--models must be at most {MAX_MODELS:,}, not {self.models:,}.")
        if not MIN_OUTCOME_SD <= self.outcome_sd <= MAX_OUTCOME_SD:
            raise UsageError(
                f"--outcome-sd must be from {MIN_OUTCOME_SD:g} to {MAX_OUTCOME_SD}, the largest that outcomes in "
                f"[0, 1] can have, not {self.outcome_sd:g}. Yes/no outcomes with 80 % successes have 0.4."
            )
        if not 0.0 <= self.reward_r2 < 1.0:
            raise UsageError(f"--reward-r2 must be at least 0 and below 1, not {self.reward_r2:g}.")
        if not 0.0 < self.model_sd <= MAX_BETWEEN_MODEL_SD:
            raise UsageError(f"--model-sd must be above 0 and at most {MAX_BETWEEN_MODEL_SD}, not {self.model_sd:g}.")

    def to_plan_inputs(self) -> PlanInputs:
        """Values around one half, independent rewards."""
        ones, variance = np.ones(self.models), self.outcome_sd**2
        largest_factor = (MAX_OUTCOME_SD / self.outcome_sd) ** 2
        return PlanInputs(
            models=tuple(f"model {i + 1}" for i in range(self.models)),
            within_model_variance=variance * ones,
            outcome_variance=variance * ones,
            residual_variance=variance * (1 - self.reward_r2) * ones,
            context_covariance=np.diag(variance * self.reward_r2 * ones),
            df_per_row=ones,
            prior=ValuePrior(0.5 * ones, np.diag(self.model_sd**2 * ones)),
            variance_factor_interval=(1 / ASSUMED_VARIANCE_FACTOR, min(ASSUMED_VARIANCE_FACTOR, largest_factor)),
            source="assumed",
        )


def variance_factor_interval(df: float, variance: float) -> tuple[float, float]:
    """Interval of true over estimated variance by the chi-square distribution.

    The upper end is limited to the largest variance that outcomes in [0, 1] can have.
    """
    tail = (1 - COVERAGE) / 2
    low, high = (df / float(chdtri(df, p)) for p in (tail, 1 - tail))
    return low, max(min(high, MAX_OUTCOME_SD**2 / variance), 1.0)


def posterior_values(estimate: FloatArray, covariance: FloatArray) -> ValuePrior:
    """Shrink estimates toward their mean by the share of their variance that is sampling error.

        value ~ Normal(common mean, tau^2),   estimate ~ Normal(value, covariance)

    tau has a uniform prior between ``MIN_BETWEEN_MODEL_SD`` and ``MAX_BETWEEN_MODEL_SD``, the common mean a flat one,
    and both are integrated out: the most likely tau alone would be far too certain about models that happen to have
    similar estimates. A model without an estimate gets the distribution of a new model.
    """
    estimated = np.flatnonzero(np.isfinite(np.diag(covariance)) & np.isfinite(estimate))
    if len(estimated) == 0:
        return ValuePrior(np.full(len(estimate), 0.5), MAX_BETWEEN_MODEL_SD**2 * np.eye(len(estimate)))
    grid = np.linspace(MIN_BETWEEN_MODEL_SD, MAX_BETWEEN_MODEL_SD, BETWEEN_MODEL_SD_POINTS)
    posteriors = [posterior_given_sd(tau, estimate, covariance, estimated) for tau in grid]
    log_likelihood = np.array([one for _, _, one in posteriors])
    likelihood = np.exp(log_likelihood - log_likelihood.max())
    weight = likelihood / likelihood.sum()
    mean = sum((w * m for w, (m, _, _) in zip(weight, posteriors, strict=True)), np.zeros(len(estimate)))
    total = np.zeros_like(covariance)
    for w, (m, c, _) in zip(weight, posteriors, strict=True):
        total += w * (c + np.outer(m - mean, m - mean))
    return ValuePrior(np.clip(mean, 0.0, 1.0), total)


def posterior_given_sd(
    tau: float, estimate: FloatArray, covariance: FloatArray, estimated: IntArray
) -> tuple[FloatArray, FloatArray, float]:
    """Posterior mean (k,) and covariance (k, k) of the values at one tau, and the log likelihood of that tau.

    ``estimated`` are the indices of the models that have an estimate.
    """
    count = len(estimate)
    block = np.ix_(estimated, estimated)
    marginal = tau**2 * np.eye(len(estimated)) + covariance[block]
    precision = np.linalg.inv(marginal)
    total_precision = float(precision.sum())
    center = float(precision.sum(axis=0) @ estimate[estimated]) / total_precision
    deviation = estimate[estimated] - center
    shrinkage = np.zeros((count, len(estimated)))  # weight of each estimate's deviation in each value
    shrinkage[estimated] = tau**2 * precision
    mean = center + shrinkage @ deviation
    mean_weight = 1 - shrinkage.sum(axis=1)  # weight of the common mean, which is itself uncertain
    within = tau**2 * np.eye(count)
    within[block] -= tau**2 * shrinkage[estimated]
    log_likelihood = -0.5 * (
        float(np.linalg.slogdet(marginal)[1]) + np.log(total_precision) + float(deviation @ precision @ deviation)
    )
    return mean, within + np.outer(mean_weight, mean_weight) / total_precision, log_likelihood
