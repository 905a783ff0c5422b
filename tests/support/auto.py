"""Inputs that the tests of ``auto`` share."""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray, Rows
from deconfound.reward import VarianceComponents

SOME_VARIANCES = VarianceComponents(0.05, 0.03, 0.02, 0.015, 0.04, 0.01, 0.02, 0.03, 0.025, 0.01, 0.05, 0.02)
MODELS, CONTEXTS = 8, 60


def simulate(bias_sd: float, rows: int, seed: int) -> tuple[Rows, Rows, Rows, FloatArray]:
    """Log, experiment, replay and true q; the log's outcomes of each model are shifted by N(0, bias_sd^2)."""
    rng = np.random.default_rng(seed)
    quality = 0.5 + 0.1 * rng.standard_normal(MODELS)
    phi = rng.standard_normal((CONTEXTS, MODELS, 12)) / 4
    direction = rng.standard_normal(12) * 0.2
    truth = np.clip(quality + phi @ direction, 0, 1)
    bias = bias_sd * rng.standard_normal(MODELS)

    def draw(size: int, shift: FloatArray) -> Rows:
        context, model = rng.integers(CONTEXTS, size=size), rng.integers(MODELS, size=size)
        outcome = np.clip(truth[context, model] + shift[model] + 0.2 * rng.standard_normal(size), 0, 1)
        return Rows(phi[context, model], None, outcome, model, context=context)

    replay = Rows(phi.reshape(-1, 12), model=np.tile(np.arange(MODELS), CONTEXTS))
    return draw(500, bias), draw(rows, np.zeros(MODELS)), replay, truth
