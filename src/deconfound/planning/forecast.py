"""Project what an experiment of a given size will give: interval widths, the selected model, its regret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.planning.inputs import PlanInputs
from deconfound.threads import one_blas_thread
from deconfound.value.bounded_interval import inverse_yes_no_rows, mid_p_interval
from deconfound.value.control_variate import own_weight_share
from deconfound.value.estimators import welch_satterthwaite_df
from deconfound.value.mean_weights import MIN_ROWS_PER_MODEL, ROUNDING_ATOL
from deconfound.value.multiple_comparisons import t_quantile_at_z, two_sided_z
from deconfound.value.small_sample import binomial_variance, largest_variance, moderated_df, prior_df

SIMULATIONS = 10_000  # a probability then has a standard error of half a percentage point
SEED = 20_240_301  # the same draws for every number of rows, so that curves are smooth
QUADRATURE_POINTS = 41  # equally likely positions of an estimate

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
    without = widths_at(inputs, rows, extra_contexts, level, use_reward=False)
    if not inputs.reward_helps:
        return without
    tuned = widths_at(inputs, rows, extra_contexts, level, use_reward=True)
    return tuned if (tuned**2).sum() < (without**2).sum() else without


def widths_at(
    inputs: PlanInputs, rows: FloatArray, extra_contexts: int, level: float, *, use_reward: bool
) -> FloatArray:
    """Median interval width (k,) with or without the reward; 1 for models with fewer than two rows.

    The formulas of ``value.control_variate`` with every variance at its expectation.
    """
    inestimable = rows < MIN_ROWS_PER_MODEL
    df = np.where(inestimable, 0.0, inputs.df_per_row * (rows - 1))
    contexts = float(rows.sum()) + extra_contexts
    expected_variance = (inputs.residual_variance if use_reward else inputs.outcome_variance) / rows
    shared = np.diag(inputs.context_covariance) / contexts if use_reward else np.zeros_like(df)
    # A limited reward weight leaves residuals that covary with the context: ``shared`` may then be negative.
    center = _median_position(inputs.possible_mean, np.sqrt(np.maximum(expected_variance + shared, 0.0)))
    own_variance, binomial = _moderated_variance(inputs, expected_variance, rows, df, center)
    inflation = tuning_inflation(df) if use_reward else 1.0
    variance = np.maximum(own_variance + shared, 0.0) * inflation
    total_df = welch_satterthwaite_df(own_variance, moderated_df(df, prior_df(df)), np.abs(shared), contexts - 1.0)
    z = two_sided_z(level)
    inverse_rows = inverse_yes_no_rows(variance, (t_quantile_at_z(z, total_df) / z) ** 2, binomial, df + 1)
    limits = mid_p_interval(center, inverse_rows, z)
    return np.where(inestimable, 1.0, limits[:, 1] - limits[:, 0])


def _moderated_variance(
    inputs: PlanInputs, expected_variance: FloatArray, rows: FloatArray, df: FloatArray, center: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Variance of a mean (k,) as ``value.small_sample.moderated`` reports it at an estimate, and its binomial variance.

    With m the mean of few rows, m (1 - m) is expected to lie below its value at the true mean by the variance of m.
    """
    size = np.minimum(1 / (df + 1), 1 / MIN_ROWS_PER_MODEL)
    at_mean = inputs.possible_mean * (1 - inputs.possible_mean)
    # Two independent yes/no rows halve it. No sample lowers it further; inconsistent inputs would.
    expected = np.maximum(at_mean - inputs.outcome_variance / rows, at_mean / 2)
    possible = expected / (1 - size)
    own, prior = expected_variance / size / possible, prior_df(df)
    shared = float(df @ (expected_variance / size)) / max(float(df @ possible), ROUNDING_ATOL)
    toward_shared = (prior * shared + df * own) / np.maximum(prior + df, ROUNDING_ATOL)
    inverse_rows = np.maximum(own, toward_shared) * size
    binomial = binomial_variance(center, inverse_rows)
    own_variance = expected_variance * center * (1 - center) / expected
    return np.maximum(own_variance, inverse_rows * np.maximum(largest_variance(center, size), binomial)), binomial


def tuning_inflation(df: FloatArray) -> FloatArray:
    """Factor on each variance (k,) for tuning the reward's weight, as in ``optimal_reward_weight``."""
    own, total = own_weight_share(df), max(float(df.sum()), 2.0)
    return np.asarray(1 / (1 - own / np.maximum(df, 2.0) - (1 - own) / total))


def _median_position(mean: FloatArray, standard_error: FloatArray) -> FloatArray:
    """The estimate (k,) whose interval has the median width: intervals are widest at one half, and symmetric about it.

    Half of all estimates are closer to one half.
    """
    z = ndtri((np.arange(QUADRATURE_POINTS) + 0.5) / QUADRATURE_POINTS)
    estimate = np.clip(mean[:, None] + standard_error[:, None] * z, 0.0, 1.0)
    return np.asarray(0.5 + np.median(np.abs(estimate - 0.5), axis=1))


def _square_root(covariance: FloatArray) -> FloatArray:
    """Matrix square root of a covariance that may be singular."""
    eigenvalues, axes = np.linalg.eigh(covariance)
    return np.asarray(axes * np.sqrt(np.maximum(eigenvalues, 0.0)))
