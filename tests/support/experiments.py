"""Scored experiments made of random numbers, for comparing formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deconfound.value import ScoredExperiment

MODELS = ("ant", "bee", "cat")


def unrelated_experiment(seed: int = 0, rows: int = 40) -> ScoredExperiment:
    """Rewards, outcomes, propensities and nine clusters that have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    q, model, outcome, prediction = rng.random((rows, 3)), rng.integers(0, 3, rows), rng.random(rows), rng.random(rows)
    propensity, cluster = rng.uniform(0.1, 0.9, rows), rng.integers(0, 9, rows)
    return ScoredExperiment.from_arrays(MODELS, q, prediction, model, outcome, propensity=propensity, cluster=cluster)


def predicted_experiment(seed: int = 0, rows: int = 60) -> ScoredExperiment:
    """Outcomes that follow the reward, with noise; clusters of about two rows and uneven weights."""
    rng = np.random.default_rng(seed)
    q, model = rng.random((rows, 3)), rng.integers(0, 3, rows)
    prediction = np.clip(q[np.arange(rows), model] + 0.05 * rng.normal(size=rows), 0, 1)
    outcome = 0.2 + 0.5 * prediction + 0.3 * rng.random(rows)
    propensity, cluster = rng.uniform(0.1, 0.9, rows), rng.integers(0, rows // 2, rows)
    weight = rng.uniform(0.5, 1.5, rows)
    return ScoredExperiment.from_arrays(
        MODELS, q, prediction, model, outcome, propensity=propensity, cluster=cluster, weight=weight
    )


def with_simple_design(data: ScoredExperiment) -> ScoredExperiment:
    """The same rows with equal weights and propensities, each its own cluster."""
    rows = len(data.model)
    propensity = np.full(rows, 1 / len(data.models))
    return replace(data, propensity=propensity, cluster=np.arange(rows), weight=np.ones(rows))
