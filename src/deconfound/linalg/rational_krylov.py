"""A small basis for shifted systems with shifts too small for a Krylov space, by factoring a few of them outright."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from deconfound.design import FloatArray

RESIDUAL = 3e-7  # over the start block; predictions for any row then err by less than 1e-6
POLES = 3  # shifts that are factored; a fourth costs more than the directions it saves
NEAR = 2.0**0.5  # first pole over the smallest shift, so that the hardest shifts lie on both sides of it
CHECKS = 8  # looks in a row, at other shifts each, that must find the residual small
GOLDEN = (5.0**0.5 - 1.0) / 2.0  # its multiples, without their whole part, fall far from all earlier ones
CROWD = 1.5  # power that crowds the looks towards small shifts, which are solved last
LARGE = 0.1  # shift over the norm from which the residual is as good a direction as a solve would make of it
SINGLE = 1e-5  # shift over the norm from which a factor in single precision is one: its rounding is 6e-8
DEPENDENT = 1e-10  # a direction this small against its block is rounding noise
TINY = np.finfo(np.float64).tiny


def rational_ritz(kernel: FloatArray, start: FloatArray, smallest: float) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and vectors of an explicit positive semidefinite matrix as far as the start block can see them.

    The basis spans ``start`` and (K + p)^-1 r for a few poles p, where r is what the basis so far leaves of
    (K + s) y = start at a shift s near p. A factor costs ten products with the matrix, so few are made, in single
    precision, and each is used again until the residuals at all shifts from ``smallest`` up are small. Those are
    computed in double precision: how rough a factor is decides only how fast they fall.
    """
    largest = max(float(np.linalg.norm(kernel)), 2.0 * smallest)
    poles = np.geomspace(NEAR * smallest, np.sqrt(smallest * largest), POLES)
    factors = [_Factor.of(kernel, float(pole), largest) for pole in poles]
    span = _Span.of(kernel, start)
    passed = 0
    for look in count():
        # Never the same shift twice: where the basis was just mended, the residual says nothing of its neighbourhood.
        shift = smallest * (largest / smallest) ** ((look * GOLDEN % 1.0) ** CROWD)
        left = span.left(shift)
        nearest = factors[int(np.abs(np.log(poles / shift)).argmin())]
        fresh = _outside(span.basis, left if shift > LARGE * largest else nearest.solve(left))
        passed = 0 if fresh.shape[1] else passed + 1
        if passed == CHECKS:
            break
        span.extend(kernel, fresh)
    values, turn = np.linalg.eigh(span.projected)
    return np.maximum(values, 0.0), np.asarray(span.basis @ turn)


@dataclass(frozen=True, slots=True)
class _Factor:
    """A shifted kernel, factored in single precision where that has digits enough."""

    triangle: NDArray[np.floating]

    @classmethod
    def of(cls, kernel: FloatArray, pole: float, largest: float) -> _Factor:
        shifted: NDArray[np.floating] = kernel.astype(np.float32 if pole > SINGLE * largest else np.float64)
        shifted[np.diag_indices_from(shifted)] += pole
        # LAPACK works in place on columns, which a symmetric matrix's rows are.
        return cls(linalg.cho_factor(shifted.T, lower=True, overwrite_a=True, check_finite=False)[0])

    def solve(self, right: FloatArray) -> FloatArray:
        """What the shifted kernel makes ``right`` of, to the factor's precision."""
        rounded = right.astype(self.triangle.dtype)
        return np.asarray(linalg.cho_solve((self.triangle, True), rounded, check_finite=False), dtype=np.float64)


@dataclass(slots=True)
class _Span:
    """An orthonormal basis and what the kernel makes of it, in arrays that double when full."""

    start: FloatArray  # (n, m)
    vectors: FloatArray  # (n, capacity), columns contiguous
    images: FloatArray  # (n, capacity)
    projected: FloatArray  # (r, r) basis' kernel basis
    placed: FloatArray  # (r, m) basis' start

    @classmethod
    def of(cls, kernel: FloatArray, start: FloatArray) -> _Span:
        nothing = np.empty((len(start), 0), order="F")
        span = cls(start, nothing, nothing, np.empty((0, 0)), np.empty((0, start.shape[1])))
        span.extend(kernel, _outside(nothing, start))
        return span

    @property
    def basis(self) -> FloatArray:
        return self.vectors[:, : len(self.projected)]

    @property
    def image(self) -> FloatArray:
        return self.images[:, : len(self.projected)]

    def extend(self, kernel: FloatArray, fresh: FloatArray) -> None:
        """Take in orthonormal directions from outside, if there are any."""
        if not fresh.shape[1]:
            return
        image = kernel @ fresh
        across, among = self.basis.T @ image, fresh.T @ image
        self.vectors = _appended(self.vectors, self.basis, fresh)
        self.images = _appended(self.images, self.image, image)
        self.projected = np.block([[self.projected, across], [across.T, (among + among.T) / 2.0]])
        self.placed = np.vstack([self.placed, fresh.T @ self.start])

    def left(self, shift: float) -> FloatArray:
        """What of the start block the basis leaves unsolved at this shift, as far as it is too much."""
        shifted = self.projected + shift * np.eye(len(self.projected))
        triangle = linalg.cho_factor(shifted.T, lower=True, overwrite_a=True, check_finite=False)
        solution = linalg.cho_solve(triangle, self.placed, check_finite=False)
        left = self.start - (self.image @ solution + shift * (self.basis @ solution))
        large = np.linalg.norm(left, axis=0) > RESIDUAL * np.linalg.norm(self.start, axis=0)
        return np.asarray(left[:, large])


def _appended(room: FloatArray, held: FloatArray, more: FloatArray) -> FloatArray:
    """The room, or a larger one, with more columns after those it holds."""
    size = held.shape[1] + more.shape[1]
    if size > room.shape[1]:
        room = np.empty((len(room), max(size, min(2 * size, len(room)))), order="F")
        room[:, : held.shape[1]] = held
    room[:, held.shape[1] : size] = more
    return room


def _outside(basis: FloatArray, block: FloatArray) -> FloatArray:
    """Orthonormal directions of what the block has beyond the basis."""
    rest = block / np.maximum(np.linalg.norm(block, axis=0), TINY)
    rest = rest - basis @ (basis.T @ rest)
    directions, values, _ = np.linalg.svd(rest, full_matrices=False)
    fresh = directions[:, values > DEPENDENT]
    fresh = fresh - basis @ (basis.T @ fresh)  # twice is enough to stay orthogonal to rounding
    return np.asarray(np.linalg.qr(fresh)[0])
