"""Finish coefficients that a rough basis has brought most of the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, Matrix

RESIDUAL = 1e-10  # relative; predictions then agree to about 1e-9
STEPS = 500  # far more than a rough start ever needs


@dataclass(frozen=True, slots=True)
class Polish:
    """The rows behind a rough factorization: the covariance C itself, applied instead of factored."""

    rows: Matrix  # (n, d)
    shares: FloatArray  # (n,)
    cross: FloatArray  # (d, m) covariance of the features with the targets

    @classmethod
    def of(cls, rows: Matrix, targets: FloatArray, shares: FloatArray) -> Polish:
        """Keep the rows and their covariance with the targets (n, m)."""
        return cls(rows, shares, np.asarray(rows.T @ (shares[:, None] * (targets - shares @ targets))))

    def __call__(self, coef: FloatArray, push: FloatArray, pooling: float, penalty: float) -> FloatArray:
        """Solve (pooling C + penalty I) w = pooling cross[:, 0] + push by conjugate gradients, starting at ``coef``."""
        right = pooling * self.cross[:, 0] + push
        residual = right - self._apply(coef, pooling, penalty)
        direction, size = residual, float(residual @ residual)
        enough = RESIDUAL**2 * float(right @ right)
        for _ in range(STEPS):
            if size <= enough:
                break
            image = self._apply(direction, pooling, penalty)
            step = size / float(direction @ image)
            coef = coef + step * direction
            residual = residual - step * image
            before, size = size, float(residual @ residual)
            direction = residual + (size / before) * direction
        return coef

    def _apply(self, coef: FloatArray, pooling: float, penalty: float) -> FloatArray:
        along = np.asarray(self.rows @ coef)
        along -= self.shares @ along
        return np.asarray(self.rows.T @ (pooling * self.shares * along)) + penalty * coef
