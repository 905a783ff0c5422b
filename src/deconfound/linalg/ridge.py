"""Ridge regression on one source, with a free intercept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray, Matrix
from deconfound.design.gram import GramRows
from deconfound.linalg import factorization
from deconfound.linalg.factorization import Dual, factor
from deconfound.linalg.kernels import kernel_matrix
from deconfound.linalg.threads import one_blas_thread


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear function of the features; several targets give several columns."""

    coef: FloatArray  # (d,) or (d, m)
    intercept: float | FloatArray  # scalar or (m,)

    def __call__(self, features: Matrix) -> FloatArray:
        """Value of the function at each row."""
        return np.asarray(features @ self.coef) + self.intercept


def ridge(features: Matrix, targets: FloatArray, penalty: float, weight: FloatArray | None = None) -> Linear:
    """Minimise sum_i weight_i |t_i - x_i'w - b|^2 + penalty |w|^2 for one target (n,) or several (n, m)."""
    weight = np.ones(features.shape[0]) if weight is None else weight
    total = float(weight.sum())
    columns = targets[:, None] if targets.ndim == 1 else targets
    # With the kernel at hand, one Cholesky factorization beats everything else at any size that fits into memory.
    few = isinstance(features, GramRows) or features.shape[0] <= min(factorization.EXACT, features.shape[1])
    with one_blas_thread():
        coef, intercept = (_of_few if few else _of_many)(features, columns, weight / total, penalty / total)
    return Linear(coef[:, 0], float(intercept[0])) if targets.ndim == 1 else Linear(coef, intercept)


def _of_few(features: Matrix, targets: FloatArray, shares: FloatArray, penalty: float) -> tuple[FloatArray, FloatArray]:
    """Few rows over many features: one Cholesky factorization of their kernel."""
    mean, target = np.asarray(features.T @ shares), shares @ targets
    root = np.sqrt(shares)[:, None]
    kernel = kernel_matrix(features, mean, root)
    kernel[np.diag_indices_from(kernel)] += penalty
    triangle = linalg.cho_factor(kernel, overwrite_a=True, check_finite=False)
    weights = root * linalg.cho_solve(triangle, root * (targets - target), check_finite=False)
    coef = Dual(mean, features, weights).lift(np.eye(targets.shape[1]))
    return coef, target - mean @ coef


def _of_many(
    features: Matrix, targets: FloatArray, shares: FloatArray, penalty: float
) -> tuple[FloatArray, FloatArray]:
    """Everything else: as a source that is factored for a single penalty."""
    side = factor(features, targets, shares, seen=None, smallest=penalty)
    coef = side.basis.lift(side.cross / (side.values + penalty)[:, None])
    return coef, side.target - side.basis.mean @ coef
