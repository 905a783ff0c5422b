"""Ridge regression on one source, with a free intercept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, Matrix
from deconfound.linalg.factored import factor
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
    with one_blas_thread():
        side = factor(features, columns, weight / total, seen=None, smallest=penalty / total)
        coef = side.basis.lift(side.cross / (side.values + penalty / total)[:, None])
        intercept = side.target - side.basis.mean @ coef
    return Linear(coef[:, 0], float(intercept[0])) if targets.ndim == 1 else Linear(coef, intercept)
