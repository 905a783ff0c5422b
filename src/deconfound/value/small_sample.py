"""Small-sample variances of per-model means of outcomes in [0, 1].

The ratio of a variance to the largest one possible at its mean, the dispersion, is raised toward the ratio that all
models share: five good outcomes out of five do not show that a model never fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from deconfound.design import FloatArray
from deconfound.value.cluster_df import MIN_DF
from deconfound.value.clusters import Influence
from deconfound.value.mean_weights import ROUNDING_ATOL, MeanWeights, sum_squared_weight

PRIOR_DF = 4.0  # weight of the shared dispersion, in degrees of freedom; measured, see decision 0013
PRIOR_DF_CREDIT = 0.25  # part of PRIOR_DF counted as degrees of freedom: the models' true dispersions do differ
PSEUDO_ROWS = 2.0  # one success and one failure added where a variance is taken at a mean (Agresti and Caffo, 2000)
MAX_DISPERSION = 1.0  # of outcomes 0 and 1; assumed where no outcome varies


@dataclass(frozen=True, slots=True)
class Moderated:
    """What moderation adds to the variances of influence values."""

    dispersion: FloatArray  # (k,) variance of a mean / (mean (1 - mean)), times the effective number of clusters
    df: FloatArray  # (k,)
    correlation: FloatArray  # (k, k) of what is added, between models

    def added_variance(self, weights: MeanWeights, own_variance: FloatArray, mean: FloatArray) -> FloatArray:
        """What the variance (k,) at a value (k,) lacks.

            target = dispersion * size * max( mean (1 - mean) / (1 - size), binomial variance after ``PSEUDO_ROWS`` )

        The first is unbiased, as the variance that a dispersion was computed from. The second is larger near 0 and 1.
        """
        size = sum_squared_weight(weights)
        possible = np.maximum(largest_variance(mean, size), binomial_variance(mean, self.dispersion * size))
        return np.asarray(np.maximum(self.dispersion * size * possible - own_variance, 0.0))

    def added_covariance(self, added_variance: FloatArray) -> FloatArray:
        """``added_variance`` as a covariance (k, k)."""
        sd = np.sqrt(added_variance)
        return np.asarray(self.correlation * np.outer(sd, sd))


@dataclass(frozen=True, slots=True)
class OutcomeMeans:
    """Means of outcomes, and how much outcomes vary between rows, whether or not these share clusters."""

    mean: FloatArray  # (k,)
    row_dispersion: float  # of all models together, between single rows
    all_constant: bool  # whether the outcomes of no model vary

    @classmethod
    def from_variances(
        cls, weights: MeanWeights, mean: FloatArray, row_variance: FloatArray, variance: FloatArray
    ) -> Self:
        """From the variances of each mean (k,): if rows were independent, and clustered."""
        constant = bool((variance < ROUNDING_ATOL**2).all())
        size = np.where(weights.inestimable, 1.0, weights.row_size)
        return cls(mean, MAX_DISPERSION if constant else _pooled(weights, mean, row_variance, size), constant)


def moderated(weights: MeanWeights, influence: Influence, outcomes: OutcomeMeans) -> Moderated:
    """Raise dispersions toward the one that all models share, and toward that of clusters whose outcomes all agree.

        dispersion_a = own variance / (mean_a (1 - mean_a) / n_a),        n_a the effective number of clusters
        moderated_a  = max( dispersion_a, (p_a shared + q_a rows + I df_a dispersion_a) / (p_a + q_a + I df_a) )

    ``influence`` is that of each mean. I is ``variance_information``: few rows say little about the variance of
    outcomes with rare extremes. ``rows`` is the dispersion between single rows, which that of clusters reaches if all
    outcomes of each agree. The weights are p = ``prior_df`` and q = ``agreement_df``.

    Outcomes 0 and 1 have dispersion one, whatever their mean. A model whose outcomes are all equal has the shared
    dispersion: it may not have shown its rare extremes. If no model's outcomes vary, every dispersion is
    ``MAX_DISPERSION``. A dispersion is never lowered: the model with the most variable outcomes would be covered too
    seldom.

    What is added is as correlated between models as their estimated errors, less so where these rest on few clusters:
    one more may concern a single model.
    """
    own_variance, df, size = influence.variance(), weights.df, sum_squared_weight(weights)
    possible = np.where(weights.inestimable, 0.0, largest_variance(outcomes.mean, size))
    own = np.divide(own_variance / size, possible, out=np.zeros_like(possible), where=possible > ROUNDING_ATOL)
    shared = MAX_DISPERSION if outcomes.all_constant else _pooled(weights, outcomes.mean, own_variance, size)
    information = variance_information(weights, influence)
    prior, informative_df = prior_df(df, weights.max_df), information * df
    agreement = agreement_df(weights, outcomes.mean)
    source, source_df = prior * shared + agreement * outcomes.row_dispersion, prior + agreement
    toward = (source + informative_df * own) / np.maximum(source_df + informative_df, ROUNDING_ATOL)
    estimable = (possible > ROUNDING_ATOL) & (own_variance > ROUNDING_ATOL**2) & (not outcomes.all_constant)
    alone = np.divide(source, source_df, out=np.full_like(source, shared), where=source_df > ROUNDING_ATOL)
    return Moderated(
        dispersion=np.where(estimable, np.maximum(own, toward), alone),
        df=np.where(weights.inestimable, np.inf, moderated_df(df, prior)),
        correlation=added_correlation(influence, informative_df),
    )


def agreement_df(weights: MeanWeights, mean: FloatArray) -> FloatArray:
    """Weight (k,) of the dispersion that clusters have if all outcomes of each agree, in degrees of freedom.

        PRIOR_DF * P(n yes/no outcomes are all equal) * (1 - squared weights of rows / squared weights of clusters)

    Where most users are always satisfied, the few who never are decide the variance, and none of them may have been
    drawn. Then users hardly seem to differ. The probability, at the mean after ``PSEUDO_ROWS``, says how easily n
    clusters show nothing even if each of them has only one answer. The last factor is zero where clusters are rows.
    """
    size = sum_squared_weight(weights)
    smoothed = smoothed_mean(mean, size)
    equal = smoothed ** (1 / size) + (1 - smoothed) ** (1 / size)
    return np.asarray(PRIOR_DF * equal * np.clip(1 - weights.row_size / size, 0.0, 1.0))


def variance_information(weights: MeanWeights, influence: Influence) -> float:
    """Information about a variance in one row, relative to a row of normal outcomes; at most one.

        2 / (kurtosis - 1),      kurtosis over the clusters of all models

    It is the ratio of the sampling variances of an estimated variance.
    """
    used = (weights.counted[0] > 0) & ~weights.inestimable
    scale = np.sqrt(np.where(used, weights.counted[0] * sum_squared_weight(weights), 1.0))
    squared = (influence.parts[0] / scale)[used] ** 2  # equal means for all models where variances are equal
    mean_square = float(squared.mean()) if len(squared) else 0.0
    if mean_square < ROUNDING_ATOL**2:
        return 1.0
    kurtosis = float((squared**2).mean()) / mean_square**2
    return min(1.0, 2 / max(kurtosis - 1, ROUNDING_ATOL))


def _pooled(weights: MeanWeights, mean: FloatArray, variance: FloatArray, size: FloatArray) -> float:
    """The dispersion of all models together, from the variance of each mean (k,) of 1 / ``size`` (k,) rows."""
    possible = np.where(weights.inestimable, 0.0, largest_variance(mean, size))
    total = float(weights.df @ possible)
    return float(weights.df @ (variance / size)) / total if total > ROUNDING_ATOL else MAX_DISPERSION


def added_correlation(influence: Influence, informative_df: FloatArray) -> FloatArray:
    """Correlation of errors (k, k), times sqrt(K / (K + 1)) for each of both models.

    K = I df / 2 clusters show it: if K users are never satisfied and all others always, I df is 2 K.
    """
    covariance = influence.covariance()
    sd = np.sqrt(np.diag(covariance))
    varies = sd > ROUNDING_ATOL
    share = np.divide(np.sqrt(informative_df / (informative_df + 2)), sd, out=np.zeros_like(sd), where=varies)
    correlation = covariance * np.outer(share, share)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)


def largest_variance(mean: FloatArray, size: FloatArray) -> FloatArray:
    """Largest variance (k,) of outcomes in [0, 1] at an estimated mean of 1 / ``size`` independent rows, unbiased."""
    inside = np.clip(np.nan_to_num(mean), 0.0, 1.0)
    unbiased = np.where(size < 1 - ROUNDING_ATOL, 1 - size, 1.0)
    return np.asarray(inside * (1 - inside) / unbiased)


def binomial_variance(mean: FloatArray, inverse_rows: FloatArray) -> FloatArray:
    """Variance (k,) of outcomes 0 and 1 at a mean, after adding ``PSEUDO_ROWS``; positive also at a mean of 0 or 1."""
    smoothed = smoothed_mean(mean, inverse_rows)
    return np.asarray(smoothed * (1 - smoothed))


def smoothed_mean(mean: FloatArray, inverse_rows: FloatArray) -> FloatArray:
    """The mean (k,) after adding ``PSEUDO_ROWS``, half of them successes; inside (0, 1)."""
    pseudo = PSEUDO_ROWS * np.maximum(inverse_rows, ROUNDING_ATOL)
    return np.asarray((np.clip(np.nan_to_num(mean), 0.0, 1.0) + pseudo / 2) / (1 + pseudo))


def prior_df(df: FloatArray, max_df: float = np.inf) -> FloatArray:
    """Weight of the shared dispersion for each model (k,): ``PRIOR_DF``, but at most the df of the other models.

    With clusters that all models share, ``max_df`` is what they have together.
    """
    return np.asarray(np.clip(np.minimum(df.sum(), max_df) - df, 0.0, PRIOR_DF))


def moderated_df(df: FloatArray, prior: FloatArray) -> FloatArray:
    """Degrees of freedom of a moderated variance (k,): its own plus the credit for the prior."""
    return np.asarray(np.maximum(df + PRIOR_DF_CREDIT * prior, MIN_DF))
