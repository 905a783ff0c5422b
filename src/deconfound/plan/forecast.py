"""Project what an experiment of a given size will give: interval widths, the selected model, its regret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.linalg import one_blas_thread
from deconfound.plan.inputs import PlanInputs
from deconfound.value.control_variate import own_weight_share
from deconfound.value.estimators import welch_satterthwaite_df
from deconfound.value.multiple_comparisons import t_quantile_at_z, two_sided_z
from deconfound.value.small_sample import MIN_ROWS_PER_MODEL, ROUNDING_ATOL, moderated_df, prior_df

SIMULATIONS = 10_000  # a probability then has a standard error of half a percentage point
SEED = 20_240_301  # the same draws for every number of rows, so that curves are smooth
QUADRATURE_POINTS = 41  # equally likely positions of an estimate at which its interval is clipped to [0, 1]

GoalKind: TypeAlias = Literal["width", "best", "regret"]


@dataclass(frozen=True, slots=True)
class Goal:
    """A target: an interval width, a probability to select the best model, or an expected regret."""

    kind: GoalKind
    target: float

    def __post_init__(self) -> None:
        if not 0.0 < self.target < 1.0:
            raise UsageError(f"--{self.kind} must lie strictly between 0 and 1, not {self.target:g}.")

    def is_met(self, forecast: Forecast, rows: FloatArray) -> bool:
        """Whether these rows per model (k,) are enough."""
        if self.kind == "width":
            return root_mean_square(forecast.widths(rows)) <= self.target
        if self.kind == "regret":
            return forecast.selection.expected_regret(rows) <= self.target
        return forecast.selection.probability_best(rows, forecast.tolerance) >= self.target


@dataclass(frozen=True, slots=True)
class Projection:
    """What an experiment with these rows is expected to give."""

    rows: FloatArray  # (k,) per model
    widths: FloatArray  # (k,) of the models' intervals
    probability_best: float  # that the selected model is the best, or within the tolerance of it
    expected_regret: float  # of the selected model against the best one

    @property
    def total_rows(self) -> int:
        """Rows of all models together."""
        return round(float(self.rows.sum()))

    @property
    def rows_per_model(self) -> float:
        """Rows per model on average."""
        return self.total_rows / len(self.rows)

    @property
    def rms_width(self) -> float:
        """The width that width goals are compared with."""
        return root_mean_square(self.widths)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Projections from one set of inputs; simulated values and noise are drawn once."""

    inputs: PlanInputs
    selection: SelectionSimulation
    level: float
    extra_contexts: int
    tolerance: float

    @classmethod
    def from_inputs(cls, inputs: PlanInputs, level: float, extra_contexts: int, tolerance: float) -> Forecast:
        """Draw the simulation that every number of rows is judged by."""
        return cls(inputs, SelectionSimulation.draw(inputs, extra_contexts), level, extra_contexts, tolerance)

    def widths(self, rows: FloatArray) -> FloatArray:
        """Median interval width (k,) of each model."""
        return interval_widths(self.inputs, rows, self.extra_contexts, self.level)

    def at(self, rows: FloatArray) -> Projection:
        """All three projections for these rows per model (k,)."""
        regrets = self.selection.regrets(rows)
        return Projection(rows, self.widths(rows), share_within(regrets, self.tolerance), float(regrets.mean()))


@dataclass(frozen=True, slots=True)
class SelectionSimulation:
    """Monte Carlo of selecting the model with the highest estimate.

        value ~ prior,   estimate_a = value_a + sqrt(residual_variance_a / n_a) * noise_a + context noise_a / sqrt(n)

    where n includes the extra contexts. The probability is averaged over the values that the prior leaves possible.
    """

    value: FloatArray  # (k, draws)
    regret_if_chosen: FloatArray  # (k, draws) best value minus each model's value
    row_noise: FloatArray  # (k, draws) of each model's own rows, standard normal
    residual_variance: FloatArray  # (k,)
    context_noise: FloatArray  # (k, draws) of one context, correlated between models
    extra_contexts: int

    @classmethod
    def draw(cls, inputs: PlanInputs, extra_contexts: int = 0) -> SelectionSimulation:
        """Draw values and noise."""
        shape = (3, len(inputs.models), SIMULATIONS)
        value_noise, row_noise, context_noise = np.random.default_rng(SEED).standard_normal(shape)
        with one_blas_thread():
            value = inputs.prior.mean[:, None] + _square_root(inputs.prior.covariance) @ value_noise
            correlated = _square_root(inputs.context_covariance) @ context_noise
        regret = value.max(axis=0) - value
        return cls(value, regret, row_noise, inputs.residual_variance, correlated, extra_contexts)

    def regrets(self, rows: FloatArray) -> FloatArray:
        """Regret (draws,) of the selected model in each simulated experiment."""
        total = float(rows.sum())
        # Models are randomized, so the rows of each vary, and the mean of 1 / rows is above 1 / mean.
        mean_inverse_rows = (1 + (1 - rows / total) / rows) / rows
        row_error = np.sqrt(self.residual_variance * mean_inverse_rows)[:, None] * self.row_noise
        error = row_error + self.context_noise / np.sqrt(total + self.extra_contexts)
        chosen = (self.value + error).argmax(axis=0)
        return np.asarray(self.regret_if_chosen[chosen, np.arange(len(chosen))])

    def probability_best(self, rows: FloatArray, tolerance: float = 0.0) -> float:
        """Probability that the selected model is the best, or at most ``tolerance`` worse."""
        return share_within(self.regrets(rows), tolerance)

    def expected_regret(self, rows: FloatArray) -> float:
        """Mean regret of the selected model."""
        return float(self.regrets(rows).mean())


def share_within(regrets: FloatArray, tolerance: float) -> float:
    """Share of regrets that are at most ``tolerance``, up to rounding."""
    return float((regrets <= tolerance + ROUNDING_ATOL).mean())


def root_mean_square(widths: FloatArray) -> float:
    """Root mean square over models: the width that Neyman allocation minimizes."""
    return float(np.sqrt((widths**2).mean()))


def interval_widths(inputs: PlanInputs, rows: FloatArray, extra_contexts: int = 0, level: float = 0.95) -> FloatArray:
    """Median interval width (k,) of each model's value, given rows per model (k,).

    As in ``tuned_doubly_robust``, the reward is used only where it makes intervals narrower.
    """
    without = half_widths(inputs, rows, extra_contexts, level, use_reward=False)
    half = without
    if inputs.reward_helps:
        tuned = half_widths(inputs, rows, extra_contexts, level, use_reward=True)
        half = tuned if (tuned**2).sum() < (without**2).sum() else without
    return _clipped_median_width(inputs.prior.mean, half, two_sided_z(level))


def half_widths(
    inputs: PlanInputs, rows: FloatArray, extra_contexts: int, level: float, *, use_reward: bool
) -> FloatArray:
    """Median half-width (k,) before clipping; infinite for models with fewer than two independent rows."""
    variance = inputs.residual_variance if use_reward else inputs.outcome_variance
    effective_rows = rows * inputs.effective_row_share
    inestimable = effective_rows < MIN_ROWS_PER_MODEL
    df = np.where(inestimable, 0.0, effective_rows - 1)
    row_variance, median_ratio, t_df = _moderated(variance * inputs.effective_row_share, df, inputs)
    own = row_variance / np.maximum(effective_rows, MIN_ROWS_PER_MODEL)
    contexts = float(rows.sum()) + extra_contexts
    shared = np.diag(inputs.context_covariance) / contexts if use_reward else np.zeros_like(own)
    inflation = tuning_inflation(df) if use_reward else np.ones_like(own)
    # A limited reward weight leaves residuals that covary with the context: ``shared`` may then be negative.
    standard_error = np.sqrt(np.maximum(median_ratio * own + shared, 0.0) * inflation)
    total_df = welch_satterthwaite_df(own, t_df, np.abs(shared), contexts - 1.0)
    quantile = t_quantile_at_z(two_sided_z(level), total_df)
    return np.where(inestimable, np.inf, quantile * standard_error)


def _moderated(variance: FloatArray, df: FloatArray, inputs: PlanInputs) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Moderated variance of a row (k,), the ratio of its median to its mean (k,), and the df of its t interval (k,).

    The formulas of ``value.small_sample.moderated`` with every variance at its expectation. An estimate from few rows
    is skewed; its median lies below its mean by the Wilson-Hilferty factor (1 - 2 / (9 df))^3.
    """
    total = max(float(df.sum()), ROUNDING_ATOL)
    prior = prior_df(df)
    combined = np.maximum(prior + df, ROUNDING_ATOL)
    weight = prior[:, None] * df[None, :] / total / combined[:, None] + np.diag(df / combined)
    moderated = weight @ variance
    own_df = np.maximum(_kurtosis_df(df, inputs.excess_kurtosis), ROUNDING_ATOL)
    variance_df = moderated**2 / np.maximum(((weight * variance) ** 2 / own_df).sum(axis=1), ROUNDING_ATOL**2)
    # A sample of n rows has a squared skewness of at most (n - 2)^2 / (n - 1).
    skewness = np.minimum(inputs.squared_skewness, np.maximum(df - 1, 0.0) ** 2 / np.maximum(df, 1.0))
    t_df = moderated_df(df, skewness, prior)
    return moderated, (1 - 2 / (9 * np.maximum(variance_df, 1.0))) ** 3, t_df


def _kurtosis_df(df: FloatArray, excess_kurtosis: FloatArray) -> FloatArray:
    """Degrees of freedom (k,) of a variance estimate from residuals with heavy tails."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(df > 0, 2 / (excess_kurtosis / (df + 1) + 2 / df), 0.0))


def tuning_inflation(df: FloatArray) -> FloatArray:
    """Factor on each variance (k,) for tuning the reward's weight, as in ``optimal_reward_weight``."""
    own, total = own_weight_share(df), max(float(df.sum()), 2.0)
    return np.asarray(1 / (1 - own / np.maximum(df, 2.0) - (1 - own) / total))


def _clipped_median_width(mean: FloatArray, half: FloatArray, quantile: float) -> FloatArray:
    """Median width of intervals clipped to [0, 1], over the sampling distribution of the estimate."""
    half = np.minimum(half, 1.0)  # wider intervals cover all of [0, 1] in any position
    z = ndtri((np.arange(QUADRATURE_POINTS) + 0.5) / QUADRATURE_POINTS)
    center = mean[:, None] + half[:, None] / quantile * z
    low, high = np.clip(center - half[:, None], 0.0, 1.0), np.clip(center + half[:, None], 0.0, 1.0)
    return np.asarray(np.median(high - low, axis=1))


def _square_root(covariance: FloatArray) -> FloatArray:
    """Matrix square root of a covariance that may be singular."""
    eigenvalues, axes = np.linalg.eigh(covariance)
    return np.asarray(axes * np.sqrt(np.maximum(eigenvalues, 0.0)))
