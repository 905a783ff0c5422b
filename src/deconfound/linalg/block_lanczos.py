"""Block Lanczos: a small basis in which a large shifted system is solved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray
from deconfound.threads import parallel_map

Operator: TypeAlias = Callable[[FloatArray], FloatArray]

DEPENDENT_RTOL = 1e-11  # a direction this small against its block is rounding noise, not a new direction
GROWTH = 1.15  # the basis grows by this factor between two checks of the residual, which cost a solve each
PANEL_COLUMNS = 64  # columns that one thread orthogonalizes against the basis at a time
TILE_ROWS = 4096  # rows that one thread orthogonalizes or rotates at a time


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Residual norm at which a column of the start block counts as solved: the sum of two terms."""

    start_rtol: float  # times the norm of the start column
    shift_rtol: float  # times the shift


SOLUTION = Tolerance(start_rtol=1e-10, shift_rtol=0.0)
"""For y itself, and with it predictions for any row; they then agree to about 1e-9."""

INNER_PRODUCTS = Tolerance(start_rtol=0.0, shift_rtol=1e-4)
"""For inner products of y with the start block alone.

The residual is orthogonal to the basis, so their error is about the square of this, 1e-8, long before y is accurate.
"""


def lanczos_eigenpairs(
    apply: Operator, start: FloatArray, shift: float, tolerance: Tolerance = SOLUTION
) -> tuple[FloatArray, FloatArray]:
    """Ritz values (r,) and vectors (n, r) of a positive semidefinite operator K that suffice for the start block.

    Block Lanczos with full reorthogonalization: the basis spans ``start, K start, K^2 start, ...`` and grows until

        (K + shift I) y = start

    is solved in it to ``tolerance``, or until it spans an invariant subspace. Larger shifts converge faster, so one
    basis serves all of them.
    """
    block, start_coordinates = _rank_revealing_qr(start)
    basis = _LanczosBasis(np.empty((len(start), 0), order="F"), np.empty((0, 0)), 0)
    next_check = 0.0
    while block.shape[1]:
        basis.append(block)
        image, scale = basis.orthogonal_complement(apply(block))
        block, coupling = _rank_revealing_qr(image, scale)
        if basis.size >= next_check:
            if _converged(basis.projected(), start_coordinates, coupling, shift, tolerance):
                break
            next_check = basis.size * GROWTH
    values, rotation = np.linalg.eigh(basis.projected())
    vectors = parallel_map(lambda tile: basis.vectors[tile, : basis.size] @ rotation, _tiles(len(start)))
    return np.maximum(values, 0.0), np.vstack(vectors)


@dataclass(slots=True)
class _LanczosBasis:
    """Orthonormal vectors and the operator between them, in arrays that double when full."""

    vectors: FloatArray  # (n, capacity), columns contiguous
    upper: FloatArray  # (capacity, capacity), upper triangle
    size: int

    def append(self, block: FloatArray) -> None:
        """Add the columns of an orthonormal block."""
        size = self.size + block.shape[1]
        if size > self.vectors.shape[1]:
            capacity = min(max(2 * self.vectors.shape[1], 4 * block.shape[1]), max(len(block), size))
            vectors = np.empty((len(block), capacity), order="F")
            vectors[:, : self.size] = self.vectors[:, : self.size]
            upper = np.zeros((capacity, capacity))
            upper[: self.size, : self.size] = self.upper[: self.size, : self.size]
            self.vectors, self.upper = vectors, upper
        self.vectors[:, self.size : size] = block
        self.size = size

    def orthogonal_complement(self, image: FloatArray) -> tuple[FloatArray, float]:
        """The part of the last block's image outside the basis, and the norm of the part inside."""
        basis = self.vectors[:, : self.size]

        def split(panel: FloatArray) -> tuple[FloatArray, FloatArray]:
            inside = basis.T @ panel
            rest = panel - basis @ inside
            correction = basis.T @ rest  # a second pass keeps the basis orthogonal to rounding
            return inside + correction, rest - basis @ correction

        width = image.shape[1]
        panels = [image[:, start : start + PANEL_COLUMNS] for start in range(0, width, PANEL_COLUMNS)]
        parts = parallel_map(split, panels)
        coupling = np.hstack([inside for inside, _ in parts])
        self.upper[: self.size, self.size - width : self.size] = coupling
        return np.hstack([rest for _, rest in parts]), float(np.linalg.norm(coupling))

    def projected(self) -> FloatArray:
        """The operator in the basis, symmetric."""
        upper = np.triu(self.upper[: self.size, : self.size])
        return np.asarray(upper + np.triu(upper, 1).T)


def _rank_revealing_qr(block: FloatArray, scale: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Orthonormal columns that span the block without its rounding noise, and the block's coordinates in them."""
    if block.shape[1] == 0:
        return block, np.zeros((0, 0))
    # QR of each tile first, then pivoting on the stacked triangles alone: the same rank, and tall pivoting is slow.
    parts = parallel_map(lambda tile: np.linalg.qr(block[tile]), _tiles(len(block)))
    stacked = np.vstack([triangle for _, triangle in parts])
    rotation, r, order = linalg.qr(stacked, mode="economic", pivoting=True, check_finite=False)
    size = np.abs(np.diag(r))
    rank = int((size > DEPENDENT_RTOL * max(float(size.max(initial=0.0)), scale)).sum())
    coordinates = np.empty((rank, block.shape[1]))
    coordinates[:, order] = r[:rank]
    rotations = np.split(rotation[:, :rank], np.cumsum([len(triangle) for _, triangle in parts])[:-1])
    pairs = [(q, piece) for (q, _), piece in zip(parts, rotations, strict=True)]
    return np.vstack(parallel_map(lambda pair: pair[0] @ pair[1], pairs)), coordinates


def _tiles(rows: int) -> list[slice]:
    return [slice(start, start + TILE_ROWS) for start in range(0, max(rows, 1), TILE_ROWS)]


def _converged(
    projected: FloatArray, start_coordinates: FloatArray, coupling: FloatArray, shift: float, tolerance: Tolerance
) -> bool:
    """Whether every column of the start block is solved; needs no further product with the operator."""
    right = np.zeros((len(projected), start_coordinates.shape[1]))
    right[: len(start_coordinates)] = start_coordinates
    shifted = projected + shift * np.eye(len(projected))
    solution = linalg.cho_solve(linalg.cho_factor(shifted, check_finite=False), right, check_finite=False)
    residual = np.linalg.norm(coupling @ solution[-coupling.shape[1] :], axis=0)
    allowed = tolerance.start_rtol * np.linalg.norm(start_coordinates, axis=0) + tolerance.shift_rtol * shift
    return bool((residual <= allowed).all())
