"""What a long log says about the reward, computed from sums over its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from deconfound.design import FloatArray
from deconfound.linalg.arrowhead import FactoredArrowhead
from deconfound.reward.auto.linear_columns import LinearMoments
from deconfound.reward.auto.variance_components import VarianceComponents


@dataclass(frozen=True, slots=True, eq=False)
class MomentPosterior:
    """Mean and covariance of the reward's coefficients given the log.

        log outcomes   y = Z (shared + bias) + noise,    shared ~ N(0, V),  bias ~ N(0, B),  noise ~ N(0, s^2)

    The reward is shared + unshared, where unshared ~ N(0, U) has no part in the log. With S = V + B and G = Z'Z, let

        R = S^(1/2),    P = V S^(-1/2),    K = I + R G R / s^2

    Then the reward's coefficients have

        mean        P K^-1 R Z'y / s^2
        covariance  V + U - P (I - K^-1) P

    V, U, B, R and P are diagonal, and K is an arrowhead like G.
    """

    prior_variance: FloatArray  # (size,) V + U
    root: FloatArray  # (size,) R
    damping: FloatArray  # (size,) P
    factored: FactoredArrowhead  # K
    right: FloatArray  # (size,) R Z'y / s^2
    solution: FloatArray  # (size,) K^-1 right

    @classmethod
    def condition(cls, moments: LinearMoments, variances: VarianceComponents) -> Self:
        """One factorization, whatever the number of rows."""
        parts = (variances.reward, variances.unshared, variances.bias)
        reward, unshared, bias = (moments.columns.variances(part, moments.scale) for part in parts)
        root = np.sqrt(reward + bias)
        damping = np.divide(reward, root, out=np.zeros_like(root), where=root > 0)
        factored = moments.gram.scaled(root / np.sqrt(variances.noise)).plus_identity().factor()
        right = root * moments.cross / variances.noise
        return cls(reward + unshared, root, damping, factored, right, factored.solve(right))

    @property
    def mean(self) -> FloatArray:
        """Posterior mean of the coefficients (size,)."""
        return self.damping * self.solution

    def covariance_times(self, columns: FloatArray) -> FloatArray:
        """Posterior covariance of the coefficients times columns (size, m)."""
        damped = self.damping[:, None] * columns
        kept_noise = damped - self.factored.solve(damped)
        return self.prior_variance[:, None] * columns - self.damping[:, None] * kept_noise

    def covariance_of(self, rows: FloatArray) -> FloatArray:
        """Posterior covariance (n, n) of rows @ coefficients, for rows written out (n, size)."""
        covariance = rows @ self.covariance_times(rows.T)
        return (covariance + covariance.T) / 2.0
