"""Feature rows from a fixed collection whose inner products are computed once.

A benchmark draws thousands of logs from the same outputs. The inner products of those outputs never change, so a draw
looks them up instead of multiplying features again. ``GramRows`` implements ``deconfound.design.FeatureMatrix``, whose
module describes what the package asks of such rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import final

import numpy as np

from deconfound.design import (
    BoolArray,
    ColumnCovariance,
    DenseMatrix,
    EigenPairs,
    FeatureMatrix,
    FloatArray,
    GramOperator,
    IntArray,
)

GATHER_RATIO = 8  # below one row in this many, copying the rows is faster than a pass over the whole collection
EIGENVALUE_RTOL = 1e-13  # eigenvalues below this share of the largest are rounding noise


class GramStore:
    """The collection: coordinates of its rows in an orthonormal basis of their span, and their inner products.

    ``coordinates @ coordinates.T`` equals ``kernel``, so a ridge on the coordinates is a ridge on the original
    features in a rotated basis. The store caches one eigendecomposition: logs that differ only in their outcomes
    follow one another in a benchmark.
    """

    def __init__(self, coordinates: FloatArray, kernel: FloatArray) -> None:
        self.coordinates = coordinates  # (p, r)
        self.kernel = kernel  # (p, p)
        self._eigen_cache: dict[bytes, EigenPairs] = {}

    def rows(self, index: IntArray) -> GramRows:
        """The rows at ``index``, in that order, repeats allowed."""
        return GramRows(self, np.ascontiguousarray(index, dtype=np.int64))

    def cached_eigh(self, key: bytes, compute: Callable[[], EigenPairs]) -> EigenPairs:
        """The last decomposition if it has this key, otherwise a new one in its place."""
        if key not in self._eigen_cache:
            self._eigen_cache.clear()
            self._eigen_cache[key] = compute()
        return self._eigen_cache[key]


@final
@dataclass(frozen=True, slots=True, eq=False)
class GramRows:
    """A selection of rows from a store."""

    store: GramStore
    index: IntArray  # (n,)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and coordinates."""
        return len(self.index), self.store.coordinates.shape[1]

    @property
    def has_stored_gram(self) -> bool:
        """Inner products are a lookup."""
        return True

    @property
    def stacks_cheaply(self) -> bool:
        """Only row numbers are copied."""
        return True

    def __matmul__(self, right: FloatArray) -> FloatArray:
        # A product with the whole store gives equal rows equal bits; one with selected rows may not.
        return np.asarray((self.store.coordinates @ right)[self.index])

    def transposed_product(self, right: FloatArray) -> FloatArray:
        """X' @ right, from copies of the rows if they are few and otherwise from the whole store."""
        coordinates = self.store.coordinates
        if GATHER_RATIO * len(self.index) < len(coordinates):
            return np.asarray(coordinates[self.index].T @ right)
        total = np.zeros((len(coordinates), *right.shape[1:]))
        np.add.at(total, self.index, right)
        return np.asarray(coordinates.T @ total)

    def take(self, rows: IntArray | slice) -> GramRows:
        """The rows at these places."""
        return GramRows(self.store, self.index[rows])

    def stack(self, below: Sequence[FeatureMatrix]) -> GramRows:
        """These rows with other rows of the same store below them."""
        return self.store.rows(np.concatenate([self.index, *(self._same_store(part).index for part in below)]))

    def toarray(self) -> FloatArray:
        """The coordinates of the rows."""
        return np.asarray(self.store.coordinates[self.index])

    def all_finite(self) -> bool:
        """True: a store is built from finite numbers, and reading it whole for every draw would be slow."""
        return True

    def mean_row(self) -> FloatArray:
        """Unweighted mean of the rows."""
        return self.transposed_product(np.full(len(self.index), 1.0 / max(len(self.index), 1)))

    def squared_row_norms(self) -> FloatArray:
        """Squared length of each row."""
        return np.asarray(np.diag(self.store.kernel)[self.index])

    def inner_products(self, other: FeatureMatrix) -> FloatArray:
        """A lookup."""
        return self.store.kernel[np.ix_(self.index, self._same_store(other).index)]

    def gram_operator(self) -> GramOperator:
        """The looked-up Gram matrix as an operator."""
        gram = self.inner_products(self)
        return GramOperator(lambda block: np.asarray(gram @ block), panel_columns=64, beats_dense_gram=False)

    def weighted_covariance(self, normalized_weight: FloatArray, centered_targets: FloatArray) -> ColumnCovariance:
        """From the coordinates of the rows."""
        return DenseMatrix(self.toarray()).weighted_covariance(normalized_weight, centered_targets)

    def weighted_eigh(self, root: FloatArray, weighted_gram: Callable[[], FloatArray]) -> EigenPairs:
        """Computed only for rows or weights other than those of the last call."""

        def compute() -> EigenPairs:
            values, vectors = np.linalg.eigh(weighted_gram())
            return values, vectors

        return self.store.cached_eigh(blake2b(self.index.tobytes() + root.tobytes()).digest(), compute)

    def random_projection(self, seed: int) -> FloatArray:
        """A product with the whole store."""
        return self @ np.random.default_rng(seed).standard_normal(self.shape[1])

    def possible_duplicates(self) -> IntArray:
        """All rows."""
        return np.arange(len(self.index))

    def rows_differ(self, left: IntArray, right: IntArray) -> BoolArray:
        """Rows are compared by their place in the store."""
        return np.asarray(self.index[left] != self.index[right])

    def _same_store(self, other: FeatureMatrix) -> GramRows:
        if not isinstance(other, GramRows) or other.store is not self.store:
            raise TypeError("rows of a Gram store can only be combined with rows of the same store")
        return other


def gram_store_by_eigh(kernel: FloatArray) -> tuple[GramStore, FloatArray]:
    """A store from the inner products of its rows, and the map (p, r) that gives other rows coordinates in its basis.

    A row with inner products k (p,) with the store's rows has coordinates ``k @ map``. Its part outside the span is
    orthogonal to everything that can be learned from the store.
    """
    values, vectors = np.linalg.eigh(kernel)
    nonzero = values > EIGENVALUE_RTOL * values.max(initial=0.0)
    length, vectors = np.sqrt(values[nonzero]), vectors[:, nonzero]
    return GramStore(vectors * length, kernel), vectors / length


def gram_store_by_cholesky(kernel: FloatArray) -> GramStore:
    """The same store in another basis, by pivoted Cholesky: far faster for thousands of rows, without the map."""
    from scipy.linalg.lapack import dpstrf

    diagonal = np.diag(kernel).max(initial=0.0)
    factor, pivot, rank, _ = dpstrf(kernel, lower=1, tol=EIGENVALUE_RTOL * float(diagonal))
    coordinates = np.empty((len(kernel), rank))
    coordinates[pivot - 1] = np.tril(factor)[:, :rank]
    return GramStore(coordinates, kernel)
