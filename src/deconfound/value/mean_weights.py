"""Weights of rows and clusters in the mean of each model, and what follows from them alone.

The mean of a model is a weighted mean over its own rows. Its variance is estimated without the downward bias of small
samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray, IntArray
from deconfound.design.outcome_sums import ClusterSums, OutcomeSums
from deconfound.value.cluster_df import MANY_DF, mean_df
from deconfound.value.clusters import MAX_WAYS, Clusters, Influence

MIN_ROWS_PER_MODEL = 2  # one row has no residual, so no variance
ROUNDING_ATOL = 1e-12  # outcomes lie in [0, 1]; smaller differences are rounding


class MeanWeights(Protocol):
    """What the variance of a model's mean depends on, whether rows or sums over clusters are known."""

    @property
    def counted(self) -> tuple[FloatArray, ...]:
        """Weight of each cluster in the mean of each model (clusters, k), for one or two ways of clustering."""
        ...

    @property
    def row_size(self) -> FloatArray:
        """Sum of squared weights of rows (k,)."""
        ...

    @property
    def inestimable(self) -> NDArray[np.bool_]:
        """Models (k,) whose variance cannot be estimated: too few rows, or all of them in one cluster."""
        ...

    @property
    def df(self) -> FloatArray:
        """Degrees of freedom of each model's mean (k,), zero where it is inestimable."""
        ...

    @property
    def max_df(self) -> float:
        """Degrees of freedom of a mean over all rows: models that share few clusters have no more together."""
        ...

    def pair_squares(self, first: IntArray, second: IntArray) -> tuple[FloatArray, ...]:
        """Sums over each cluster of the squared weights of rows in the average of two means (clusters, pairs)."""
        ...


def sum_squared_weight(weights: MeanWeights) -> FloatArray:
    """Sum of squared cluster weights (k,), the largest over the ways; one for an inestimable mean."""
    size = np.maximum.reduce([(weight**2).sum(axis=0) for weight in weights.counted])
    return np.where(weights.inestimable, 1.0, size)


def independent_rows(weights: MeanWeights) -> FloatArray:
    """Effective number of clusters behind each mean (k,)."""
    return np.asarray(1 / sum_squared_weight(weights))


def difference_df_limit(weights: MeanWeights) -> FloatArray:
    """The most degrees of freedom that a difference of two means has (k, k), where models share clusters.

    Two models with the same four users do not have six degrees of freedom together, but three: those of the average of
    the two means. Infinite where models share no clusters, or where each has so many that it does not matter.
    """
    count = len(weights.df)
    first, second = np.triu_indices(count, 1)
    few = np.minimum(weights.df[first], weights.df[second]) < MANY_DF
    shared = np.logical_or.reduce([((weight.T @ weight) > 0)[first, second] for weight in weights.counted])
    first, second = first[few & shared], second[few & shared]
    limit = np.full((count, count), np.inf)
    if len(first):
        averages = [(weight[:, first] + weight[:, second]) / 2 for weight in weights.counted]
        limit[first, second] = np.maximum(_smallest_df(averages, weights.pair_squares(first, second)), 1.0)
    return np.asarray(np.minimum(limit, limit.T))


@dataclass(frozen=True, slots=True)
class ModelWeights:
    """Weight of each row in the mean of its model."""

    weight: FloatArray  # (n, k), columns sum to one; zero for a model without rows
    clusters: Clusters
    cluster_weight: tuple[FloatArray, ...]  # (clusters of the way, k) for each way
    df: FloatArray  # (k,)
    max_df: float

    @classmethod
    def from_rows(cls, model: IntArray, n_models: int, weight: FloatArray, cluster: IntArray | None) -> Self:
        """Normalize the rows' ``weight`` (n,) within each model; ``cluster`` as in ``Clusters.from_codes``."""
        assigned = np.asarray(model)[:, None] == np.arange(n_models)
        unnormalized = assigned * weight[:, None]
        total = unnormalized.sum(axis=0)
        normalized = np.divide(unnormalized, total, out=np.zeros_like(unnormalized), where=total > 0)
        clusters = Clusters.from_codes(cluster, len(normalized))
        return cls._from_normalized(normalized, clusters)

    @classmethod
    def _from_normalized(cls, weight: FloatArray, clusters: Clusters) -> Self:
        used = (weight > 0).any(axis=1)
        columns = np.column_stack([weight, used / max(used.sum(), 1)])
        *df, max_df = _smallest_df(clusters.sums(columns).parts, clusters.sums(columns**2).parts)
        return cls(weight, clusters, clusters.sums(weight).parts, np.where(_few_rows(weight), 0.0, df), float(max_df))

    def with_row_weights(self, row_weight: FloatArray) -> Self:
        """Other weights (n, k) for the same rows and clusters, normalized to sum to one over the rows."""
        total = row_weight.sum(axis=0)
        weight = np.divide(row_weight, total, out=np.zeros_like(row_weight), where=total > 0)
        return self._from_normalized(weight, self.clusters)

    @property
    def inestimable(self) -> NDArray[np.bool_]:
        """Models (k,) with too few rows, or all of them in one cluster."""
        return np.asarray(_few_rows(self.weight) | _in_one_cluster(self.counted))

    @property
    def row_size(self) -> FloatArray:
        """Sum of squared weights of rows (k,)."""
        return np.asarray((self.weight**2).sum(axis=0))

    @property
    def counted(self) -> tuple[FloatArray, ...]:
        """Weight of each cluster (clusters, k) for each way, without the intersection."""
        return self.cluster_weight[: len(self.clusters.counted)]

    def pair_squares(self, first: IntArray, second: IntArray) -> tuple[FloatArray, ...]:
        """Sums over clusters of squared row weights in the averages of two means (clusters, pairs)."""
        squares = self.clusters.sums((self.weight[:, first] + self.weight[:, second]) ** 2 / 4).parts
        return squares[: len(self.counted)]

    def mean(self, column: FloatArray) -> FloatArray:
        """Weighted mean over the rows of each model (k,) of a column (n,), or of one column per model (n, k).

        NaN without rows.
        """
        mean = self.weight.T @ column if column.ndim == 1 else (self.weight * column).sum(axis=0)
        return np.where(self.weight.sum(axis=0) > 0, mean, np.nan)

    def row_variance(self, column: FloatArray) -> FloatArray:
        """Variance of each mean (k,) of a column (n,), if all rows were independent."""
        centered = column[:, None] - np.nan_to_num(self.mean(column))
        return np.asarray((_without_leverage([self.weight * centered], [self.weight])[0] ** 2).sum(axis=0))

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
    rows: FloatArray  # (k,)
    mean: FloatArray  # (k,) NaN without rows
    row_variance: FloatArray  # (k,) of the mean, if all rows were independent
    df: FloatArray  # (k,)
    max_df: float

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
        weights = tuple(way.counts / size for way in ways)
        df = _smallest_df(weights, tuple(weight / size for weight in weights))
        together = tuple(way.counts.sum(axis=1, keepdims=True) / max(rows.sum(), 1.0) for way in ways)
        max_df = _smallest_df(together, tuple(weight / max(rows.sum(), 1.0) for weight in together))
        squared_sd = np.maximum(sums.squares - size * np.nan_to_num(mean) ** 2, 0.0) / np.maximum(size - 1, 1.0)
        return cls(weights, deviations, rows, mean, squared_sd / size, df, float(max_df[0]))

    @property
    def inestimable(self) -> NDArray[np.bool_]:
        """Models (k,) with all rows in one cluster, or with none."""
        return _in_one_cluster(self.counted)

    @property
    def row_size(self) -> FloatArray:
        """Sum of squared weights of rows (k,)."""
        return np.where(self.rows > 0, 1 / np.maximum(self.rows, 1.0), 0.0)

    @property
    def counted(self) -> tuple[FloatArray, ...]:
        """Weight of each cluster (clusters, k) for each way, without the intersection."""
        return self.cluster_weight[:MAX_WAYS]

    def pair_squares(self, first: IntArray, second: IntArray) -> tuple[FloatArray, ...]:
        """Sums over clusters of squared row weights in the averages of two means (clusters, pairs)."""
        squares = [weight * self.row_size / 4 for weight in self.counted]
        return tuple(square[:, first] + square[:, second] for square in squares)

    @property
    def influence(self) -> Influence:
        """Contribution of each cluster to the error of ``mean``, as ``ModelWeights.influence``."""
        signs = (1.0, 1.0, -1.0)[: len(self.cluster_weight)]
        return Influence(_without_leverage(self.cluster_deviation, self.cluster_weight), signs)


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


def _few_rows(weight: FloatArray) -> NDArray[np.bool_]:
    return np.asarray((weight > 0).sum(axis=0) < MIN_ROWS_PER_MODEL)


def clustered_df(clusters: Clusters, weight: FloatArray, extra: FloatArray | None = None) -> float:
    """Degrees of freedom of one mean with row weights (n,), which need not sum to one.

    ``extra`` (N,) are weights of further rows, each of them a cluster of its own.
    """
    extra = np.zeros(0) if extra is None else extra
    total = weight.sum() + extra.sum()
    if not total > 0:
        return 0.0
    own, more = (weight / total)[:, None], (extra / total)[:, None]
    by_way, squares = ([np.vstack([sums, more**power]) for sums in clusters.sums(own**power).parts] for power in (1, 2))
    return float(_smallest_df(by_way, squares)[0])


def _smallest_df(by_way: Sequence[FloatArray], squares: Sequence[FloatArray]) -> FloatArray:
    """Degrees of freedom (k,) of the way that has fewest, without the intersection of the ways."""
    ways = list(zip(by_way, squares, strict=True))[:MAX_WAYS]
    return np.asarray(np.minimum.reduce([mean_df(weight, square) for weight, square in ways]))


def _without_leverage(parts: Sequence[FloatArray], weights: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
    leverage = (np.where(weight < 1 - ROUNDING_ATOL, weight, 0.0) for weight in weights)
    return tuple(part / np.sqrt(1 - own) for part, own in zip(parts, leverage, strict=True))
