"""Small-sample variances of per-model means, moderated across models.

The mean of a model is a weighted mean over its own rows. Its variance is estimated without the downward bias of small
samples and then moved toward the variance that all models share (moderation, as in limma).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray, IntArray

MIN_ROWS_PER_MODEL = 2  # one row has no residual, so no variance
PRIOR_DF = 6.0  # weight of the shared variance, in degrees of freedom; measured, see decision 0008
PRIOR_DF_CREDIT = 0.5  # part of PRIOR_DF counted as degrees of freedom: the models' true variances do differ
EDGEWORTH_FACTOR = 1.1  # matches Edgeworth's expansion at z = 2.2, between one interval and eight simultaneous ones
RULE_OF_THREE_Z = 2.0  # n equal outcomes leave 3.7 / n at level 95 %, which is about two normal quantiles
ROUNDING_ATOL = 1e-12  # outcomes lie in [0, 1]; smaller differences are rounding


@dataclass(frozen=True, slots=True)
class ModelWeights:
    """Weight of each row in the mean of its model."""

    weight: FloatArray  # (n, k), columns sum to one; zero for a model without rows
    cluster: IntArray  # (n,) cluster of each row, 0 to n_clusters - 1
    n_clusters: int
    cluster_weight: FloatArray  # (n_clusters, k) summed over the rows of each cluster

    @classmethod
    def from_rows(cls, model: IntArray, n_models: int, weight: FloatArray, cluster: IntArray | None) -> Self:
        """Normalize the rows' ``weight`` (n,) within each model; ``cluster`` None means one cluster per row."""
        assigned = np.asarray(model)[:, None] == np.arange(n_models)
        unnormalized = assigned * weight[:, None]
        total = unnormalized.sum(axis=0)
        normalized = np.divide(unnormalized, total, out=np.zeros_like(unnormalized), where=total > 0)
        code = np.arange(len(normalized)) if cluster is None else np.unique(cluster, return_inverse=True)[1]
        n_clusters = int(code.max(initial=-1)) + 1
        return cls(normalized, code, n_clusters, sum_by_cluster(normalized, code, n_clusters))

    @property
    def inestimable(self) -> NDArray[np.bool_]:
        """Models (k,) whose variance cannot be estimated: too few rows, or all of them in one cluster."""
        few_rows = (self.weight > 0).sum(axis=0) < MIN_ROWS_PER_MODEL
        return np.asarray(few_rows | ((self.cluster_weight > 0).sum(axis=0) < 2))

    @property
    def sum_squared_weight(self) -> FloatArray:
        """Sum of squared cluster weights (k,): one over the effective number of clusters."""
        return np.asarray((self.cluster_weight**2).sum(axis=0))

    @property
    def df(self) -> FloatArray:
        """Degrees of freedom of each model's own variance (k,): (sum w^2)^2 / sum w^4 - 1 over clusters."""
        with np.errstate(invalid="ignore"):
            df = self.sum_squared_weight**2 / (self.cluster_weight**4).sum(axis=0) - 1
        return np.where(self.inestimable, 0.0, np.maximum(df, 0.0))

    def mean(self, column: FloatArray) -> FloatArray:
        """Weighted mean of a column (n,) over the rows of each model (k,); NaN without rows."""
        return np.where(self.weight.sum(axis=0) > 0, self.weight.T @ column, np.nan)

    def influence(self, column: FloatArray) -> FloatArray:
        """Contribution of each cluster to the error of ``mean`` (n_clusters, k); the squares sum to its variance.

            influence_ga = sum_{j in g} w_ja (y_j - mean_a) / sqrt(1 - w_ga)

        A cluster's weight is its leverage. The divisor undoes the shrinkage of residuals by the fitted mean (HC2); it
        is exact where rows have equal weights and equal variances.
        """
        centered = column[:, None] - np.nan_to_num(self.mean(column))
        without_leverage = np.where(self.cluster_weight < 1 - ROUNDING_ATOL, 1 - self.cluster_weight, 1.0)
        return sum_by_cluster(self.weight * centered, self.cluster, self.n_clusters) / np.sqrt(without_leverage)


@dataclass(frozen=True, slots=True)
class Moderated:
    """Influence values whose squares sum, with ``added_variance``, to moderated variances."""

    influence: FloatArray  # (n_clusters, k)
    added_variance: FloatArray  # (k,)
    df: FloatArray  # (k,)


def moderated(weights: ModelWeights, influence: FloatArray, all_constant: bool) -> Moderated:
    """Moderate the variances of influence values (n_clusters, k) across models.

    A variance above its moderated value is lowered by scaling the influence values. One below it is raised by an
    independent ``added_variance``, so that the covariance matrix remains valid for any clusters. Five identical
    outcomes then do not give zero variance. ``all_constant`` states that no model's outcomes vary at all; the variance
    is then that of the rule of three.
    """
    df, size = weights.df, np.where(weights.inestimable, 1.0, weights.sum_squared_weight)
    own = (influence**2).sum(axis=0) / size
    total = df.sum()
    shared = float(df @ own / total) if total > 0 else 0.0
    prior = prior_df(df)
    target = moderated_variance(df * own, df, shared, prior)
    scale = np.sqrt(np.divide(target, own, out=np.ones_like(own), where=own > target))
    added_variance = np.maximum(target - own, 0.0) * size
    if all_constant:
        added_variance = np.maximum(added_variance, (RULE_OF_THREE_Z * size) ** 2)
    final_df = moderated_df(df, squared_skewness(weights, influence), prior)
    return Moderated(influence * scale, added_variance, np.where(weights.inestimable, np.inf, final_df))


def prior_df(df: FloatArray) -> FloatArray:
    """Weight of the shared variance for each model (k,): ``PRIOR_DF``, but at most the df of the other models."""
    return np.asarray(np.minimum(PRIOR_DF, df.sum() - df))


def moderated_variance(
    sum_of_squares: FloatArray, df: FloatArray, shared: float, prior: float | FloatArray
) -> FloatArray:
    """Moderated variance of one row (k,), with sum_of_squares = df * own variance.

    (prior * shared + sum_of_squares) / (prior + df)
    """
    return np.asarray((prior * shared + sum_of_squares) / np.maximum(prior + df, ROUNDING_ATOL))


def moderated_df(df: FloatArray, skew: FloatArray, prior: FloatArray) -> FloatArray:
    """Degrees of freedom of a moderated variance (k,): ``edgeworth_df`` plus the credit for the prior, at least 1."""
    return np.asarray(np.maximum(edgeworth_df(df, skew, prior) + PRIOR_DF_CREDIT * prior, 1.0))


def squared_skewness(weights: ModelWeights, influence: FloatArray) -> FloatArray:
    """Squared skewness of each model's residuals (k,); 0 where they vary by no more than rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (influence**2).sum(axis=0) / weights.sum_squared_weight
        third_moment = (influence**3).sum(axis=0) / (weights.cluster_weight**3).sum(axis=0)
        skew = third_moment**2 / variance**3
    return np.where(variance > ROUNDING_ATOL, skew, 0.0)


def edgeworth_df(df: FloatArray, skew: FloatArray, prior: FloatArray) -> FloatArray:
    """Degrees of freedom (k,) at which a t interval has its coverage in spite of squared skewness ``skew``.

        1 / result = 1 / df + own * EDGEWORTH_FACTOR * skew / (df + 1),      own = df / (df + prior)

    With nine good outcomes in ten, a sample that misses the tenth has both a mean that is too high and a variance that
    is too small. By Edgeworth's expansion the coverage of a two-sided interval at quantile z falls by
    2 phi(z) z skew (z^4 + 2 z^2 - 3) / 18 / n; kurtosis without skewness costs nothing. ``own`` is the part of the
    moderated variance that comes from the model's own rows.
    """
    with np.errstate(divide="ignore"):
        own = df / np.maximum(df + prior, ROUNDING_ATOL)
        corrected = 1 / (1 / df + own * EDGEWORTH_FACTOR * skew / (df + 1))
    return np.where(df > 0, corrected, 0.0)


def sum_by_cluster(rows: FloatArray, cluster: IntArray, n_clusters: int) -> FloatArray:
    """Sums of rows (n, columns) by cluster (n_clusters, columns)."""
    total = np.zeros((n_clusters, rows.shape[1]))
    if n_clusters == len(rows):
        total[cluster] = rows
    else:
        np.add.at(total, cluster, rows)
    return total
