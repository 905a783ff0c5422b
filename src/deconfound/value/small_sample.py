"""Small-sample variances of per-model means of outcomes in [0, 1].

The mean of a model is a weighted mean over its own rows. Its variance is estimated without the downward bias of small
samples. The ratio of that variance to the largest one possible at this mean, the dispersion, is then raised toward the
ratio that all models share: five good outcomes out of five do not show that a model never fails.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray, IntArray
from deconfound.value.clusters import Clusters, Influence

MIN_ROWS_PER_MODEL = 2  # one row has no residual, so no variance
PRIOR_DF = 4.0  # weight of the shared dispersion, in degrees of freedom; measured, see decision 0013
PRIOR_DF_CREDIT = 0.25  # part of PRIOR_DF counted as degrees of freedom: the models' true dispersions do differ
PSEUDO_ROWS = 2.0  # one success and one failure added where a variance is taken at a mean (Agresti and Caffo, 2000)
MAX_DISPERSION = 1.0  # of outcomes 0 and 1; assumed where no outcome varies
ROUNDING_ATOL = 1e-12  # outcomes lie in [0, 1]; smaller differences are rounding


@dataclass(frozen=True, slots=True)
class ModelWeights:
    """Weight of each row in the mean of its model."""

    weight: FloatArray  # (n, k), columns sum to one; zero for a model without rows
    clusters: Clusters
    cluster_weight: tuple[FloatArray, ...]  # (clusters of the way, k) for each way

    @classmethod
    def from_rows(cls, model: IntArray, n_models: int, weight: FloatArray, cluster: IntArray | None) -> Self:
        """Normalize the rows' ``weight`` (n,) within each model; ``cluster`` as in ``Clusters.from_codes``."""
        assigned = np.asarray(model)[:, None] == np.arange(n_models)
        unnormalized = assigned * weight[:, None]
        total = unnormalized.sum(axis=0)
        normalized = np.divide(unnormalized, total, out=np.zeros_like(unnormalized), where=total > 0)
        clusters = Clusters.from_codes(cluster, len(normalized))
        return cls(normalized, clusters, clusters.sums(normalized).parts)

    def with_row_weights(self, row_weight: FloatArray) -> Self:
        """Other weights (n, k) for the same rows and clusters, normalized to sum to one over the rows."""
        total = row_weight.sum(axis=0)
        weight = np.divide(row_weight, total, out=np.zeros_like(row_weight), where=total > 0)
        return replace(self, weight=weight, cluster_weight=self.clusters.sums(weight).parts)

    @property
    def inestimable(self) -> NDArray[np.bool_]:
        """Models (k,) whose variance cannot be estimated: too few rows, or all of them in one cluster."""
        few_rows = (self.weight > 0).sum(axis=0) < MIN_ROWS_PER_MODEL
        fewest = np.minimum.reduce([(weight > 0).sum(axis=0) for weight in self._counted])
        return np.asarray(few_rows | (fewest < 2))

    @property
    def sum_squared_weight(self) -> FloatArray:
        """Sum of squared cluster weights (k,), the largest over the ways: one over the effective number of clusters."""
        return np.asarray(np.maximum.reduce([(weight**2).sum(axis=0) for weight in self._counted]))

    @property
    def df(self) -> FloatArray:
        """Degrees of freedom of each model's own variance (k,): (sum w^2)^2 / sum w^4 - 1 over clusters.

        The smallest over the ways.
        """
        with np.errstate(invalid="ignore"):
            by_way = [(weight**2).sum(axis=0) ** 2 / (weight**4).sum(axis=0) - 1 for weight in self._counted]
        return np.where(self.inestimable, 0.0, np.maximum(np.minimum.reduce(by_way), 0.0))

    @property
    def _counted(self) -> tuple[FloatArray, ...]:
        return self.cluster_weight[: len(self.clusters.counted)]

    def mean(self, column: FloatArray) -> FloatArray:
        """Weighted mean over the rows of each model (k,) of a column (n,), or of one column per model (n, k).

        NaN without rows.
        """
        mean = self.weight.T @ column if column.ndim == 1 else (self.weight * column).sum(axis=0)
        return np.where(self.weight.sum(axis=0) > 0, mean, np.nan)

    def influence(self, column: FloatArray) -> Influence:
        """Contribution of each cluster to the error of ``mean``.

            influence_ga = sum_{j in g} w_ja (y_j - mean_a) / sqrt(1 - w_ga)

        A cluster's weight is its leverage. The divisor undoes the shrinkage of residuals by the fitted mean (HC2); it
        is exact where rows have equal weights and equal variances.
        """
        centered = (column[:, None] if column.ndim == 1 else column) - np.nan_to_num(self.mean(column))
        sums = self.clusters.sums(self.weight * centered)
        leverage = (np.where(weight < 1 - ROUNDING_ATOL, weight, 0.0) for weight in self.cluster_weight)
        parts = tuple(part / np.sqrt(1 - own) for part, own in zip(sums.parts, leverage, strict=True))
        return Influence(parts, sums.signs)


@dataclass(frozen=True, slots=True)
class Moderated:
    """What moderation adds to the variances of influence values."""

    dispersion: FloatArray  # (k,) variance of a mean / (mean (1 - mean)), times the effective number of clusters
    df: FloatArray  # (k,)

    def added_variance(self, weights: ModelWeights, own_variance: FloatArray, mean: FloatArray) -> FloatArray:
        """What the variance (k,) at a value (k,) lacks; independent of the other models' errors.

            target = dispersion * size * max( mean (1 - mean) / (1 - size), binomial variance after ``PSEUDO_ROWS`` )

        The first is unbiased, as the variance that a dispersion was computed from. The second is larger near 0 and 1.
        """
        size = np.where(weights.inestimable, 1.0, weights.sum_squared_weight)
        possible = np.maximum(largest_variance(mean, size), binomial_variance(mean, self.dispersion * size))
        return np.asarray(np.maximum(self.dispersion * size * possible - own_variance, 0.0))


def moderated(
    weights: ModelWeights, influence: Influence, mean_outcome: FloatArray, *, all_constant: bool = False
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
    prior, informative_df = prior_df(df), variance_information(weights, influence) * df
    toward_shared = (prior * shared + informative_df * own) / np.maximum(prior + informative_df, ROUNDING_ATOL)
    estimable = (possible > ROUNDING_ATOL) & (own_variance > ROUNDING_ATOL**2) & (not all_constant)
    dispersion = np.where(estimable, np.maximum(own, toward_shared), shared)
    return Moderated(dispersion, np.where(weights.inestimable, np.inf, moderated_df(df, prior)))


def variance_information(weights: ModelWeights, influence: Influence) -> float:
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


def prior_df(df: FloatArray) -> FloatArray:
    """Weight of the shared dispersion for each model (k,): ``PRIOR_DF``, but at most the df of the other models."""
    return np.asarray(np.minimum(PRIOR_DF, df.sum() - df))


def moderated_df(df: FloatArray, prior: FloatArray) -> FloatArray:
    """Degrees of freedom of a moderated variance (k,): its own plus the credit for the prior, at least 1."""
    return np.asarray(np.maximum(df + PRIOR_DF_CREDIT * prior, 1.0))
