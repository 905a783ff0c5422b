"""A T-learner as a yardstick for routing: one ridge per model, fitted to the experiment alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray

PENALTIES = (0.1, 1.0, 10.0, 100.0, 1e4)  # in rows, for columns of unit scale; the largest leaves the mean alone


@dataclass(frozen=True, slots=True)
class TLearner:
    """Intercept and slopes of each model."""

    intercept: FloatArray  # (k,)
    slope: FloatArray  # (k, columns)

    def best(self, columns: FloatArray) -> IntArray:
        """The model with the highest prediction on each context (n,)."""
        return np.asarray((self.intercept + columns @ self.slope.T).argmax(axis=1))


def fit_t_learner(columns: FloatArray, model: IntArray, outcome: FloatArray, count: int) -> TLearner:
    """One penalty for all models, by leave-one-out error. A model without rows is never chosen."""
    fits = [_fit(columns, model, outcome, count, penalty) for penalty in PENALTIES]
    return min(fits, key=lambda fit: fit[1])[0]


def _fit(
    columns: FloatArray, model: IntArray, outcome: FloatArray, count: int, penalty: float
) -> tuple[TLearner, float]:
    """The learner and its sum of squared leave-one-out errors."""
    intercept, slope, error = np.full(count, -np.inf), np.zeros((count, columns.shape[1])), 0.0
    for code in range(count):
        x, y = columns[model == code], outcome[model == code]
        if len(y) == 0:
            continue
        centered = x - x.mean(axis=0)
        inverse = np.linalg.inv(centered.T @ centered + penalty * np.eye(x.shape[1]))
        slope[code] = inverse @ centered.T @ (y - y.mean())
        intercept[code] = y.mean() - x.mean(axis=0) @ slope[code]
        leverage = 1 / len(y) + np.einsum("ij,jk,ik->i", centered, inverse, centered)
        if len(y) > 1:
            error += float((((y - intercept[code] - x @ slope[code]) / (1 - leverage)) ** 2).sum())
    return TLearner(intercept, slope), error
