"""Feature rows as a dense array or as a SciPy CSR matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from scipy import sparse

from deconfound.design.arrays import BoolArray, FloatArray, IntArray
from deconfound.design.matrix import ColumnCovariance, EigenPairs, FeatureMatrix, GramOperator
from deconfound.errors import UsageError
from deconfound.threads import parallel_map

TILE_ROWS = 2048  # rows processed at a time: full BLAS speed, little memory beyond the matrix itself
PREFIX_COLUMNS = 64  # columns that suffice to show that most dense rows are unique
SPARSE_TILE_ROWS = 512  # CSR rows that one thread multiplies at a time with other CSR rows
DENSE_PANEL = 64  # columns that one thread multiplies at a time with a dense matrix
SPARSE_PANEL = 16  # the same with CSR rows, where a panel of the inner product should stay in cache

RawMatrix: TypeAlias = FloatArray | sparse.csr_matrix
"""Feature rows before ``feature_matrix`` wraps them; SciPy has no types, so mypy checks the array alone."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class DenseMatrix:
    """Feature rows as an array."""

    array: FloatArray  # (n, d)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.array.shape[0], self.array.shape[1]

    @property
    def has_stored_gram(self) -> bool:
        """Inner products are computed when they are needed."""
        return False

    @property
    def stacks_cheaply(self) -> bool:
        """Stacking copies every entry."""
        return False

    def __matmul__(self, right: FloatArray) -> FloatArray:
        return np.asarray(self.array @ right)

    def transposed_product(self, right: FloatArray) -> FloatArray:
        """X' @ right."""
        return np.asarray(self.array.T @ right)

    def take(self, rows: IntArray | slice) -> DenseMatrix:
        """Copies of the rows, or a view for a slice."""
        return DenseMatrix(self.array[rows])

    def stack(self, below: Sequence[FeatureMatrix]) -> FeatureMatrix:
        """A copy of all rows."""
        return _stacked([self.array, *(_raw(part) for part in below)])

    def toarray(self) -> FloatArray:
        """The array itself."""
        return self.array

    def all_finite(self) -> bool:
        """Whether every entry is a finite number."""
        return is_finite(self.array)

    def mean_row(self) -> FloatArray:
        """Unweighted mean of the rows."""
        return np.asarray(self.array.mean(axis=0))

    def squared_row_norms(self) -> FloatArray:
        """Squared length of each row."""
        return np.asarray(np.einsum("ij,ij->i", self.array, self.array))

    def inner_products(self, other: FeatureMatrix) -> FloatArray:
        """One product; NumPy takes half the time for a matrix with its own transpose."""
        return np.asarray(self.array @ _raw(other).T)

    def gram_operator(self) -> GramOperator:
        """Two products with the rows."""
        return GramOperator(lambda block: np.asarray(self.array @ (self.array.T @ block)), DENSE_PANEL, False)

    def weighted_covariance(self, normalized_weight: FloatArray, centered_targets: FloatArray) -> ColumnCovariance:
        """Sums of products of centered rows, tile by tile."""
        mean = normalized_weight @ self.array
        size = self.shape[1]
        gram, product = np.zeros((size, size)), np.empty((size, size))
        cross = np.zeros((size, centered_targets.shape[1]))
        for start in range(0, len(normalized_weight), TILE_ROWS):
            tile = slice(start, start + TILE_ROWS)
            root = np.sqrt(normalized_weight[tile])[:, None]
            centered = self.array[tile] - mean
            centered *= root
            # NumPy's product lets other threads run; SciPy's symmetric update, which needs no buffer, does not.
            gram += np.matmul(centered.T, centered, out=product)
            cross += centered.T @ (centered_targets[tile] * root)
        return ColumnCovariance(mean, gram, cross)

    def weighted_eigh(self, root: FloatArray, weighted_gram: Callable[[], FloatArray]) -> EigenPairs:  # noqa: ARG002
        """Computed anew each time."""
        return plain_eigh(weighted_gram())

    def random_projection(self, seed: int) -> FloatArray:
        """A plain sum along each row: BLAS may round equal rows differently by position."""
        direction = _random_direction(seed, self.shape[1])
        tiles = np.array_split(self.array, len(self.array) // TILE_ROWS + 1)
        return np.concatenate([(tile * direction).sum(axis=1) for tile in tiles])

    def possible_duplicates(self) -> IntArray:
        """Rows whose first columns equal those of another row; reading wide rows in full is slow."""
        if self.shape[1] <= PREFIX_COLUMNS:
            return np.arange(self.shape[0])
        prefix = DenseMatrix(self.array[:, :PREFIX_COLUMNS]).random_projection(seed=1)
        _, inverse, count = np.unique(prefix, return_inverse=True, return_counts=True)
        return np.flatnonzero(count[inverse] > 1)

    def rows_differ(self, left: IntArray, right: IntArray) -> BoolArray:
        """Compared entry by entry, tile by tile."""
        pairs = zip(row_tiles(left), row_tiles(right), strict=True)
        return np.concatenate([(self.array[a] != self.array[b]).any(axis=1) for a, b in pairs])


@final
@dataclass(frozen=True, slots=True, eq=False)
class CsrMatrix:
    """Feature rows as a SciPy CSR matrix."""

    csr: sparse.csr_matrix  # (n, d)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return int(self.csr.shape[0]), int(self.csr.shape[1])

    @property
    def has_stored_gram(self) -> bool:
        """Inner products are computed when they are needed."""
        return False

    @property
    def stacks_cheaply(self) -> bool:
        """Only the nonzero entries are copied."""
        return True

    def __matmul__(self, right: FloatArray) -> FloatArray:
        return np.asarray(self.csr @ right)

    def transposed_product(self, right: FloatArray) -> FloatArray:
        """X' @ right."""
        return np.asarray(self.csr.T @ right)

    def take(self, rows: IntArray | slice) -> CsrMatrix:
        """Copies of the rows."""
        return CsrMatrix(self.csr[rows])

    def stack(self, below: Sequence[FeatureMatrix]) -> FeatureMatrix:
        """A copy of the nonzero entries."""
        return _stacked([self.csr, *(_raw(part) for part in below)])

    def toarray(self) -> FloatArray:
        """Zeros written out."""
        return np.asarray(self.csr.toarray())

    def all_finite(self) -> bool:
        """Whether every stored entry is a finite number."""
        return is_finite(self.csr.data)

    def mean_row(self) -> FloatArray:
        """Unweighted mean of the rows."""
        return np.asarray(self.csr.mean(axis=0)).ravel()

    def squared_row_norms(self) -> FloatArray:
        """Squared length of each row."""
        return np.asarray(self.csr.multiply(self.csr).sum(axis=1)).ravel()

    def inner_products(self, other: FeatureMatrix) -> FloatArray:
        """A sparse product in parallel, or a product with a dense array."""
        right = _raw(other)
        return csr_inner_products(self.csr, right) if sparse.issparse(right) else np.asarray(self.csr @ right.T)

    def gram_operator(self) -> GramOperator:
        """Two products with the rows, columns ordered for the cache."""
        rows = _frequent_columns_first(self.csr)
        columns = rows.T.tocsr()
        return GramOperator(lambda block: np.asarray(rows @ (columns @ block)), SPARSE_PANEL, True)

    def weighted_covariance(self, normalized_weight: FloatArray, centered_targets: FloatArray) -> ColumnCovariance:
        """Second moments less the square of the mean, so that the rows stay sparse."""
        mean = np.asarray(self.csr.T @ normalized_weight)
        scaled = sparse.diags(normalized_weight) @ self.csr
        gram = (self.csr.T @ scaled).toarray() - np.outer(mean, mean)
        return ColumnCovariance(mean, gram, np.asarray(scaled.T @ centered_targets))

    def weighted_eigh(self, root: FloatArray, weighted_gram: Callable[[], FloatArray]) -> EigenPairs:  # noqa: ARG002
        """Computed anew each time."""
        return plain_eigh(weighted_gram())

    def random_projection(self, seed: int) -> FloatArray:
        """A sparse product, which adds the entries of each row in order."""
        return np.asarray(self.csr @ _random_direction(seed, self.shape[1]))

    def possible_duplicates(self) -> IntArray:
        """All rows: a random projection of sparse rows is cheap enough."""
        return np.arange(self.shape[0])

    def rows_differ(self, left: IntArray, right: IntArray) -> BoolArray:
        """Compared tile by tile."""
        pairs = zip(row_tiles(left), row_tiles(right), strict=True)
        return np.concatenate([_csr_rows_differ(self.csr[a], self.csr[b]) for a, b in pairs])


def feature_matrix(value: FeatureMatrix | RawMatrix) -> FeatureMatrix:
    """Wrap an array or a SciPy sparse matrix; a ``FeatureMatrix`` is returned as it is."""
    if sparse.issparse(value):
        return CsrMatrix(sparse.csr_matrix(value, dtype=np.float64))
    return value if isinstance(value, FeatureMatrix) else DenseMatrix(two_dimensional(value, "phi"))


def two_dimensional(value: FloatArray, name: str) -> FloatArray:
    """A contiguous float array (rows, columns)."""
    array = np.ascontiguousarray(value, dtype=np.float64)
    if array.ndim != 2:
        raise UsageError(f"Rows: {name} must have two dimensions (rows, columns), not {array.ndim}.")
    return array


def is_finite(values: FloatArray) -> bool:
    """Whether every entry is a finite number."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    # A finite sum proves it faster than a test of each entry; the sum of finite entries may still overflow.
    return bool(np.isfinite(total) or np.isfinite(values).all())


def csr_inner_products(left: sparse.csr_matrix, right: sparse.csr_matrix) -> FloatArray:
    """Inner products (n, m) of two sets of CSR rows, tiles of rows shared among threads."""
    if left is right:
        return _csr_gram(left)
    tiles = [left[start : start + SPARSE_TILE_ROWS] for start in range(0, left.shape[0], SPARSE_TILE_ROWS)]
    columns = right.T.tocsr()
    return np.vstack(parallel_map(lambda tile: (tile @ columns).toarray(), tiles))


def _csr_gram(rows: sparse.csr_matrix) -> FloatArray:
    """Inner products (n, n) of CSR rows with each other; a tile of rows is multiplied with itself and those below."""
    starts = range(0, rows.shape[0], SPARSE_TILE_ROWS)
    gram = np.empty((rows.shape[0], rows.shape[0]))

    def fill(start: int) -> None:
        tile = slice(start, start + SPARSE_TILE_ROWS)
        product = (rows[tile] @ rows[start:].T.tocsr()).toarray()
        gram[tile, start:] = product
        gram[start:, tile] = product.T

    parallel_map(fill, starts)
    return gram


def row_tiles(index: IntArray) -> list[IntArray]:
    """Row numbers in parts of about ``TILE_ROWS``."""
    return np.array_split(index, len(index) // TILE_ROWS + 1)


def plain_eigh(symmetric: FloatArray) -> EigenPairs:
    """Eigenvalues and vectors of a symmetric matrix as a plain tuple."""
    values, vectors = np.linalg.eigh(symmetric)
    return values, vectors


def _raw(matrix: FeatureMatrix) -> RawMatrix:
    """What the two classes of this module need to combine with any other implementation."""
    return matrix.csr if isinstance(matrix, CsrMatrix) else matrix.toarray()


def _stacked(parts: Sequence[RawMatrix]) -> FeatureMatrix:
    if any(sparse.issparse(part) for part in parts):
        return CsrMatrix(sparse.vstack(parts, format="csr"))
    return DenseMatrix(np.vstack(parts))


def _random_direction(seed: int, columns: int) -> FloatArray:
    return np.random.default_rng(seed).standard_normal(columns)


def _frequent_columns_first(rows: sparse.csr_matrix) -> sparse.csr_matrix:
    """The nonempty columns, most frequent first: what is read often is then close together in memory."""
    count = np.bincount(rows.indices, minlength=rows.shape[1])
    place = np.empty(len(count), dtype=rows.indices.dtype)
    place[np.argsort(-count, kind="stable")] = np.arange(len(count))
    shape = (rows.shape[0], int((count > 0).sum()))
    reordered = sparse.csr_matrix((rows.data.copy(), place[rows.indices], rows.indptr), shape=shape)
    reordered.sort_indices()
    return reordered


def _csr_rows_differ(left: sparse.csr_matrix, right: sparse.csr_matrix) -> BoolArray:
    # Equal rows nearly always have the same storage, and comparing storage is far cheaper than subtracting.
    if all(np.array_equal(getattr(left, part), getattr(right, part)) for part in ("indptr", "indices", "data")):
        return np.zeros(left.shape[0], dtype=np.bool_)
    return np.asarray(abs(left - right).sum(axis=1)).ravel() > 0
