"""Statements about many models at once: simultaneous intervals, all pairs, and the set of possibly best models.

Errors are simulated jointly as normal with the estimated covariance, and each statement keeps its own t distribution:
a normal quantile z is replaced by the t quantile of the same probability. For independent errors this is exact for any
mixture of degrees of freedom, so a model with few rows does not widen the intervals of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.threads import one_blas_thread

MAX_T_DRAWS = 20_000  # a tail of 5 % then has a standard error of 0.15 points; 20 models take a few milliseconds
MAX_T_SEED = 20_240_229  # one fixed sample, so that equal inputs give equal intervals
MAX_SIMULATED_MODELS = 100  # more models get the bounds of Sidak and Bonferroni, which need no simulation


MIN_LEVEL, MAX_LEVEL = 0.5, 0.9999


def check_level(level: float) -> None:
    """Refuse a level that is not a probability, such as 95, or so extreme that no interval says anything."""
    if not MIN_LEVEL <= level <= MAX_LEVEL:
        limits = f"between {MIN_LEVEL} and {MAX_LEVEL}"
        raise UsageError(f"level (--level) must lie {limits}, such as 0.95, not {level!r}.")


def two_sided_z(level: float) -> float:
    """Normal quantile of one two-sided interval."""
    return float(ndtri(0.5 + level / 2))


def t_quantile_at_z(z: float, df: FloatArray) -> FloatArray:
    """Quantile of each t distribution at the probability Phi(z)."""
    finite = np.isfinite(df)
    quantile = np.full(np.shape(df), z, dtype=np.float64)
    # From the lower tail: the upper one rounds to a probability of one long before the lower one reaches zero.
    quantile[finite] = -np.sign(z) * stdtrit(df[finite], ndtr(-abs(z)))
    return quantile


def t_to_z(t: FloatArray, df: FloatArray) -> FloatArray:
    """Normal quantile with the probability of each t statistic; the inverse of ``t_quantile_at_z``."""
    t, df = np.broadcast_arrays(np.asarray(t, dtype=np.float64), df)
    z, finite = t.copy(), np.isfinite(df)
    tail = stdtr(df[finite], -np.abs(t[finite]))
    z[finite] = -np.sign(t[finite]) * ndtri(tail)
    return z


def max_abs_z_quantile(covariance: FloatArray, level: float) -> float:
    """Quantile of max_a |error_a| / se_a under normal errors: the z of simultaneous intervals.

    It lies between the quantile of one model and Sidak's bound, which is valid for normal errors of any correlation and
    is used for more than ``MAX_SIMULATED_MODELS`` models.
    """
    count = len(covariance)
    one, sidak = two_sided_z(level), two_sided_z(level ** (1.0 / max(count, 1)))
    if count < 2 or count > MAX_SIMULATED_MODELS:
        return sidak
    standardized = normal_draws(covariance) / np.sqrt(np.diag(covariance))[:, None]
    return min(max(upper_quantile(np.abs(standardized).max(axis=0), level), one), sidak)


def upper_quantile(maxima: FloatArray, level: float) -> float:
    """Empirical quantile, rounded up to the next draw."""
    return float(np.quantile(maxima, level, method="higher"))


def normal_draws(covariance: FloatArray) -> FloatArray:
    """Draws (k, MAX_T_DRAWS) of normal errors with a covariance that may be singular.

    The symmetric root is continuous in the covariance, so rounding does not change the draws; eigenvectors may turn.
    """
    with one_blas_thread():
        eigenvalues, axes = np.linalg.eigh(covariance)
        root = (axes * np.sqrt(np.maximum(eigenvalues, 0.0))) @ axes.T
        return np.asarray(root @ _standard_normal(len(covariance)))


@lru_cache(maxsize=4)
def _standard_normal(count: int) -> FloatArray:
    draws = np.random.default_rng(MAX_T_SEED).standard_normal((count, MAX_T_DRAWS))
    draws.setflags(write=False)
    return draws


@dataclass(frozen=True, slots=True)
class Differences:
    """All differences center_i - center_j with their standard errors and degrees of freedom."""

    difference: FloatArray  # (k, k)
    standard_error: FloatArray  # (k, k); zero on the diagonal, infinite where either model's is
    df: FloatArray  # (k, k)

    @property
    def z(self) -> FloatArray:
        """Normal quantile with the probability of each t statistic; 0 where the standard error is infinite."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = self.difference / self.standard_error
        return t_to_z(np.where(np.isnan(t), 0.0, t), self.df)

    @property
    def comparable(self) -> NDArray[np.bool_]:
        """Models with a finite standard error against at least one other (k,)."""
        return np.asarray(np.isfinite(self.standard_error).sum(axis=0) > 1)

    def subset(self, models: NDArray[np.bool_]) -> Differences:
        """The differences among some of the models."""
        at = np.ix_(models, models)
        return Differences(self.difference[at], self.standard_error[at], self.df[at])


def pairwise_differences(
    center: FloatArray, covariance: FloatArray, df: FloatArray, df_limit: FloatArray | None = None
) -> Differences:
    """All pairwise differences.

        se_ij^2 = C_ii + C_jj - 2 C_ij,      df_ij by Welch and Satterthwaite

    Two models on the same few contexts do not have the sum of their degrees of freedom: ``df_limit`` (k, k) limits it.
    """
    own_variance = np.diag(covariance)
    estimable = np.isfinite(own_variance) & ~np.isnan(center)
    variance = np.where(estimable, own_variance, 0.0)
    shared = np.where(np.outer(estimable, estimable), covariance, 0.0)
    squared = np.maximum(variance[:, None] + variance[None, :] - 2 * shared, 0.0)
    np.fill_diagonal(squared, 0.0)
    undefined = ~estimable[:, None] | ~estimable[None, :]
    np.fill_diagonal(undefined, False)
    standard_error = np.sqrt(np.where(undefined, np.inf, squared))
    spent = variance**2 / df
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled_df = (variance[:, None] + variance[None, :]) ** 2 / (spent[:, None] + spent[None, :])
    value = np.where(estimable, center, 0.0)
    pooled_df = np.where(np.isnan(pooled_df), np.inf, pooled_df)
    if df_limit is not None:
        pooled_df = np.minimum(pooled_df, df_limit)
    return Differences(value[:, None] - value[None, :], standard_error, pooled_df)


def max_t_pairs(pairs: Differences, covariance: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Half-widths of simultaneous intervals and adjusted p-values (k, k) of all pairs: single-step max-t.

    An adjusted p-value is the probability that the largest |t| of any pair is at least as large. It lies between the
    plain p-value and Bonferroni's, which is used below the resolution of the simulation. The critical value has the
    same limits, so that an interval excludes zero exactly where the p-value is below 1 - level.
    """
    comparable = pairs.comparable
    count = int(comparable.sum())
    n_pairs = max(count * (count - 1) // 2, 1)
    z = np.abs(pairs.z)
    plain = 2 * ndtr(-z)
    bonferroni = np.minimum(n_pairs * plain, 1.0)
    critical, adjusted = float(-ndtri((1 - level) / 2 / n_pairs)), bonferroni
    if count <= MAX_SIMULATED_MODELS:
        maxima = _max_abs_of_all_pairs(pairs.subset(comparable), covariance[np.ix_(comparable, comparable)])
        critical = min(max(upper_quantile(maxima, level), two_sided_z(level)), critical)
        exceeding = (MAX_T_DRAWS - np.searchsorted(maxima, z) + 1) / (MAX_T_DRAWS + 1)
        adjusted = np.clip(exceeding, plain, bonferroni)
    with np.errstate(invalid="ignore"):
        half_width = t_quantile_at_z(critical, pairs.df) * pairs.standard_error
    p_value = np.where(pairs.standard_error > 0, adjusted, (pairs.difference == 0).astype(np.float64))
    return half_width, p_value


def best_set_mask(pairs: Differences, covariance: FloatArray, level: float) -> NDArray[np.bool_]:
    """Models (k,) that may be the best; the set contains the best one with probability ``level``.

    Model a is excluded if max_b t(b - a) exceeds the quantile of that maximum under equal values. No model is better
    than the best one, so that one is excluded with probability at most 1 - level.
    """
    comparable = pairs.comparable
    in_set = np.ones(len(comparable), dtype=np.bool_)
    if comparable.sum() < 2:
        return in_set
    among, sub = pairs.subset(comparable), covariance[np.ix_(comparable, comparable)]
    largest_z = np.where(np.eye(len(sub), dtype=np.bool_), -np.inf, among.z.T).max(axis=1)
    # The quantile lies between that of one rival and Bonferroni's: only statistics between the two need draws.
    lower, upper = _critical_limits(len(sub), level)
    undecided = (largest_z > lower) & (largest_z <= upper)
    critical = np.where(undecided, upper, lower)
    if undecided.any() and len(sub) <= MAX_SIMULATED_MODELS:
        draws = normal_draws(sub)
        for model in np.flatnonzero(undecided).tolist():
            critical[model] = upper_quantile(_max_over_rivals(draws, among, model), level)
    # The highest estimate stays in at any level: below one half the quantile of a maximum can be negative.
    in_set[comparable] = (largest_z <= critical) | (largest_z <= 0)
    return in_set


def best_set_critical_z(pairs: Differences, covariance: FloatArray, level: float, model: int) -> float:
    """The z that the lead of some rival over a model must exceed to exclude it from the set of possibly best models.

    All models must be comparable; ``best_set_mask`` has the derivation. The value depends on the covariance alone.
    """
    lower, upper = _critical_limits(len(covariance), level)
    if len(covariance) > MAX_SIMULATED_MODELS:
        return upper
    return min(max(upper_quantile(_max_over_rivals(normal_draws(covariance), pairs, model), level), lower), upper)


def lead_over_others(pairs: Differences, covariance: FloatArray, level: float, first: int) -> float:
    """Lower bound of the lead of a model over every other, where no other model is in the set of possibly best ones.

        min_a max_b  difference_ba - critical_a se_ba

    By ``best_set_mask``, some b is better than a by at least the maximum, for all a at once with probability ``level``
    (multiple comparisons with the best; Hsu, 1996). The first model is then at least as good as b.
    """
    others = [model for model in range(len(covariance)) if model != first]
    lower, upper = _critical_limits(len(covariance), level)
    highest = min(_lead_over(pairs, model, lower) for model in others)
    near = [model for model in others if _lead_over(pairs, model, upper) <= highest]  # others cannot be the minimum
    return min(_lead_over(pairs, model, best_set_critical_z(pairs, covariance, level, model)) for model in near)


def _lead_over(pairs: Differences, model: int, z: float) -> float:
    """The largest of the lower bounds of what any other is ahead of a model."""
    bound = pairs.difference[:, model] - t_quantile_at_z(z, pairs.df[:, model]) * pairs.standard_error[:, model]
    return float(np.delete(bound, model).max())


def _critical_limits(count: int, level: float) -> tuple[float, float]:
    """Limits of the quantile of the largest lead of any rival: that of one rival, and Bonferroni's."""
    return float(ndtri(level)), float(-ndtri((1 - level) / (count - 1)))


def _max_abs_of_all_pairs(pairs: Differences, covariance: FloatArray) -> FloatArray:
    """Sorted maxima (MAX_T_DRAWS,) over all pairs of |t|, in draws without any true difference."""
    draws, count = normal_draws(covariance), len(covariance)
    maxima = np.zeros(MAX_T_DRAWS)
    for model in range(count):
        later = (pairs.standard_error[model] > 0) & (np.arange(count) > model)
        if later.any():
            t = (draws[later] - draws[model]) / pairs.standard_error[model, later, None]
            np.maximum(maxima, np.abs(t).max(axis=0), out=maxima)
    maxima.sort()
    return maxima


def _max_over_rivals(draws: FloatArray, pairs: Differences, model: int) -> FloatArray:
    """Maxima (MAX_T_DRAWS,) of t(rival - model) over all rivals, in draws without any true difference."""
    rivals = pairs.standard_error[model] > 0
    if not rivals.any():
        return np.full(MAX_T_DRAWS, -np.inf)
    t = (draws[rivals] - draws[model]) / pairs.standard_error[model, rivals, None]
    return np.asarray(t.max(axis=0))
