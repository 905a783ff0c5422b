"""Rows taken from a fixed collection whose inner products were computed once.

A benchmark draws thousands of logs from the same outputs. Their kernel does not change, so a draw should look its
inner products up and never multiply features again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Eigen = tuple[FloatArray, FloatArray]

FEW = 8  # below one row in so many, copying the rows is cheaper than a pass over the whole store
NEGLIGIBLE = 1e-13  # eigenvalues below this share of the largest are rounding noise


@dataclass(frozen=True, slots=True)
class GramStore:
    """The collection: coordinates in an orthonormal basis of its span, and the inner products of its rows.

    ``coordinates @ coordinates.T`` equals ``kernel``, so every ridge on the coordinates is the ridge on the features
    they came from, turned.
    """

    coordinates: FloatArray  # (p, r)
    kernel: FloatArray  # (p, p)
    latest: dict[bytes, Eigen] = field(default_factory=dict, compare=False)  # one decomposition at most

    def rows(self, index: IntArray) -> GramRows:
        """The rows at ``index``, in that order, repeats allowed."""
        return GramRows(self, np.ascontiguousarray(index, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class GramRows:
    """A feature matrix that is a choice of rows from a store."""

    store: GramStore
    index: IntArray  # (n,)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and coordinates."""
        return len(self.index), int(self.store.coordinates.shape[1])

    @property
    def T(self) -> Across:  # noqa: N802  (what a matrix calls it)
        """The transpose, for products only."""
        return Across(self)

    def __getitem__(self, at: Any) -> GramRows:  # noqa: ANN401  (whatever indexes an array)
        return GramRows(self.store, self.index[at])

    def __matmul__(self, other: FloatArray | Across) -> FloatArray:
        if isinstance(other, Across):
            return self.store.kernel[np.ix_(self.index, other.rows.index)]
        # The product with the whole store: equal rows get equal bits, which a product with chosen rows cannot promise.
        return np.asarray((self.store.coordinates @ other)[self.index])

    def eigen(self, root: FloatArray, make: Callable[[], Eigen]) -> Eigen:
        """The eigenvalues and vectors of these rows' weighted kernel, made anew only for other rows or weights.

        Logs that differ in their outcomes alone follow one another in a benchmark.
        """
        key = blake2b(self.index.tobytes() + root.tobytes()).digest()
        if key not in self.store.latest:
            self.store.latest.clear()
            self.store.latest[key] = make()
        return self.store.latest[key]

    def mean(self, axis: int) -> FloatArray:
        """Mean row; only ``axis=0`` makes sense here."""
        if axis != 0:
            raise ValueError("stored rows have a mean over rows only")
        return self.T @ np.full(len(self.index), 1.0 / max(len(self.index), 1))


@dataclass(frozen=True, slots=True)
class Across:
    """The transpose of stored rows."""

    rows: GramRows

    def __matmul__(self, other: FloatArray) -> FloatArray:
        coordinates, index = self.rows.store.coordinates, self.rows.index
        if FEW * len(index) < len(coordinates):
            return np.asarray(coordinates[index].T @ other)
        total = np.zeros((len(coordinates), *other.shape[1:]))
        np.add.at(total, index, other)
        return np.asarray(coordinates.T @ total)


def gram_store_by_eigh(kernel: FloatArray) -> tuple[GramStore, FloatArray]:
    """A store from the inner products of its rows, and the map (p, r) that places other rows in its basis.

    A row with inner products k (p,) to the store's rows has coordinates ``k @ place``; what sticks out of the span
    is orthogonal to everything that can be learned from the store.
    """
    values, vectors = np.linalg.eigh(kernel)
    keep = values > NEGLIGIBLE * values.max(initial=0.0)
    length, vectors = np.sqrt(values[keep]), vectors[:, keep]
    return GramStore(vectors * length, kernel), vectors / length


def gram_store_by_cholesky(kernel: FloatArray) -> GramStore:
    """The same store in another basis, by pivoted Cholesky: far faster for thousands of rows, but places no others."""
    from scipy.linalg.lapack import dpstrf

    factor, pivot, rank, _ = dpstrf(kernel, lower=1, tol=NEGLIGIBLE * float(np.diag(kernel).max(initial=0.0)))
    coordinates = np.empty((len(kernel), rank))
    coordinates[pivot - 1] = np.tril(factor)[:, :rank]
    return GramStore(coordinates, kernel)
