"""Coefficients to full precision where the factorization of the log is only good for predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from deconfound.design import FeatureMatrix, FloatArray

RESIDUAL_RTOL = 1e-10  # of the right-hand side; predictions then agree to about 1e-9
MAX_ITERATIONS = 500  # far more than a good start ever needs


@dataclass(frozen=True, slots=True)
class NormalEquations:
    """The log's covariance C, applied through its rows instead of factored."""

    rows: FeatureMatrix  # (n, d)
    normalized_weight: FloatArray  # (n,)
    cross_covariance: FloatArray  # (d, m) of the features with the targets

    @classmethod
    def from_rows(cls, rows: FeatureMatrix, targets: FloatArray, normalized_weight: FloatArray) -> NormalEquations:
        """From the log's rows and targets (n, m)."""
        centered = targets - normalized_weight @ targets
        return cls(rows, normalized_weight, rows.transposed_product(normalized_weight[:, None] * centered))

    def solve(self, start: FloatArray, experiment_rhs: FloatArray, pooling: float, penalty: float) -> FloatArray:
        """Solve (pooling C + penalty I) w = pooling cross + experiment_rhs by conjugate gradients from ``start``."""

        def apply(coef: FloatArray) -> FloatArray:
            prediction = self.rows @ coef
            prediction -= self.normalized_weight @ prediction
            return self.rows.transposed_product(pooling * self.normalized_weight * prediction) + penalty * coef

        system = LinearOperator((len(start), len(start)), matvec=apply, dtype=np.float64)
        right = pooling * self.cross_covariance[:, 0] + experiment_rhs
        solution, _ = cg(system, right, x0=start, rtol=RESIDUAL_RTOL, atol=0.0, maxiter=MAX_ITERATIONS)
        return np.asarray(solution)
