"""Plan inputs of a few models with chosen variances, and simulated pilots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deconfound.planning import PlanInputs, ValuePrior
from deconfound.value import ScoredExperiment


def plan_inputs(
    residual_variance: tuple[float, ...] = (0.04, 0.04),
    mean: tuple[float, ...] = (0.6, 0.5),
    context_variance: float = 0.0,
    value_variance: float = 0.0,
) -> PlanInputs:
    """Models a, b, ... whose reward explains ``context_variance`` on top of the residual variance."""
    count = len(residual_variance)
    return PlanInputs(
        models=tuple("abcdefgh"[:count]),
        within_model_variance=np.array(residual_variance) + context_variance,
        outcome_variance=np.array(residual_variance) + context_variance,
        residual_variance=np.array(residual_variance),
        context_covariance=context_variance * np.eye(count),
        df_per_row=np.ones(count),
        prior=ValuePrior(np.array(mean), value_variance * np.eye(count)),
        variance_factor_interval=(0.8, 1.25),
        source="assumed",
    )


def simulate_pilot(rows: int, seed: int = 0, noise: float = 0.2) -> ScoredExperiment:
    """Three models and a reward that is exact up to ``noise``: residual sd ``noise``, reward sd 0.1."""
    rng = np.random.default_rng(seed)
    q = 0.5 + 0.1 * rng.choice([-1.0, 1.0], (rows, 3)) + np.array([0.0, 0.05, 0.1])
    model = rng.integers(0, 3, rows)
    prediction = q[np.arange(rows), model]
    outcome = prediction + noise * rng.choice([-1.0, 1.0], rows)
    return ScoredExperiment.from_arrays("abc", q, prediction, model, outcome)


def simulate_user_pilot(rows: int, seed: int, *, rows_per_user: float, user_sd: float) -> ScoredExperiment:
    """As ``simulate_pilot`` with noise 0.3, and users of unequal activity whose own effect has sd ``user_sd``."""
    rng = np.random.default_rng(seed)
    users = round(rows / rows_per_user)
    activity = rng.gamma(3.0, size=users)
    user = rng.choice(users, rows, p=activity / activity.sum())
    pilot = simulate_pilot(rows, seed, noise=0.3)
    return replace(pilot, outcome=pilot.outcome + user_sd * rng.standard_normal(users)[user], cluster=user)
