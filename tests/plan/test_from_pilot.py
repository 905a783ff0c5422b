"""Plan inputs from pilots, compared with known variances and with the estimator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deconfound.errors import EvidenceError
from deconfound.plan import inputs_from_pilot, plan
from deconfound.plan.forecast import interval_widths, root_mean_square, tuning_inflation
from deconfound.value import ScoredExperiment, tuned_doubly_robust
from deconfound.value.small_sample import ModelWeights, moderated
from tests.support.plan_inputs import simulate_pilot


def test_a_large_pilot_recovers_the_variances():
    """10,000 rows per model estimate a variance to 1.5 %."""
    inputs = inputs_from_pilot(simulate_pilot(30_000))
    assert inputs.residual_variance == pytest.approx(np.full(3, 0.04), rel=0.03)
    assert inputs.outcome_variance == pytest.approx(np.full(3, 0.05), rel=0.03)
    assert np.diag(inputs.context_covariance) == pytest.approx(np.full(3, 0.01), rel=0.1)
    assert inputs.prior.mean == pytest.approx([0.5, 0.55, 0.6], abs=0.01)
    assert inputs.pilot_rows == sum(inputs.rows_per_model) == 30_000
    assert inputs.sparse_models == ()


def test_a_limited_reward_weight_leaves_residuals_that_covary_with_the_context():
    """Outcomes rise four times as fast as the reward, and its weight is limited to two.

    q has variance 0.0025: its own part is 4 * 0.0025, and twice the covariance with the residual 2 * 2 * 2 * 0.0025.
    """
    rng = np.random.default_rng(2)
    q, model = 0.5 + 0.05 * rng.choice([-1.0, 1.0], (30_000, 3)), rng.integers(0, 3, 30_000)
    prediction = q[np.arange(30_000), model]
    outcome = 0.5 + 4 * (prediction - 0.5) + 0.1 * rng.choice([-1.0, 1.0], 30_000)
    inputs = inputs_from_pilot(ScoredExperiment.from_arrays("abc", q, prediction, model, outcome))
    assert np.diag(inputs.context_covariance) == pytest.approx(np.full(3, 0.03), rel=0.05)


def test_unequal_weights_reduce_the_effective_rows():
    """Weights 1 / propensity leave (sum w^2)^2 / sum w^4 effective rows for each model."""
    pilot = simulate_pilot(60, seed=5)
    propensity = np.random.default_rng(5).uniform(0.1, 0.9, 60)
    inputs = inputs_from_pilot(replace(pilot, propensity=propensity))
    for a in range(3):
        weight = 1 / propensity[pilot.model == a]
        effective = (weight**2).sum() ** 2 / (weight**4).sum()
        assert inputs.effective_row_share[a] == pytest.approx(effective / len(weight))


def test_a_small_pilot_pays_for_estimating_the_reward_weight():
    """The moderated variance of the residuals at the chosen weight, times the estimator's inflation."""
    pilot = simulate_pilot(45, seed=6, noise=0.05)
    weight = tuned_doubly_robust(pilot).reward_weight
    assert weight is not None
    weights = ModelWeights.from_rows(pilot.model, 3, np.ones(45), None)
    residual = weights.influence(pilot.outcome) - weight * weights.influence(pilot.prediction)
    own = moderated(weights, residual, all_constant=False)
    uninflated = ((own.influence**2).sum(axis=0) + own.added_variance) / weights.sum_squared_weight
    inflation = tuning_inflation(weights.df)
    assert inputs_from_pilot(pilot).residual_variance == pytest.approx(uninflated * inflation)
    assert (inflation > 1.01).all()


def test_rows_of_one_user_count_for_less():
    """Every row twice under one user: half as many effective rows, twice the variance per row."""
    single = simulate_pilot(3_000)
    twice = np.repeat(np.arange(3_000), 2)
    repeated = replace(single.take(twice), cluster=twice)
    clustered, independent = inputs_from_pilot(repeated), inputs_from_pilot(single)
    assert clustered.effective_row_share == pytest.approx(np.full(3, 0.5), rel=0.01)
    assert clustered.residual_variance == pytest.approx(2 * independent.residual_variance, rel=0.03)


def test_a_pilot_planned_at_its_own_size_gives_its_own_widths():
    """Up to the difference between median and mean of a skewed variance of 40 rows."""
    pilot = simulate_pilot(120, seed=3)
    low, high = tuned_doubly_robust(pilot).interval().T
    rows = np.bincount(pilot.model).astype(float)
    planned = interval_widths(inputs_from_pilot(pilot), rows)
    assert root_mean_square(planned) == pytest.approx(root_mean_square(high - low), rel=0.06)


def test_five_rows_per_model_are_enough_to_plan_and_are_reported_as_few():
    inputs = inputs_from_pilot(simulate_pilot(15, seed=1))
    assert inputs.sparse_models == ("a", "b", "c")
    low, high = inputs.variance_factor_interval
    assert low < 0.8
    assert high > 1.3


def test_a_model_without_pilot_rows_gets_the_variance_of_the_others():
    pilot = simulate_pilot(40)
    model = np.where(pilot.model == 2, 1, pilot.model)
    inputs = inputs_from_pilot(replace(pilot, model=model, prediction=pilot.q[np.arange(40), model]))
    estimated = inputs.residual_variance[:2]
    assert estimated.min() <= inputs.residual_variance[2] <= estimated.max()
    assert np.isfinite(plan(inputs).at(20).widths).all()


@pytest.mark.parametrize("pilot", [replace(simulate_pilot(30), outcome=np.ones(30)), simulate_pilot(9)])
def test_constant_outcomes_and_too_few_rows_are_refused(pilot):
    with pytest.raises(EvidenceError, match="pilot: "):
        inputs_from_pilot(pilot)
