"""Symmetric systems in which many small blocks touch one large block but not each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray


@dataclass(frozen=True, eq=False)
class Arrowhead:
    """The matrix

        | shared   border_1 ... border_k |
        | .        corner_1              |
        | .                   ...        |
        | .                     corner_k |

    in which columns of different corners have no entries with each other: every row of a log has one model, so the
    effects of two models never meet. Vectors have the shared entries first, then those of each corner.
    """

    shared: FloatArray  # (s, s)
    borders: FloatArray  # (k, s, c)
    corners: FloatArray  # (k, c, c)

    @property
    def size(self) -> int:
        """Number of rows and columns."""
        count, width, height = self.borders.shape
        return int(width + count * height)

    def split(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The shared part (s, m) and the corners' parts (k, c, m) of columns (size, m)."""
        count, width, height = self.borders.shape
        return columns[:width], columns[width:].reshape(count, height, columns.shape[1])

    def scaled(self, root: FloatArray) -> Arrowhead:
        """R A R with the diagonal R = ``root`` (size,)."""
        shared, corners = (part[..., 0] for part in self.split(root[:, None]))
        return Arrowhead(
            shared[:, None] * self.shared * shared,
            shared[:, None] * self.borders * corners[:, None, :],
            corners[:, :, None] * self.corners * corners[:, None, :],
        )

    def plus_identity(self) -> Arrowhead:
        """A + I."""
        shared, corners = self.shared.copy(), self.corners.copy()
        shared[np.diag_indices_from(shared)] += 1.0
        corners[:, np.arange(corners.shape[1]), np.arange(corners.shape[1])] += 1.0
        return Arrowhead(shared, self.borders, corners)

    def factor(self) -> FactoredArrowhead:
        """Cholesky factorization, the corners first; raises ``LinAlgError`` unless A is positive definite."""
        triangles: FloatArray = np.asarray(np.linalg.cholesky(self.corners), dtype=np.float64)
        eliminated = _triangular_solves(triangles, self.borders.transpose(0, 2, 1))
        stacked = eliminated.reshape(self.size - len(self.shared), len(self.shared))
        complement = self.shared - stacked.T @ stacked
        return FactoredArrowhead(
            linalg.cholesky(complement, lower=True, overwrite_a=True, check_finite=False), triangles, eliminated
        )

    def toarray(self) -> FloatArray:
        """All entries (size, size)."""
        border = np.concatenate(list(self.borders), axis=1) if len(self.borders) else np.empty((len(self.shared), 0))
        corner = linalg.block_diag(*self.corners) if len(self.corners) else np.empty((0, 0))
        return np.block([[self.shared, border], [border.T, corner]])


@dataclass(frozen=True, eq=False)
class FactoredArrowhead:
    """A = L L' with rows and columns in the order corners, shared."""

    triangle: FloatArray  # (s, s) Cholesky factor of the Schur complement of the corners, lower
    corner_triangles: FloatArray  # (k, c, c), lower
    eliminated: FloatArray  # (k, c, s) corner_triangle^-1 border'

    @cached_property
    def log_determinant(self) -> float:
        """log det A."""
        diagonals = np.concatenate([np.diag(self.triangle), *map(np.diag, self.corner_triangles)])
        return 2.0 * float(np.log(diagonals).sum())

    def half_solve(self, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """L^-1 columns (size, m), as the shared part (s, m) and the corners' (k, c, m)."""
        count, height, width = self.eliminated.shape
        corners = _triangular_solves(self.corner_triangles, columns[width:].reshape(count, height, columns.shape[1]))
        stacked = self.eliminated.reshape(count * height, width)
        rest = columns[:width] - stacked.T @ corners.reshape(count * height, columns.shape[1])
        return linalg.solve_triangular(self.triangle, rest, lower=True, check_finite=False), corners

    def solve(self, columns: FloatArray) -> FloatArray:
        """A^-1 columns, (size,) or (size, m)."""
        matrix = columns[:, None] if columns.ndim == 1 else columns
        shared, corners = self.half_solve(matrix)
        shared = linalg.solve_triangular(self.triangle, shared, lower=True, trans="T", check_finite=False)
        corners = corners - self.eliminated @ shared
        corners = _triangular_solves(self.corner_triangles, corners, transposed=True)
        solution = np.concatenate([shared, corners.reshape(-1, matrix.shape[1])])
        return solution[:, 0] if columns.ndim == 1 else solution

    def inverse(self) -> FloatArray:
        """A^-1, all entries (size, size)."""
        count, height, width = self.eliminated.shape
        shared = inverse_from_triangle(self.triangle)
        through = _triangular_solves(self.corner_triangles, self.eliminated, transposed=True)
        through = through.reshape(count * height, width)
        between = through @ shared
        corners = between @ through.T
        for number, triangle in enumerate(self.corner_triangles):
            at = slice(number * height, (number + 1) * height)
            corners[at, at] += linalg.cho_solve((triangle, True), np.eye(height), check_finite=False)
        return np.block([[shared, -between.T], [-between, corners]])

    def inverse_diagonal(self) -> FloatArray:
        """The diagonal of A^-1 (size,)."""
        shared = inverse_from_triangle(self.triangle)
        corners = []
        for triangle, eliminated in zip(self.corner_triangles, self.eliminated, strict=True):
            root = linalg.solve_triangular(triangle, np.eye(len(triangle)), lower=True, check_finite=False)
            through_shared = root.T @ eliminated
            corners.append((root**2).sum(axis=0) + np.einsum("ij,ij->i", through_shared @ shared, through_shared))
        return np.concatenate([np.diag(shared), *corners])


def _triangular_solves(triangles: FloatArray, columns: FloatArray, *, transposed: bool = False) -> FloatArray:
    solved = [
        linalg.solve_triangular(triangle, part, lower=True, trans="T" if transposed else "N", check_finite=False)
        for triangle, part in zip(triangles, columns, strict=True)
    ]
    return np.stack(solved) if solved else columns


def inverse_from_triangle(triangle: FloatArray) -> FloatArray:
    """(L L')^-1, both halves."""
    inverse, _ = linalg.lapack.dpotri(triangle, lower=1)
    lower = np.tril(inverse)
    return np.asarray(lower + np.tril(lower, -1).T)


def sum_arrowheads(parts: Sequence[Arrowhead]) -> Arrowhead:
    """The sum of matrices of one shape."""
    first, *rest = parts
    shared, borders, corners = first.shared.copy(), first.borders.copy(), first.corners.copy()
    for part in rest:
        shared += part.shared
        borders += part.borders
        corners += part.corners
    return Arrowhead(shared, borders, corners)
