"""Small-sample variances of per-model means of outcomes in [0, 1].

The ratio of a variance to the largest one possible at its mean, the dispersion, is raised toward the ratio that all
models share: five good outcomes out of five do not show that a model never fails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound.value.cluster_df import MIN_DF
from deconfound.value.clusters import Influence
from deconfound.value.mean_weights import ROUNDING_ATOL, MeanWeights

PRIOR_DF = 4.0  # weight of the shared dispersion, in degrees of freedom; measured, see decision 0013
PRIOR_DF_CREDIT = 0.25  # part of PRIOR_DF counted as degrees of freedom: the models' true dispersions do differ
PSEUDO_ROWS = 2.0  # one success and one failure added where a variance is taken at a mean (Agresti and Caffo, 2000)
MAX_DISPERSION = 1.0  # of outcomes 0 and 1; assumed where no outcome varies


@dataclass(frozen=True, slots=True)
class Moderated:
    """What moderation adds to the variances of influence values."""

    dispersion: FloatArray  # (k,) variance of a mean / (mean (1 - mean)), times the effective number of clusters
    df: FloatArray  # (k,)

    def added_variance(self, weights: MeanWeights, own_variance: FloatArray, mean: FloatArray) -> FloatArray:
        """What the variance (k,) at a value (k,) lacks; independent of the other models' errors.

            target = dispersion * size * max( mean (1 - mean) / (1 - size), binomial variance after ``PSEUDO_ROWS`` )

        The first is unbiased, as the variance that a dispersion was computed from. The second is larger near 0 and 1.
        """
        size = np.where(weights.inestimable, 1.0, weights.sum_squared_weight)
        possible = np.maximum(largest_variance(mean, size), binomial_variance(mean, self.dispersion * size))
        return np.asarray(np.maximum(self.dispersion * size * possible - own_variance, 0.0))


def moderated(
    weights: MeanWeights, influence: Influence, mean_outcome: FloatArray, *, all_constant: bool = False
) -> Moderated:
    """Raise dispersions toward the one that all models share; ``influence`` is that of each mean.

        dispersion_a = own variance / (mean_a (1 - mean_a) / n_a),        n_a the effective number of clusters
        moderated_a  = max( dispersion_a, (prior * shared + I df_a dispersion_a) / (prior + I df_a) )

    I is ``variance_information``: few rows say little about the variance of outcomes with rare extremes. Outcomes 0 and
    1 have dispersion one, whatever their mean. A model whose outcomes are all equal has the shared dispersion: it
    may not have shown its rare extremes. If no model's outcomes vary (``all_constant``), every dispersion is
    ``MAX_DISPERSION``. A dispersion is never lowered: the model with the most variable outcomes would be covered too
    seldom.
    """
    own_variance, df = influence.variance(), weights.df
    size = np.where(weights.inestimable, 1.0, weights.sum_squared_weight)
    possible = np.where(weights.inestimable, 0.0, largest_variance(mean_outcome, size))
    own = np.divide(own_variance / size, possible, out=np.zeros_like(possible), where=possible > ROUNDING_ATOL)
    total = 0.0 if all_constant else float(df @ possible)
    shared = float(df @ (own_variance / size)) / total if total > ROUNDING_ATOL else MAX_DISPERSION
    prior, informative_df = prior_df(df, weights.max_df), variance_information(weights, influence) * df
    toward_shared = (prior * shared + informative_df * own) / np.maximum(prior + informative_df, ROUNDING_ATOL)
    estimable = (possible > ROUNDING_ATOL) & (own_variance > ROUNDING_ATOL**2) & (not all_constant)
    dispersion = np.where(estimable, np.maximum(own, toward_shared), shared)
    return Moderated(dispersion, np.where(weights.inestimable, np.inf, moderated_df(df, prior)))


def variance_information(weights: MeanWeights, influence: Influence) -> float:
    """Information about a variance in one row, relative to a row of normal outcomes; at most one.

        2 / (kurtosis - 1),      kurtosis over the clusters of all models

    It is the ratio of the sampling variances of an estimated variance.
    """
    size = np.where(weights.inestimable, 1.0, weights.sum_squared_weight)
    used = (weights.cluster_weight[0] > 0) & ~weights.inestimable
    scale = np.sqrt(np.where(used, weights.cluster_weight[0] * size, 1.0))
    squared = (influence.parts[0] / scale)[used] ** 2  # equal means for all models where variances are equal
    mean_square = float(squared.mean()) if len(squared) else 0.0
    if mean_square < ROUNDING_ATOL**2:
        return 1.0
    kurtosis = float((squared**2).mean()) / mean_square**2
    return min(1.0, 2 / max(kurtosis - 1, ROUNDING_ATOL))


def largest_variance(mean: FloatArray, size: FloatArray) -> FloatArray:
    """Largest variance (k,) of outcomes in [0, 1] at an estimated mean of 1 / ``size`` independent rows, unbiased."""
    inside = np.clip(np.nan_to_num(mean), 0.0, 1.0)
    unbiased = np.where(size < 1 - ROUNDING_ATOL, 1 - size, 1.0)
    return np.asarray(inside * (1 - inside) / unbiased)


def binomial_variance(mean: FloatArray, inverse_rows: FloatArray) -> FloatArray:
    """Variance (k,) of outcomes 0 and 1 at a mean, after adding ``PSEUDO_ROWS``; positive also at a mean of 0 or 1."""
    pseudo = PSEUDO_ROWS * np.maximum(inverse_rows, ROUNDING_ATOL)
    smoothed = (np.clip(np.nan_to_num(mean), 0.0, 1.0) + pseudo / 2) / (1 + pseudo)
    return np.asarray(smoothed * (1 - smoothed))


def prior_df(df: FloatArray, max_df: float = np.inf) -> FloatArray:
    """Weight of the shared dispersion for each model (k,): ``PRIOR_DF``, but at most the df of the other models.

    With clusters that all models share, ``max_df`` is what they have together.
    """
    return np.asarray(np.clip(np.minimum(df.sum(), max_df) - df, 0.0, PRIOR_DF))


def moderated_df(df: FloatArray, prior: FloatArray) -> FloatArray:
    """Degrees of freedom of a moderated variance (k,): its own plus the credit for the prior."""
    return np.asarray(np.maximum(df + PRIOR_DF_CREDIT * prior, MIN_DF))
