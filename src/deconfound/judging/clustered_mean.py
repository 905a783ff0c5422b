"""Means of paired differences with t intervals; rows of one context share their noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.value.mean_weights import ModelWeights, difference_df_limit
from deconfound.value.multiple_comparisons import pairwise_differences, t_quantile_at_z, two_sided_z

ROUNDING_ATOL = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its interval; NaN limits where there are too few contexts for one."""

    estimate: float
    standard_error: float
    low: float
    high: float
    n: int
    contexts: int


NOTHING = Interval(math.nan, math.nan, math.nan, math.nan, 0, 0)


def clustered_mean(values: FloatArray, context: IntArray, level: float) -> Interval:
    """The mean of values (n,) with an interval by the t distribution, clustered by context (n,)."""
    present = np.isfinite(values)
    values, context = values[present], context[present]
    if not len(values):
        return NOTHING
    weights = ModelWeights.from_rows(np.zeros(len(values), np.int64), 1, np.ones(len(values)), context)
    estimate = float(weights.mean(values)[0])
    if weights.inestimable[0]:
        return Interval(estimate, math.nan, math.nan, math.nan, len(values), len(np.unique(context)))
    standard_error = math.sqrt(float(weights.influence(values).variance()[0]))
    return _interval(estimate, standard_error, float(weights.df[0]), level, context)


def difference_of_means(values: FloatArray, group: IntArray, context: IntArray, level: float) -> Interval:
    """The mean of values (n,) in group 1 minus that in group 0; a context may have rows of both."""
    present = np.isfinite(values)
    values, group, context = values[present], group[present], context[present]
    if len(np.unique(group)) < 2:
        return NOTHING
    weights = ModelWeights.from_rows(group, 2, np.ones(len(values)), context)
    mean = weights.mean(values)
    if weights.inestimable.any():
        found, contexts = float(mean[1] - mean[0]), len(np.unique(context))
        return Interval(found, math.nan, math.nan, math.nan, len(values), contexts)
    covariance = weights.influence(values).covariance()
    pairs = pairwise_differences(mean, covariance, weights.df, difference_df_limit(weights))
    return _interval(float(mean[1] - mean[0]), float(pairs.standard_error[1, 0]), float(pairs.df[1, 0]), level, context)


def rank_correlation(first: FloatArray, second: FloatArray, context: IntArray, level: float) -> Interval:
    """Spearman's correlation with an interval on Fisher's scale, clustered by context.

    influence_i = u_i v_i - r (u_i^2 + v_i^2) / 2,      u, v standardized ranks
    interval    = tanh(atanh(r) ± t se / (1 - r^2))
    """
    present = np.isfinite(first) & np.isfinite(second)
    u, v, context = _ranks(first[present]), _ranks(second[present]), context[present]
    if len(u) < 3 or min(np.ptp(u), np.ptp(v)) < ROUNDING_ATOL:
        return NOTHING
    u, v = (u - u.mean()) / u.std(), (v - v.mean()) / v.std()
    r = float((u * v).mean())
    error = clustered_mean(u * v - r * (u**2 + v**2) / 2, context, level)
    if not math.isfinite(error.high) or 1 - r**2 < ROUNDING_ATOL:
        return Interval(r, error.standard_error, r, r, error.n, error.contexts) if abs(r) == 1 else error
    half = (error.high - error.low) / 2 / (1 - r**2)
    low, high = (math.tanh(math.atanh(r) + sign * half) for sign in (-1, 1))
    return Interval(r, error.standard_error, low, high, error.n, error.contexts)


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks, the mean of them where values are equal."""
    _, at, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[at], dtype=np.float64)


def _interval(estimate: float, standard_error: float, df: float, level: float, context: IntArray) -> Interval:
    half = float(t_quantile_at_z(two_sided_z(level), np.array([max(df, 1.0)]))[0]) * standard_error
    contexts = len(np.unique(context))
    return Interval(estimate, standard_error, estimate - half, estimate + half, len(context), contexts)
