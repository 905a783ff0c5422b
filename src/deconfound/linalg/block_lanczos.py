"""A small basis in which a large shifted system is already solved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray
from deconfound.linalg.threads import parallel_map

Operator: TypeAlias = Callable[[FloatArray], FloatArray]

RESIDUAL = 1e-10  # relative residual at which the basis counts as complete; predictions then agree to about 1e-9
ROUGH = 1e-4  # residual over shift at which start'(K + shift)^-1 start is right to about the square of it, 1e-8
DEPENDENT = 1e-11  # a direction this small against its block is rounding noise, not a new direction
GROWTH = 1.15  # the basis grows by this factor between two looks at the residual, which cost a solve each
PANEL = 64  # columns that one thread takes out of the basis at a time
TILE = 4096  # rows that one thread orthogonalises or rotates at a time


def lanczos_eigenpairs(
    apply: Operator, start: FloatArray, shift: float, rough: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and vectors of a positive semidefinite operator as far as the start block can see them.

    Block Lanczos with full reorthogonalisation: the basis spans ``start, K start, K^2 start, ...`` and grows until

        (K + shift I) y = start

    is solved in it to ``RESIDUAL``, or until it spans an invariant space. Every larger shift converges faster, so
    one basis serves all of them. A ``rough`` basis stops at ``ROUGH``: the residual is orthogonal to the basis, so
    that inner products of y with the start block are right long before y itself is. Returns (values (r,),
    vectors (n, r)).
    """
    block, lead = _independent(start)
    basis = _Basis(np.empty((len(start), 0), order="F"), np.empty((0, 0)), 0)
    next_look = 0.0
    while block.shape[1]:
        basis.append(block)
        image, scale = basis.outside(apply(block))
        block, beta = _independent(image, scale)
        if basis.size >= next_look:
            if _solved(basis.projected(), lead, beta, shift, rough):
                break
            next_look = basis.size * GROWTH
    values, turn = np.linalg.eigh(basis.projected())
    vectors = parallel_map(lambda tile: basis.vectors[tile, : basis.size] @ turn, _tiles(len(start)))
    return np.maximum(values, 0.0), np.vstack(vectors)


@dataclass(slots=True)
class _Basis:
    """Orthonormal vectors and the operator between them, in arrays that double when full."""

    vectors: FloatArray  # (n, capacity), columns contiguous
    upper: FloatArray  # (capacity, capacity), upper triangle
    size: int

    def append(self, block: FloatArray) -> None:
        """Take in the columns of an orthonormal block."""
        wanted = self.size + block.shape[1]
        if wanted > self.vectors.shape[1]:
            capacity = min(max(2 * self.vectors.shape[1], 4 * block.shape[1]), max(len(block), wanted))
            vectors = np.empty((len(block), capacity), order="F")
            vectors[:, : self.size] = self.vectors[:, : self.size]
            upper = np.zeros((capacity, capacity))
            upper[: self.size, : self.size] = self.upper[: self.size, : self.size]
            self.vectors, self.upper = vectors, upper
        self.vectors[:, self.size : wanted] = block
        self.size = wanted

    def outside(self, image: FloatArray) -> tuple[FloatArray, float]:
        """What of the last block's image sticks out of the basis, and the size of what lies in it."""
        held = self.vectors[:, : self.size]

        def split(panel: FloatArray) -> tuple[FloatArray, FloatArray]:
            inside = held.T @ panel
            rest = panel - held @ inside
            again = held.T @ rest  # twice is enough to stay orthogonal to rounding
            return inside + again, rest - held @ again

        width = image.shape[1]
        parts = parallel_map(split, [image[:, at : at + PANEL] for at in range(0, width, PANEL)])
        coupling = np.hstack([inside for inside, _ in parts])
        self.upper[: self.size, self.size - width : self.size] = coupling
        return np.hstack([rest for _, rest in parts]), float(np.linalg.norm(coupling))

    def projected(self) -> FloatArray:
        """The operator in the basis, symmetric."""
        upper = np.triu(self.upper[: self.size, : self.size])
        return np.asarray(upper + np.triu(upper, 1).T)


def _independent(block: FloatArray, scale: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Orthonormal columns spanning the block without its rounding noise, and the block's coordinates in them."""
    if block.shape[1] == 0:
        return block, np.zeros((0, 0))
    # Tiles first, pivoting only on their stacked triangles: that reveals the same rank, and tall pivoting is slow.
    parts = parallel_map(lambda tile: np.linalg.qr(block[tile]), _tiles(len(block)))
    stacked = np.vstack([triangle for _, triangle in parts])
    turn, r, order = linalg.qr(stacked, mode="economic", pivoting=True, check_finite=False)
    size = np.abs(np.diag(r))
    rank = int((size > DEPENDENT * max(float(size.max(initial=0.0)), scale)).sum())
    coordinates = np.empty((rank, block.shape[1]))
    coordinates[:, order] = r[:rank]
    turns = np.split(turn[:, :rank], np.cumsum([len(triangle) for _, triangle in parts])[:-1])
    pairs = [(q, piece) for (q, _), piece in zip(parts, turns, strict=True)]
    return np.vstack(parallel_map(lambda pair: pair[0] @ pair[1], pairs)), coordinates


def _tiles(rows: int) -> list[slice]:
    return [slice(at, at + TILE) for at in range(0, max(rows, 1), TILE)]


def _solved(projected: FloatArray, lead: FloatArray, beta: FloatArray, shift: float, rough: bool) -> bool:
    """Whether every column of the start block is solved, read off the basis without another product."""
    right = np.zeros((len(projected), lead.shape[1]))
    right[: len(lead)] = lead
    shifted = projected + shift * np.eye(len(projected))
    solution = linalg.cho_solve(linalg.cho_factor(shifted, check_finite=False), right, check_finite=False)
    left_over = np.linalg.norm(beta @ solution[-beta.shape[1] :], axis=0)
    enough = np.full(lead.shape[1], ROUGH * shift) if rough else RESIDUAL * np.linalg.norm(lead, axis=0)
    return bool((left_over <= enough).all())
