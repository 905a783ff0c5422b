"""Small-sample variances of per-model means of outcomes in [0, 1].

The mean of a model is a weighted mean over its own rows. Its variance is estimated without the downward bias of small
samples. The ratio of that variance to the largest one possible at this mean, the dispersion, is then raised toward the
ratio that all models share: five good outcomes out of five do not show that a model never fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray, IntArray
from deconfound.design.outcome_sums import ClusterSums, OutcomeSums
from deconfound.value.clusters import MAX_WAYS, Clusters, Influence

MIN_ROWS_PER_MODEL = 2  # one row has no residual, so no variance
PRIOR_DF = 4.0  # weight of the shared dispersion, in degrees of freedom; measured, see decision 0013
PRIOR_DF_CREDIT = 0.25  # part of PRIOR_DF counted as degrees of freedom: the models' true dispersions do differ
PSEUDO_ROWS = 2.0  # one success and one failure added where a variance is taken at a mean (Agresti and Caffo, 2000)
MAX_DISPERSION = 1.0  # of outcomes 0 and 1; assumed where no outcome varies
ROUNDING_ATOL = 1e-12  # outcomes lie in [0, 1]; smaller differences are rounding


class MeanWeights(Protocol):
    """What the variance of a model's mean depends on, whether rows or sums over clusters are known."""

    @property
    def cluster_weight(self) -> tuple[FloatArray, ...]:
        """Weight of each cluster in the mean of each model (clusters, k), for each way of clustering."""
        ...

    @property
    def inestimable(self) -> NDArray[np.bool_]:
        """Models (k,) whose variance cannot be estimated: too few rows, or all of them in one cluster."""
        ...

    @property
    def sum_squared_weight(self) -> FloatArray:
        """Sum of squared cluster weights (k,), the largest over the ways: one over the effective number of clusters."""
        ...

    @property
    def df(self) -> FloatArray:
        """Degrees of freedom of each model's own variance (k,)."""
        ...


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
        """Models (k,) with too few rows, or all of them in one cluster."""
        few_rows = (self.weight > 0).sum(axis=0) < MIN_ROWS_PER_MODEL
        return np.asarray(few_rows | _in_one_cluster(self._counted))

    @property
    def sum_squared_weight(self) -> FloatArray:
        """Sum of squared cluster weights (k,)."""
        return _sum_squared_weight(self._counted)

    @property
    def df(self) -> FloatArray:
        """Degrees of freedom (k,)."""
        return np.where(self.inestimable, 0.0, _cluster_df(self._counted))

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
        return Influence(_without_leverage(sums.parts, self.cluster_weight), sums.signs)


@dataclass(frozen=True, slots=True, eq=False)
class SummedWeights:
    """As ``ModelWeights`` with equal weights for all rows of a model, from sums over clusters."""

    cluster_weight: tuple[FloatArray, ...]  # (clusters of the way, k): one way, or two and their intersection
    cluster_deviation: tuple[FloatArray, ...]  # (clusters of the way, k) weighted sums of outcomes minus their mean
    mean: FloatArray  # (k,) NaN without rows

    @classmethod
    def from_sums(cls, sums: OutcomeSums) -> Self:
        """A way whose clusters lie inside those of the other is left out, as in ``Clusters.from_codes``.

        Where clusters were added up that cannot be seen, and no way is left out.
        """
        rows = sums.ways[0].counts.sum(axis=0)
        size = np.maximum(rows, 1.0)
        mean = np.where(rows > 0, sums.ways[0].totals.sum(axis=0) / size, np.nan)
        ways = _distinct_ways(sums)
        deviations = tuple((way.totals - way.counts * np.nan_to_num(mean)) / size for way in ways)
        return cls(tuple(way.counts / size for way in ways), deviations, mean)

    @property
    def clusters(self) -> int:
        """Number of clusters, of the way that has fewest."""
        return min(len(weight) for weight in self._counted)

    @property
    def inestimable(self) -> NDArray[np.bool_]:
        """Models (k,) with all rows in one cluster, or with none."""
        return _in_one_cluster(self._counted)

    @property
    def sum_squared_weight(self) -> FloatArray:
        """Sum of squared cluster weights (k,)."""
        return _sum_squared_weight(self._counted)

    @property
    def df(self) -> FloatArray:
        """Degrees of freedom (k,)."""
        return np.where(self.inestimable, 0.0, _cluster_df(self._counted))

    @property
    def influence(self) -> Influence:
        """Contribution of each cluster to the error of ``mean``, as ``ModelWeights.influence``."""
        signs = (1.0, 1.0, -1.0)[: len(self.cluster_weight)]
        return Influence(_without_leverage(self.cluster_deviation, self.cluster_weight), signs)

    @property
    def _counted(self) -> tuple[FloatArray, ...]:
        return self.cluster_weight[:MAX_WAYS]


def _distinct_ways(sums: OutcomeSums) -> tuple[ClusterSums, ...]:
    if len(sums.ways) == 1 or any(way.is_folded for way in sums.ways):
        return sums.ways
    first, second, both = sums.ways
    if len(both.keys) == len(second.keys):
        return (first,)
    return (second,) if len(both.keys) == len(first.keys) else sums.ways


def _in_one_cluster(by_way: Sequence[FloatArray]) -> NDArray[np.bool_]:
    fewest = np.minimum.reduce([(weight > 0).sum(axis=0) for weight in by_way])
    return np.asarray(fewest < 2)


def _sum_squared_weight(by_way: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.maximum.reduce([(weight**2).sum(axis=0) for weight in by_way]))


def _cluster_df(by_way: Sequence[FloatArray]) -> FloatArray:
    """(sum w^2)^2 / sum w^4 - 1 over clusters (k,), the smallest over the ways."""
    with np.errstate(invalid="ignore", divide="ignore"):
        df = [(weight**2).sum(axis=0) ** 2 / (weight**4).sum(axis=0) - 1 for weight in by_way]
    return np.asarray(np.maximum(np.minimum.reduce(df), 0.0))


def _without_leverage(parts: Sequence[FloatArray], weights: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
    leverage = (np.where(weight < 1 - ROUNDING_ATOL, weight, 0.0) for weight in weights)
    return tuple(part / np.sqrt(1 - own) for part, own in zip(parts, leverage, strict=True))


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
    prior, informative_df = prior_df(df), variance_information(weights, influence) * df
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


def prior_df(df: FloatArray) -> FloatArray:
    """Weight of the shared dispersion for each model (k,): ``PRIOR_DF``, but at most the df of the other models."""
    return np.asarray(np.minimum(PRIOR_DF, df.sum() - df))


def moderated_df(df: FloatArray, prior: FloatArray) -> FloatArray:
    """Degrees of freedom of a moderated variance (k,): its own plus the credit for the prior, at least 1."""
    return np.asarray(np.maximum(df + PRIOR_DF_CREDIT * prior, 1.0))
