"""A small basis in which a large shifted system is already solved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray

RESIDUAL = 1e-10  # relative residual at which the basis counts as complete; predictions then agree to about 1e-9
DEPENDENT = 1e-11  # a direction this small against its block is rounding noise, not a new direction
GROWTH = 1.15  # the basis grows by this factor between two looks at the residual, which cost a solve each


def ritz(apply: Callable[[FloatArray], FloatArray], start: FloatArray, shift: float) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and vectors of a positive semidefinite operator as far as the start block can see them.

    Block Lanczos with full reorthogonalisation: the basis spans ``start, K start, K^2 start, ...`` and grows until

        (K + shift I) y = start

    is solved in it to ``RESIDUAL``, or until it spans an invariant space. Every larger shift converges faster, so
    one basis serves all of them. Returns (values (r,), vectors (n, r)).
    """
    size = np.linalg.norm(start, axis=0)
    block, lead = _independent(start[:, size > 0] / size[size > 0])
    basis = _Basis(np.empty((len(start), 0), order="F"), np.empty((0, 0)), 0)
    next_look = 0.0
    while block.shape[1]:
        basis.append(block)
        image = apply(block)
        scale = basis.orthogonalise(image)
        block, beta = _independent(image, scale)
        if basis.size >= next_look:
            if _residual(basis.projected(), lead, beta, shift) < RESIDUAL:
                break
            next_look = basis.size * GROWTH
    values, rotation = np.linalg.eigh(basis.projected())
    return np.maximum(values, 0.0), basis.vectors[:, : basis.size] @ rotation


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
            capacity = min(max(2 * self.vectors.shape[1], wanted), max(len(block), wanted))
            vectors = np.empty((len(block), capacity), order="F")
            vectors[:, : self.size] = self.vectors[:, : self.size]
            upper = np.zeros((capacity, capacity))
            upper[: self.size, : self.size] = self.upper[: self.size, : self.size]
            self.vectors, self.upper = vectors, upper
        self.vectors[:, self.size : wanted] = block
        self.size = wanted

    def orthogonalise(self, image: FloatArray) -> float:
        """Record the last block's image in the basis, leave in ``image`` what is new, return the recorded size."""
        held = self.vectors[:, : self.size]
        coupling = np.zeros((self.size, image.shape[1]))
        for _ in range(2):  # twice is enough to stay orthogonal to rounding
            part = held.T @ image
            image -= held @ part
            coupling += part
        self.upper[: self.size, self.size - image.shape[1] : self.size] = coupling
        return float(np.linalg.norm(coupling))

    def projected(self) -> FloatArray:
        """The operator in the basis, symmetric."""
        upper = np.triu(self.upper[: self.size, : self.size])
        return np.asarray(upper + np.triu(upper, 1).T)


def _independent(block: FloatArray, scale: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Orthonormal columns spanning the block without its rounding noise, and the block's coordinates in them."""
    if block.shape[1] == 0:
        return block, np.zeros((0, 0))
    q, r, order = linalg.qr(block, mode="economic", pivoting=True, check_finite=False)
    size = np.abs(np.diag(r))
    rank = int((size > DEPENDENT * max(float(size.max(initial=0.0)), scale)).sum())
    coordinates = np.empty((rank, block.shape[1]))
    coordinates[:, order] = r[:rank]
    return q[:, :rank], coordinates


def _residual(projected: FloatArray, lead: FloatArray, beta: FloatArray, shift: float) -> float:
    """Largest relative residual over the start block's columns, read off the basis without another product."""
    if not len(beta):
        return 0.0
    right = np.zeros((len(projected), lead.shape[1]))
    right[: len(lead)] = lead
    shifted = projected + shift * np.eye(len(projected))
    solution = linalg.cho_solve(linalg.cho_factor(shifted, check_finite=False), right, check_finite=False)
    return float(np.linalg.norm(beta @ solution[-beta.shape[1] :], axis=0).max(initial=0.0))
