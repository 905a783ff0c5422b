"""Moments over subsets of a long experiment, at the full width or with fewer columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from deconfound.design import DenseMatrix, FeatureMatrix, FloatArray, IntArray
from deconfound.linalg.moments import Moments

TUNING_WIDTH = 512
"""Sparse columns left for comparing hyperparameters; each of thousands of systems takes the cube of it."""

SAMPLED_ROWS = 256  # that show which columns are sparse
SPARSE_SHARE = 0.5  # largest share of nonzero entries in a sparse column
MAX_CACHED = 64  # subsets; tuning in six nested subsets uses thirty


@dataclass(frozen=True, eq=False)
class SubsetMoments:
    """Moments of features and one target over any rows of an experiment."""

    features: FeatureMatrix  # (n, d)
    target: FloatArray  # (n,)
    weight: FloatArray  # (n,)

    def of(self, train: IntArray) -> Moments:
        """Over the rows ``train``; a row that is drawn twice counts twice."""
        rows, count = np.unique(train, return_counts=True)
        return Moments.of_rows(self.features.take(rows), self.target[rows, None], self.weight[rows] * count)

    @cached_property
    def narrow(self) -> NarrowMoments:
        """The same with at most ``TUNING_WIDTH`` sparse columns."""
        fold = fold_sparse_columns(self.features, TUNING_WIDTH)
        features = self.features if fold is None else DenseMatrix(self.features @ fold)
        return NarrowMoments(SubsetMoments(features, self.target, self.weight), fold)


@dataclass(frozen=True, eq=False)
class NarrowMoments:
    """Moments with fewer columns; those of the latest subsets are cached."""

    subsets: SubsetMoments
    fold: FloatArray | None  # (d, columns), None where no columns are added up
    _cached: dict[bytes, Moments] = field(default_factory=dict)

    def of(self, train: IntArray) -> Moments:
        """Over the rows ``train``."""
        key = train.tobytes()
        if key not in self._cached:
            if len(self._cached) >= MAX_CACHED:
                del self._cached[next(iter(self._cached))]
            self._cached[key] = self.subsets.of(train)
        return self._cached[key]

    def folded(self, moments: Moments) -> Moments:
        """Moments of another source with the same columns added up."""
        if self.fold is None:
            return moments
        return Moments(
            moments.weight,
            moments.mean @ self.fold,
            moments.target_mean,
            self.fold.T @ (moments.covariance @ self.fold),
            self.fold.T @ moments.cross_covariance,
        )


def fold_sparse_columns(features: FeatureMatrix, width: int) -> FloatArray | None:
    """The matrix (d, columns) that adds up sparse columns whose numbers are equal modulo ``width``.

    Hashed text is sparse: added up, its columns are those of a narrower hash. Columns in which most rows have an entry
    stay apart. None where there are at most ``width`` sparse columns.
    """
    rows, columns = features.shape
    sample = features.take(np.unique(np.linspace(0, rows - 1, SAMPLED_ROWS).astype(np.int64))).toarray()
    sparse = np.flatnonzero((sample != 0).mean(axis=0) <= SPARSE_SHARE)
    if len(sparse) <= width:
        return None
    filled = np.setdiff1d(np.arange(columns), sparse)
    fold = np.zeros((columns, width + len(filled)))
    fold[sparse, sparse % width] = 1.0
    fold[filled, width + np.arange(len(filled))] = 1.0
    return fold
