"""A small basis in which a large shifted system is already solved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray

RESIDUAL = 1e-10  # relative residual at which the basis counts as complete; predictions then agree to about 1e-9
DEPENDENT = 1e-11  # a direction this small against its block is rounding noise, not a new direction


def ritz(apply: Callable[[FloatArray], FloatArray], start: FloatArray, shift: float) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and vectors of a positive semidefinite operator as far as the start block can see them.

    Block Lanczos with full reorthogonalisation: the basis spans ``start, K start, K^2 start, ...`` and grows until

        (K + shift I) y = start

    is solved in it to ``RESIDUAL``, or until it spans an invariant space. Every larger shift converges faster, so
    one basis serves all of them. Returns (values (r,), vectors (n, r)).
    """
    block, lead = _independent(start)
    blocks, columns = [block], []
    while True:
        image = apply(blocks[-1])
        coupling = np.concatenate([b.T @ image for b in blocks])
        for _ in range(2):  # twice is enough to stay orthogonal to rounding
            for b in blocks:
                image = image - b @ (b.T @ image)
        columns.append(coupling)
        block, beta = _independent(image, scale=float(np.linalg.norm(coupling)))
        projected = _assemble(columns)
        if block.shape[1] == 0 or _residual(projected, lead, beta, shift) < RESIDUAL:
            break
        blocks.append(block)
    values, rotation = np.linalg.eigh(projected)
    return np.maximum(values, 0.0), np.hstack(blocks) @ rotation


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


def _assemble(columns: list[FloatArray]) -> FloatArray:
    size = len(columns[-1])
    projected = np.zeros((size, size))
    at = 0
    for coupling in columns:
        projected[: len(coupling), at : at + coupling.shape[1]] = coupling
        at += coupling.shape[1]
    upper = np.triu(projected)
    return upper + np.triu(upper, 1).T


def _residual(projected: FloatArray, lead: FloatArray, beta: FloatArray, shift: float) -> float:
    """Largest relative residual over the start block's columns, read off the basis without another product."""
    right = np.zeros((len(projected), lead.shape[1]))
    right[: len(lead)] = lead
    solution = linalg.solve(projected + shift * np.eye(len(projected)), right, assume_a="pos", check_finite=False)
    left_over = np.linalg.norm(beta @ solution[-beta.shape[1] :], axis=0)
    size = np.linalg.norm(lead, axis=0)
    return float((left_over / np.where(size > 0, size, 1.0)).max(initial=0.0))
