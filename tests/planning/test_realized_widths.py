"""Forecast interval widths, compared with the median width of simulated experiments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deconfound.planning import ValuePrior, inputs_from_pilot
from deconfound.planning.forecast import interval_widths
from deconfound.value import ScoredExperiment, tuned_doubly_robust

MODELS = 6
STUDIES = 70
PILOT_ROWS = 2_000  # per model: the variance of yes/no outcomes with mean 0.97 is then known to 2 %
ROWS_PER_USER = 3
PRECISION = 5.0  # of the beta distributions of users' means and of graded outcomes


def simulate(mean: float, rows: int, rng: np.random.Generator, *, yes_no: bool, users: bool) -> ScoredExperiment:
    """Models of equal value and a useless reward; with ``users``, each has a mean of its own."""
    total = rows * MODELS
    model, q = rng.integers(0, MODELS, total), rng.random((total, MODELS))
    user = rng.integers(0, total // ROWS_PER_USER, total) if users else np.arange(total)
    chance = np.full(total, mean)
    if users:
        chance = rng.beta(PRECISION * mean, PRECISION * (1 - mean), total)[user]
    graded = rng.beta(PRECISION * chance + 1e-9, PRECISION * (1 - chance) + 1e-9)
    outcome = (rng.random(total) < chance).astype(np.float64) if yes_no else graded
    return ScoredExperiment.from_arrays("abcdef", q, q[np.arange(total), model], model, outcome, cluster=user)


def planned_over_realized(mean: float, rows: int, *, yes_no: bool, users: bool) -> float:
    """Forecast from the true values and from the variances of a large pilot, over the median width of studies."""
    rng = np.random.default_rng([rows, int(1000 * mean)])
    inputs = inputs_from_pilot(simulate(mean, PILOT_ROWS, rng, yes_no=yes_no, users=users))
    prior = ValuePrior(np.full(MODELS, mean), np.zeros((MODELS, MODELS)))
    planned = interval_widths(replace(inputs, prior=prior), np.full(MODELS, float(rows)))
    studies = [simulate(mean, rows, rng, yes_no=yes_no, users=users) for _ in range(STUDIES)]
    realized = np.median([np.diff(tuned_doubly_robust(study).interval(), axis=1) for study in studies])
    return float(np.median(planned) / realized)


CASES = [
    pytest.param(0.5, True, id="yes/no, mean 0.5"),
    pytest.param(0.9, True, id="yes/no, mean 0.9"),
    pytest.param(0.97, True, id="yes/no, mean 0.97"),
    pytest.param(0.5, False, id="graded, mean 0.5"),
    pytest.param(0.75, False, id="graded, mean 0.75"),
]


SIZES = [
    (5, False),
    (20, True),
    *(pytest.param(*size, marks=pytest.mark.slow) for size in ((20, False), (100, False), (100, True))),
]


@pytest.mark.parametrize(("rows", "users"), SIZES)
@pytest.mark.parametrize(("mean", "yes_no"), CASES)
def test_the_forecast_is_the_median_width_of_studies(mean, yes_no, rows, users):
    """A width has a relative sd of at most 0.3, so that the median of 420 has an error of 1.25 * 0.3 / sqrt(420).

    That is 0.018. Two errors and 0.05 for the formulas are 0.09.
    """
    assert planned_over_realized(mean, rows, yes_no=yes_no, users=users) == pytest.approx(1.0, abs=0.09)


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "yes_no"), CASES)
def test_five_rows_per_model_by_ten_users_are_forecast_within_a_quarter(mean, yes_no):
    """The users per model then vary so much between studies that one number of independent rows is a rough summary."""
    assert planned_over_realized(mean, 5, yes_no=yes_no, users=True) == pytest.approx(1.0, abs=0.25)
