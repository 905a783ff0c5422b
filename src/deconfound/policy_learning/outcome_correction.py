"""What outcomes of log and experiment say about prompts beyond the reward: one ridge per model on the residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray

LOG_WEIGHTS = (0.0, 0.25, 1.0)  # of a row of the log, relative to one of the experiment
PENALTIES = tuple(float(10.0**power) for power in np.arange(-0.5, 3.1, 0.5))


@dataclass(frozen=True, slots=True, eq=False)
class RatedPrompts:
    """Rows with an outcome, of one source."""

    features: FloatArray  # (n, p)
    model: IntArray  # (n,)
    residual: FloatArray  # (n,) outcome minus what the router predicts so far

    def of_model(self, model: int) -> tuple[FloatArray, FloatArray]:
        """Centered features and residuals of one model's rows: a source's mean error is no difference of prompts."""
        rows = self.model == model
        X, y = self.features[rows], self.residual[rows]
        return (X - X.mean(axis=0), y - y.mean()) if rows.any() else (X, y)


def correction_coef(experiment: RatedPrompts, log: RatedPrompts, models: int) -> FloatArray:
    """Coefficients (p, k) to add; zero where no correction predicts randomized outcomes better.

        coef_a = (Xe'Xe + w Xl'Xl + penalty I)^-1 (Xe'ye + w Xl'yl),      rows of model a, centered by source

    The weight w of the log and the penalty are the same for all models, and those with the smallest squared error on
    rows of the experiment that are left out one at a time. A log whose differences between prompts contradict the
    experiment gets the weight zero.
    """
    own = [experiment.of_model(model) for model in range(models)]
    other = [log.of_model(model) for model in range(models)]
    best_error = sum(_left_out(y, np.zeros(len(y)), np.zeros(len(y))) for _, y in own)
    coef = np.zeros((experiment.features.shape[1], models))
    for weight in LOG_WEIGHTS if len(log.model) else (0.0,):
        systems = [_eigen_system(mine, theirs, weight) for mine, theirs in zip(own, other, strict=True)]
        for penalty in PENALTIES:
            error = sum(_system_error(system, y, penalty) for system, (_, y) in zip(systems, own, strict=True))
            if error < best_error:
                best_error, coef = error, np.column_stack([system.coef(penalty) for system in systems])
    return coef


@dataclass(frozen=True, slots=True, eq=False)
class _EigenSystem:
    """The normal equations of one model, rotated so that every penalty is a division."""

    values: FloatArray  # (p,)
    vectors: FloatArray  # (p, p)
    right_side: FloatArray  # (p,) rotated
    rows: FloatArray  # (n, p) rotated features of the experiment

    def coef(self, penalty: float) -> FloatArray:
        return np.asarray(self.vectors @ (self.right_side / (self.values + penalty)))


def _eigen_system(
    experiment: tuple[FloatArray, FloatArray], log: tuple[FloatArray, FloatArray], weight: float
) -> _EigenSystem:
    (X, y), (L, z) = experiment, log
    gram, side = X.T @ X, X.T @ y
    if weight:
        gram, side = gram + weight * (L.T @ L), side + weight * (L.T @ z)
    values, vectors = np.linalg.eigh(gram)
    return _EigenSystem(np.maximum(values, 0.0), vectors, vectors.T @ side, X @ vectors)


def _system_error(system: _EigenSystem, residual: FloatArray, penalty: float) -> float:
    shrunk = system.rows / (system.values + penalty)
    return _left_out(residual, shrunk @ system.right_side, (shrunk * system.rows).sum(axis=1))


def _left_out(residual: FloatArray, fitted: FloatArray, leverage: FloatArray) -> float:
    """Squared error of rows that are left out one at a time; the mean of a source counts as fitted."""
    rest = 1 - leverage - 1 / max(len(residual), 1)
    return float((((residual - fitted) / np.maximum(rest, 1e-6)) ** 2).sum())
