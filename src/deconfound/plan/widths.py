"""How wide intervals will be: the estimator's own corrections, foreseen."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from deconfound.design import FloatArray
from deconfound.plan.evidence import Evidence
from deconfound.value.control_variate import own_weight_share
from deconfound.value.estimators import welch_satterthwaite_df
from deconfound.value.multiple_comparisons import t_quantile_at_z, two_sided_z
from deconfound.value.small_sample import MIN_ROWS_PER_MODEL, ROUNDING_ATOL, moderated_df, prior_df

PLACES = 41  # equally likely places of an estimate at which its interval is cut to [0, 1]


def widths(evidence: Evidence, rows: FloatArray, elsewhere: int = 0, level: float = 0.95) -> FloatArray:
    """Median width (k,) of the interval of each model's value with so many rows (k,) a model.

    As ``tuned_doubly_robust`` does, the reward is used where that makes intervals narrower.
    """
    alone = half_widths(evidence, rows, elsewhere, level, helped=False)
    half = alone
    if evidence.helped:
        tuned = half_widths(evidence, rows, elsewhere, level, helped=True)
        half = tuned if (tuned**2).sum() < (alone**2).sum() else alone
    return _cut(evidence.mean, half, two_sided_z(level))


def half_widths(evidence: Evidence, rows: FloatArray, elsewhere: int, level: float, *, helped: bool) -> FloatArray:
    """Median of quantile * error (k,), with or without the reward; infinite for models with fewer than two rows."""
    variance = evidence.row if helped else evidence.outcome
    known = rows * evidence.independent  # independent rows of each model
    blind = known < MIN_ROWS_PER_MODEL
    df = np.where(blind, 0.0, known - 1)
    mine, settled, earned = _moderated(variance * evidence.independent, df, evidence)
    mine = mine / np.maximum(known, MIN_ROWS_PER_MODEL)
    contexts = float(rows.sum()) + elsewhere
    shared = np.diag(evidence.context) / contexts if helped else np.zeros_like(mine)
    cost = choice_cost(df) if helped else np.ones_like(mine)
    # Where the reward's power was held back, the residual still moves with the context and may be the larger part.
    error = np.sqrt(np.maximum(settled * mine + shared, 0.0) * cost)
    total_df = welch_satterthwaite_df(mine, earned, np.abs(shared), contexts - 1.0)
    quantile = t_quantile_at_z(two_sided_z(level), total_df)
    return np.where(blind, np.inf, quantile * error)


def _moderated(variance: FloatArray, df: FloatArray, evidence: Evidence) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Moderated variance of a row, its median as a share of that, and the degrees of freedom it will be given (k,).

    The formulas are those of ``value.small_sample.moderated`` with every variance at its expectation. A variance that
    few rows estimate is skewed: its median lies below its mean by Wilson and Hilferty's (1 - 2 / (9 freedom))^3.
    """
    total = max(float(df.sum()), ROUNDING_ATOL)
    prior = prior_df(df)
    known = np.maximum(prior + df, ROUNDING_ATOL)
    weight = prior[:, None] * df[None, :] / total / known[:, None] + np.diag(df / known)
    wanted = weight @ variance
    true = np.maximum(_tailed(df, evidence.excess), ROUNDING_ATOL)
    effective = wanted**2 / np.maximum(((weight * variance) ** 2 / true).sum(axis=1), ROUNDING_ATOL**2)
    # A handful of rows cannot show much skewness: n of them have a squared one of (n - 2)^2 / (n - 1) at most.
    shown = np.minimum(evidence.skew, np.maximum(df - 1, 0.0) ** 2 / np.maximum(df, 1.0))
    return wanted, (1 - 2 / (9 * np.maximum(effective, 1.0))) ** 3, moderated_df(df, shown, prior)


def _tailed(df: FloatArray, excess: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(df > 0, 2 / (excess / (df + 1) + 2 / df), 0.0))


def choice_cost(df: FloatArray) -> FloatArray:
    """Factor on each variance (k,) for having tuned the reward weight, as in ``optimal_reward_weight``."""
    own, total = own_weight_share(df), max(float(df.sum()), 2.0)
    return np.asarray(1 / (1 - own / np.maximum(df, 2.0) - (1 - own) / total))


def _cut(mean: FloatArray, half: FloatArray, quantile: float) -> FloatArray:
    """Median width of intervals cut to [0, 1], over the places where the estimate may fall."""
    half = np.minimum(half, 1.0)  # beyond that the interval is all of [0, 1] wherever it stands
    places = ndtri((np.arange(PLACES) + 0.5) / PLACES)
    middle = mean[:, None] + half[:, None] / quantile * places
    low, high = np.clip(middle - half[:, None], 0.0, 1.0), np.clip(middle + half[:, None], 0.0, 1.0)
    return np.asarray(np.median(high - low, axis=1))
