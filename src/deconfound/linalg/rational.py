"""A small basis for shifted systems with shifts too small for a Krylov space, by solving a few of them outright."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray

RESIDUAL = 1e-6  # over the start block, at which the basis is good enough; its inner products are right to the square
POLES = 4  # shifts that are solved before the first look
MOST = 16  # far more than any spectrum between the ends needs
CHECKS = 13  # shifts between the ends at which the residual is looked at
DEPENDENT = 1e-10  # a direction this small against its block is rounding noise


def rational_ritz(kernel: FloatArray, start: FloatArray, smallest: float) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and vectors of an explicit positive semidefinite matrix as far as the start block can see them.

    The basis spans ``start`` and (K + s)^-1 start for a few shifts s between ``smallest`` and the largest eigenvalue.
    Each costs a Cholesky factorization, but the error at all shifts between them falls geometrically with their
    number, where a Krylov space needs the root of the condition number. Shifts are added where the residual is worst.
    """
    largest = max(float(np.linalg.norm(kernel, 1)), 2.0 * smallest)
    checks = np.geomspace(smallest, largest, CHECKS)
    poles = list(np.geomspace(smallest, largest, POLES + 1)[:-1])
    basis = _outside(np.empty((len(start), 0)), start)
    for pole in poles:
        basis = np.hstack([basis, _outside(basis, _solve(kernel, pole, start))])
    image = kernel @ basis
    while True:
        projected = basis.T @ image
        residual = [_residual(basis, image, projected, start, shift) for shift in checks]
        worst = int(np.argmax(residual))
        if residual[worst] <= RESIDUAL or len(poles) >= MOST:
            break
        poles.append(float(checks[worst]))
        fresh = _outside(basis, _solve(kernel, poles[-1], start))
        basis, image = np.hstack([basis, fresh]), np.hstack([image, kernel @ fresh])
    values, turn = np.linalg.eigh((projected + projected.T) / 2.0)
    return np.maximum(values, 0.0), np.asarray(basis @ turn)


def _solve(kernel: FloatArray, shift: float, start: FloatArray) -> FloatArray:
    shifted = kernel.copy()
    shifted[np.diag_indices_from(shifted)] += shift
    triangle = linalg.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(linalg.cho_solve(triangle, start, check_finite=False))


def _outside(basis: FloatArray, block: FloatArray) -> FloatArray:
    """Orthonormal directions of what the block has beyond the basis."""
    rest = block / np.maximum(np.linalg.norm(block, axis=0), np.finfo(np.float64).tiny)
    for _ in range(2):  # twice is enough to stay orthogonal to rounding
        rest = rest - basis @ (basis.T @ rest)
    left, values, _ = np.linalg.svd(rest, full_matrices=False)
    fresh = left[:, values > DEPENDENT]
    fresh = fresh - basis @ (basis.T @ fresh)
    return np.asarray(np.linalg.qr(fresh)[0])


def _residual(basis: FloatArray, image: FloatArray, projected: FloatArray, start: FloatArray, shift: float) -> float:
    """Largest share of a column of the start block that the basis leaves unsolved at this shift."""
    shifted = projected + shift * np.eye(len(projected))
    solution = linalg.solve(shifted, basis.T @ start, assume_a="pos", check_finite=False)
    left = start - (image @ solution + shift * (basis @ solution))
    scale = np.maximum(np.linalg.norm(start, axis=0), np.finfo(np.float64).tiny)
    return float((np.linalg.norm(left, axis=0) / scale).max(initial=0.0))
