"""Rows that share noise: one way of clustering, or two that cross, such as users and recurring contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError

MAX_WAYS = 2  # more would need inclusion and exclusion over all subsets of the ways


def columns_of_codes(codes: IntArray, rows: int) -> IntArray:
    """Codes (n,) or (n, ways) as one column per way; other shapes are refused."""
    columns = codes[:, None] if codes.ndim == 1 else codes
    if columns.ndim != 2 or len(columns) != rows or not 1 <= columns.shape[1] <= MAX_WAYS:
        raise UsageError(f"cluster must have {rows} rows and at most {MAX_WAYS} columns; its shape is {codes.shape}.")
    return columns


@dataclass(frozen=True, slots=True)
class Way:
    """One partition of the rows, and its sign in a sum over partitions."""

    code: IntArray  # (n,) from 0 to count - 1
    count: int
    sign: float

    @classmethod
    def from_codes(cls, codes: IntArray, sign: float = 1.0) -> Self:
        """Number the clusters of any codes (n,)."""
        distinct, code = np.unique(codes, return_inverse=True)
        return cls(code, len(distinct), sign)

    def sums(self, rows: FloatArray) -> FloatArray:
        """Sums of rows (n, columns) by cluster (count, columns)."""
        if self.count == len(rows):
            total = np.empty_like(rows)
            total[self.code] = rows
            return total
        columns = [np.bincount(self.code, weights=column, minlength=self.count) for column in rows.T]
        return np.column_stack(columns) if columns else np.empty((self.count, 0))

    def is_nested_in(self, other: Way) -> bool:
        """Whether every cluster lies inside one cluster of ``other``."""
        return len(np.unique(self.code * other.count + other.code)) == self.count


@dataclass(frozen=True, slots=True)
class Clusters:
    """The ways in which rows share noise; with two, the intersections are subtracted once.

        covariance = sum over clusters of the first way + second way - intersections

    Cameron, Gelbach and Miller (2011). A pair of rows counts once if it shares a cluster of either way.
    """

    ways: tuple[Way, ...]  # one, or two and their intersection

    @classmethod
    def from_codes(cls, codes: IntArray | None, rows: int) -> Self:
        """From codes (n,) of one way, (n, 2) of two, or None: one cluster per row.

        A way whose clusters lie inside those of the other adds nothing and is left out.
        """
        if codes is None:
            return cls((Way(np.arange(rows), rows, 1.0),))
        by_way = columns_of_codes(codes, rows)
        first, second = Way.from_codes(by_way[:, 0]), Way.from_codes(by_way[:, -1])
        if second.is_nested_in(first):
            return cls((first,))
        if first.is_nested_in(second):
            return cls((second,))
        return cls((first, second, Way.from_codes(first.code * second.count + second.code, -1.0)))

    @property
    def counted(self) -> tuple[Way, ...]:
        """The ways that clusters were given for, without the intersection."""
        return self.ways[:MAX_WAYS]

    @property
    def count(self) -> int:
        """Number of clusters, of the way that has fewest."""
        return min(way.count for way in self.counted)

    def sums(self, rows: FloatArray) -> Influence:
        """Sums of rows (n, columns) by cluster of each way."""
        return Influence(tuple(way.sums(rows) for way in self.ways), tuple(way.sign for way in self.ways))


@dataclass(frozen=True, slots=True)
class Influence:
    """Contributions of clusters to the errors of k estimates, for each way of clustering."""

    parts: tuple[FloatArray, ...]  # (clusters of the way, k)
    signs: tuple[float, ...]

    def __add__(self, other: Influence) -> Influence:
        return self._with(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    def __sub__(self, other: Influence) -> Influence:
        return self._with(tuple(a - b for a, b in zip(self.parts, other.parts, strict=True)))

    def scaled(self, factor: float | FloatArray) -> Influence:
        """Every estimate's contributions times its factor (k,)."""
        return self._with(tuple(factor * part for part in self.parts))

    def contrasts(self, reference: int) -> Influence:
        """Every estimate minus that of the reference."""
        return self._with(tuple(part - part[:, [reference]] for part in self.parts))

    def take(self, estimates: NDArray[np.bool_]) -> Influence:
        """Some of the estimates (k,)."""
        return self._with(tuple(part[:, estimates] for part in self.parts))

    def _with(self, parts: tuple[FloatArray, ...]) -> Influence:
        return Influence(parts, self.signs)

    def product(self, other: Influence) -> FloatArray:
        """Covariance of each estimate with the same one of ``other`` (k,)."""
        terms = zip(self.signs, self.parts, other.parts, strict=True)
        return np.asarray(sum(sign * (a * b).sum(axis=0) for sign, a, b in terms))

    def variance(self) -> FloatArray:
        """Variance of each estimate (k,): never below that of either way alone."""
        squares = [(part**2).sum(axis=0) for part in self.parts]
        combined = sum(sign * square for sign, square in zip(self.signs, squares, strict=True))
        return np.asarray(np.maximum(combined, np.maximum.reduce(squares[:MAX_WAYS])))

    def covariance(self) -> FloatArray:
        """Covariance of the estimates (k, k), positive semidefinite, with ``variance`` on the diagonal or more.

        With two ways the difference may have negative eigenvalues, which are set to zero.
        """
        if len(self.parts) == 1:
            return np.asarray(self.parts[0].T @ self.parts[0])
        combined = sum(sign * part.T @ part for sign, part in zip(self.signs, self.parts, strict=True))
        eigenvalues, axes = np.linalg.eigh(combined)
        covariance = (axes * np.maximum(eigenvalues, 0.0)) @ axes.T
        missing = np.maximum(self.variance() - np.diag(covariance), 0.0)
        return np.asarray(covariance + np.diag(missing))
