"""What a prompt alone says about the reward of every model: a ridge regression of q on features of prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from deconfound.design import FloatArray

PENALTIES = tuple(float(10.0**power) for power in np.arange(-2.0, 4.1, 0.5))  # of features with mean square norm <= 2


@dataclass(frozen=True, slots=True, eq=False)
class LinearScores:
    """score = intercept + features @ coef"""

    intercept: FloatArray  # (k,)
    coef: FloatArray  # (p, k)
    penalty: float

    def __call__(self, features: FloatArray) -> FloatArray:
        """Scores (n, k)."""
        return np.asarray(self.intercept + features @ self.coef)

    @classmethod
    def fit(cls, features: FloatArray, q: FloatArray) -> Self:
        """Ridge of q (n, k) on features (n, p), with one penalty for all models and no penalty on intercepts.

            coef = X' (X X' + penalty I)^-1 Q,      X and Q centered

        The penalty is the one with the smallest squared error on prompts that are left out one at a time, of the
        differences between models: what models have in common is no reason to prefer one. One eigendecomposition of
        the smaller of X X' and X' X serves all penalties: the error of row i left out is residual_i / (1 - H_ii).
        """
        mean, center = features.mean(axis=0), q.mean(axis=0)
        X, Q = features - mean, q - center
        left, squares, right = _singular(X)
        rotated = left.T @ Q
        errors = [_left_out_error(Q, left, rotated, squares / (squares + penalty)) for penalty in PENALTIES]
        penalty = PENALTIES[int(np.argmin(errors))]
        coef = right @ ((np.sqrt(squares) / (squares + penalty))[:, None] * rotated)
        return cls(center - mean @ coef, coef, penalty)


def _singular(X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Left vectors (n, r), squared singular values (r,) and right vectors (p, r) of nonzero singular values."""
    wide = X.shape[0] <= X.shape[1]
    squares, vectors = np.linalg.eigh(X @ X.T if wide else X.T @ X)
    used = squares > 1e-10 * max(float(squares[-1]), 1e-300)
    squares, vectors = squares[used], vectors[:, used]
    other = (X.T if wide else X) @ vectors / np.sqrt(squares)
    return (vectors, squares, other) if wide else (other, squares, vectors)


def _left_out_error(Q: FloatArray, left: FloatArray, rotated: FloatArray, shrinkage: FloatArray) -> float:
    """Sum of squared errors of contrasts between models, each prompt left out of the regression that predicts it."""
    leverage = (left**2) @ shrinkage + 1 / len(Q)
    residual = (Q - left @ (shrinkage[:, None] * rotated)) / np.maximum(1 - leverage, 1e-6)[:, None]
    return float(((residual - residual.mean(axis=1, keepdims=True)) ** 2).sum())
