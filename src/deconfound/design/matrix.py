"""What numerical code may ask of a feature matrix, however its rows are stored.

``FeatureMatrix`` is the seam between feature rows and the numerics. Code in ``design``, ``linalg`` and ``reward`` calls
these methods and never asks for the type. ``DenseMatrix`` and ``CsrMatrix`` in ``storage.py`` implement it for arrays
and for SciPy CSR matrices.

Any other object with these members can be passed as ``Rows(phi=...)``. A caller that fits thousands of models to rows
of one fixed collection, for example, can compute all inner products once:

- ``inner_products`` looks them up,
- ``has_stored_gram`` is true, which sends every fit through the inner products instead of the features,
- ``weighted_eigh`` returns the last decomposition again while neither rows nor weights change.

Equal rows must get equal bits from ``random_projection``; everything else is ordinary linear algebra.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from deconfound.design.arrays import BoolArray, FloatArray, IntArray

EigenPairs: TypeAlias = tuple[FloatArray, FloatArray]  # values (r,), vectors (n, r)


@dataclass(frozen=True, slots=True)
class GramOperator:
    """The map ``block -> X X' block`` for blocks (n, m), without writing out X X'."""

    apply: Callable[[FloatArray], FloatArray]
    panel_columns: int  # columns of a block that one thread should take at a time
    beats_dense_gram: bool  # whether it is cheaper than a product with X X' written out


@dataclass(frozen=True, slots=True)
class ColumnCovariance:
    """Weighted mean and covariance of a matrix's columns, and their covariance with targets."""

    mean: FloatArray  # (d,)
    covariance: FloatArray  # (d, d)
    cross_covariance: FloatArray  # (d, m)


@runtime_checkable
class FeatureMatrix(Protocol):
    """Feature rows X (n, d)."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        ...

    @property
    def has_stored_gram(self) -> bool:
        """Whether inner products of rows are a lookup, so that fits should work on them at any size."""
        ...

    @property
    def stacks_cheaply(self) -> bool:
        """Whether ``stack`` costs little next to a fit; a dense array would be copied whole."""
        ...

    def __matmul__(self, right: FloatArray) -> FloatArray:
        """X @ right for a vector (d,) or a matrix (d, m)."""
        ...

    def transposed_product(self, right: FloatArray) -> FloatArray:
        """X' @ right for a vector (n,) or a matrix (n, m)."""
        ...

    def take(self, rows: IntArray | slice) -> FeatureMatrix:
        """The rows at these places, in that order, repeats allowed."""
        ...

    def stack(self, below: Sequence[FeatureMatrix]) -> FeatureMatrix:
        """These rows with the rows of other matrices below them."""
        ...

    def toarray(self) -> FloatArray:
        """X as a dense array; not to be changed."""
        ...

    def all_finite(self) -> bool:
        """Whether every entry is a finite number."""
        ...

    def mean_row(self) -> FloatArray:
        """Unweighted mean (d,) of the rows."""
        ...

    def squared_row_norms(self) -> FloatArray:
        """Squared length (n,) of each row."""
        ...

    def inner_products(self, other: FeatureMatrix) -> FloatArray:
        """X @ other' (n, m), in an array of its own."""
        ...

    def gram_operator(self) -> GramOperator:
        """X X' as an operator, for more rows than fit into a Gram matrix."""
        ...

    def weighted_covariance(self, normalized_weight: FloatArray, centered_targets: FloatArray) -> ColumnCovariance:
        """Covariance of the columns under weights (n,) that sum to one, and with targets (n, m) of mean zero."""
        ...

    def weighted_eigh(self, root: FloatArray, weighted_gram: Callable[[], FloatArray]) -> EigenPairs:
        """Eigenpairs of ``weighted_gram()``.

        That matrix (n, n) consists of the inner products of the rows, centered at their weighted mean and scaled by
        the roots (n, 1) of their weights. It depends on rows and ``root`` alone, so an implementation may return an
        earlier result for the same rows and ``root`` without calling ``weighted_gram``.
        """
        ...

    def random_projection(self, seed: int) -> FloatArray:
        """Product (n,) of each row with one random direction; equal rows give equal bits at any place."""
        ...

    def possible_duplicates(self) -> IntArray:
        """Numbers of the rows that may equal another row; all rows where no cheap test rules any out."""
        ...

    def rows_differ(self, left: IntArray, right: IntArray) -> BoolArray:
        """Whether row ``left[i]`` has an entry that differs from row ``right[i]``, for each i."""
        ...


def stack(parts: Sequence[FeatureMatrix]) -> FeatureMatrix:
    """Feature matrices one above the other; CSR if any of them is."""
    first, *below = parts
    return first.stack(below) if below else first
