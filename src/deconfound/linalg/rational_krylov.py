"""Rational Krylov: a small basis for shifted systems whose shifts are too small for block Lanczos."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from deconfound.design import FloatArray

RESIDUAL_RTOL = 3e-7  # of the start block; predictions for any row are then off by less than 1e-6
POLES = 3  # shifts that are factored; a fourth costs more than the directions it saves
FIRST_POLE_RATIO = 2.0**0.5  # first pole over the smallest shift, so that the hardest shifts are on both sides of it
CONSECUTIVE_PASSES = 8  # checks in a row, each at another shift, with a small residual before the basis is complete
GOLDEN = (5.0**0.5 - 1.0) / 2.0  # fractional parts of its multiples fall far from all earlier ones
SHIFT_EXPONENT = 1.5  # moves the checks towards small shifts, which converge last
LARGE_SHIFT_RATIO = 0.1  # shift over the norm above which the residual itself is as good a direction as a solve
FLOAT32_SHIFT_RATIO = 1e-5  # shift over the norm above which single precision suffices: its rounding is 6e-8
DEPENDENT_ATOL = 1e-10  # a direction this small, in a block of columns of norm one, is rounding noise
TINY = np.finfo(np.float64).tiny


def rational_krylov_eigenpairs(
    kernel: FloatArray, start: FloatArray, min_shift: float
) -> tuple[FloatArray, FloatArray]:
    """Ritz values (r,) and vectors (n, r) of a positive semidefinite matrix K that suffice for the start block.

    The basis spans ``start`` and (K + p)^-1 r for a few poles p, where r is the residual of (K + s) y = start in the
    basis so far, at a shift s near p. A factorization costs as much as ten products with the matrix, so there are few
    of them, in single precision, and each is used until the residuals at all shifts from ``min_shift`` up are small.
    Residuals are computed in double precision: a rough factorization slows convergence but does not limit accuracy.
    """
    norm = max(float(np.linalg.norm(kernel)), 2.0 * min_shift)
    poles = np.geomspace(FIRST_POLE_RATIO * min_shift, np.sqrt(min_shift * norm), POLES)
    factors = [_ShiftedFactor.compute(kernel, float(pole), norm) for pole in poles]
    basis = _RationalBasis.from_start(kernel, start)
    passes = 0
    for iteration in count():
        # Never the same shift twice: a small residual where the basis was just extended proves nothing elsewhere.
        shift = min_shift * (norm / min_shift) ** ((iteration * GOLDEN % 1.0) ** SHIFT_EXPONENT)
        residual = basis.large_residual(shift)
        nearest = factors[int(np.abs(np.log(poles / shift)).argmin())]
        step = residual if shift > LARGE_SHIFT_RATIO * norm else nearest.solve(residual)
        new_directions = _orthonormal_complement(basis.vectors, step)
        passes = 0 if new_directions.shape[1] else passes + 1
        if passes == CONSECUTIVE_PASSES:
            break
        basis.extend(kernel, new_directions)
    values, rotation = np.linalg.eigh(basis.projected)
    return np.maximum(values, 0.0), np.asarray(basis.vectors @ rotation)


@dataclass(frozen=True, slots=True)
class _ShiftedFactor:
    """Cholesky factor of a shifted kernel, in single precision where that suffices."""

    triangle: NDArray[np.floating]

    @classmethod
    def compute(cls, kernel: FloatArray, pole: float, norm: float) -> _ShiftedFactor:
        single = pole > FLOAT32_SHIFT_RATIO * norm
        shifted: NDArray[np.floating] = kernel.astype(np.float32 if single else np.float64)
        shifted[np.diag_indices_from(shifted)] += pole
        # LAPACK works in place on columns, which are the rows of a symmetric matrix.
        return cls(linalg.cho_factor(shifted.T, lower=True, overwrite_a=True, check_finite=False)[0])

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve with the shifted kernel, to the factor's precision."""
        rounded = right.astype(self.triangle.dtype)
        return np.asarray(linalg.cho_solve((self.triangle, True), rounded, check_finite=False), dtype=np.float64)


@dataclass(slots=True)
class _RationalBasis:
    """An orthonormal basis and its product with the kernel, in arrays that double when full."""

    start: FloatArray  # (n, m)
    vector_buffer: FloatArray  # (n, capacity), columns contiguous
    image_buffer: FloatArray  # (n, capacity)
    projected: FloatArray  # (r, r) vectors' kernel vectors
    projected_start: FloatArray  # (r, m) vectors' start

    @classmethod
    def from_start(cls, kernel: FloatArray, start: FloatArray) -> _RationalBasis:
        empty = np.empty((len(start), 0), order="F")
        basis = cls(start, empty, empty, np.empty((0, 0)), np.empty((0, start.shape[1])))
        basis.extend(kernel, _orthonormal_complement(empty, start))
        return basis

    @property
    def vectors(self) -> FloatArray:
        return self.vector_buffer[:, : len(self.projected)]

    @property
    def images(self) -> FloatArray:
        return self.image_buffer[:, : len(self.projected)]

    def extend(self, kernel: FloatArray, new_directions: FloatArray) -> None:
        """Add orthonormal directions from outside the basis, if there are any."""
        if not new_directions.shape[1]:
            return
        image = kernel @ new_directions
        between, among = self.vectors.T @ image, new_directions.T @ image
        self.vector_buffer = _append_columns(self.vector_buffer, self.vectors, new_directions)
        self.image_buffer = _append_columns(self.image_buffer, self.images, image)
        self.projected = np.block([[self.projected, between], [between.T, (among + among.T) / 2.0]])
        self.projected_start = np.vstack([self.projected_start, new_directions.T @ self.start])

    def large_residual(self, shift: float) -> FloatArray:
        """Residuals of the shifted system in the basis, for the columns of the start block not yet solved."""
        if not self.projected_start.size:
            return self.start[:, :0]  # LAPACK, as SciPy 1.12 calls it, refuses an empty right-hand side
        shifted = self.projected + shift * np.eye(len(self.projected))
        triangle = linalg.cho_factor(shifted.T, lower=True, overwrite_a=True, check_finite=False)
        solution = linalg.cho_solve(triangle, self.projected_start, check_finite=False)
        residual = self.start - (self.images @ solution + shift * (self.vectors @ solution))
        large = np.linalg.norm(residual, axis=0) > RESIDUAL_RTOL * np.linalg.norm(self.start, axis=0)
        return np.asarray(residual[:, large])


def _append_columns(buffer: FloatArray, used: FloatArray, new: FloatArray) -> FloatArray:
    """The buffer, or a larger one, with the new columns after those in use."""
    size = used.shape[1] + new.shape[1]
    if size > buffer.shape[1]:
        buffer = np.empty((len(buffer), max(size, min(2 * size, len(buffer)))), order="F")
        buffer[:, : used.shape[1]] = used
    buffer[:, used.shape[1] : size] = new
    return buffer


def _orthonormal_complement(basis: FloatArray, block: FloatArray) -> FloatArray:
    """Orthonormal directions of the block that are outside the basis."""
    rest = block / np.maximum(np.linalg.norm(block, axis=0), TINY)
    rest = rest - basis @ (basis.T @ rest)
    directions, values, _ = np.linalg.svd(rest, full_matrices=False)
    new_directions = directions[:, values > DEPENDENT_ATOL]
    # A second pass keeps the basis orthogonal to rounding.
    new_directions = new_directions - basis @ (basis.T @ new_directions)
    return np.asarray(np.linalg.qr(new_directions)[0])
