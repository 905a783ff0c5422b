"""Conjugate gradients for several systems at once, one column each, which share their products."""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray
from deconfound.linalg.block_lanczos import Operator


def conjugate_gradients(
    apply: Operator, precondition: Operator, right: FloatArray, residual_rtol: float, max_iterations: int
) -> FloatArray | None:
    """Solve A_c x_c = right_c for every column c of ``right`` (n, m); None where some column does not converge.

    ``apply`` multiplies every column with its own positive definite matrix, ``precondition`` with one that is close to
    its inverse.
    """
    solution, residual = np.zeros_like(right), right.copy()
    direction = precondition(residual)
    energy = (residual * direction).sum(axis=0)
    limit = residual_rtol * np.maximum(np.linalg.norm(right, axis=0), np.finfo(np.float64).tiny)
    for _ in range(max_iterations):
        active = np.linalg.norm(residual, axis=0) > limit
        if not active.any():
            return solution
        product = apply(direction)
        curvature = (direction * product).sum(axis=0)
        step = np.where(active, energy / np.where(active, curvature, 1.0), 0.0)
        solution += step * direction
        residual -= step * product
        corrected = precondition(residual)
        previous, energy = energy, (residual * corrected).sum(axis=0)
        direction = corrected + np.where(active, energy / np.where(active, previous, 1.0), 0.0) * direction
    return None
