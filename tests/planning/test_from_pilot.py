"""Plan inputs from pilots, compared with known variances and with the estimator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deconfound.errors import EvidenceError
from deconfound.planning import inputs_from_pilot, plan
from deconfound.planning.forecast import interval_widths, root_mean_square, tuning_inflation
from deconfound.value import ScoredExperiment, tuned_doubly_robust
from deconfound.value.control_variate import InfluenceTerms
from deconfound.value.mean_weights import ModelWeights, sum_squared_weight
from deconfound.value.small_sample import moderated
from tests.support.plan_inputs import simulate_pilot, simulate_user_pilot


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


def test_unequal_weights_reduce_the_degrees_of_freedom():
    """Weights 1 / propensity leave (sum w)^2 / sum w^2 effective rows of each model."""
    pilot = simulate_pilot(60, seed=5)
    propensity = np.random.default_rng(5).uniform(0.1, 0.9, 60)
    inputs = inputs_from_pilot(replace(pilot, propensity=propensity))
    for a in range(3):
        weight = 1 / propensity[pilot.model == a]
        effective = weight.sum() ** 2 / (weight**2).sum()
        assert inputs.df_per_row[a] == pytest.approx((effective - 1) / (len(weight) - 1))


def test_a_small_pilot_pays_for_estimating_the_reward_weight():
    """The moderated variance of the residuals at the chosen weight, times the estimator's inflation."""
    pilot = simulate_pilot(45, seed=6, noise=0.05)
    weight = tuned_doubly_robust(pilot).reward_weight
    assert weight is not None
    weights = ModelWeights.from_rows(pilot.model, 3, np.ones(45), None)
    residual = weights.influence(pilot.outcome) - weights.influence(pilot.prediction).scaled(weight)
    own = residual.variance()
    moderation = moderated(weights, residual, InfluenceTerms.from_experiment(pilot, pilot.q[:0]).outcomes)
    added = moderation.added_variance(weights, own, tuned_doubly_robust(pilot).estimate)
    uninflated = (own + added) / sum_squared_weight(weights)
    inflation = tuning_inflation(weights.df)
    assert inputs_from_pilot(pilot).residual_variance == pytest.approx(uninflated * inflation)
    assert (inflation > 1.01).all()


def test_rows_of_one_user_count_for_less():
    """Every row twice under one user: half the degrees of freedom, twice the variance per row."""
    single = simulate_pilot(3_000)
    twice = np.repeat(np.arange(3_000), 2)
    repeated = replace(single.take(twice), cluster=twice)
    clustered, independent = inputs_from_pilot(repeated), inputs_from_pilot(single)
    assert clustered.df_per_row == pytest.approx(np.full(3, 0.5), rel=0.01)
    assert clustered.residual_variance == pytest.approx(2 * independent.residual_variance, rel=0.03)


def test_unrelated_rows_have_no_design_effect():
    inputs = inputs_from_pilot(simulate_pilot(90))
    assert inputs.design_effect == pytest.approx(1.0)
    assert inputs.within_model_variance == pytest.approx(inputs.outcome_variance)


def test_users_do_not_change_the_within_model_sd():
    """Every row twice under one user: the SD is that of the outcomes, and the design effect is 2."""
    single = simulate_pilot(3_000)
    twice = np.repeat(np.arange(3_000), 2)
    inputs = inputs_from_pilot(replace(single.take(twice), cluster=twice))
    within = [single.outcome[single.model == a].var() for a in range(3)]
    assert inputs.within_model_variance == pytest.approx(within, rel=0.001)  # moderated toward the pooled variance
    assert inputs.design_effect == pytest.approx(2.0, rel=0.01)


@pytest.mark.parametrize("user_sd", [0.0, 0.2])
def test_the_rows_planned_with_users_give_the_promised_width(user_sd):
    """Users with very unequal numbers of rows, with and without an effect of their own.

    The median of 12 planned row counts has a relative error of 0.1 and the width half of it; the median of 20 realized
    widths has one of 0.02. Three standard errors are 0.16.
    """
    pilots = [simulate_user_pilot(240, seed, rows_per_user=3, user_sd=user_sd) for seed in range(12)]
    plans = [plan(inputs_from_pilot(pilot)).rows_for(width=0.12) for pilot in pilots]
    rows = round(float(np.median([answer.expected.total_rows for answer in plans])))
    studies = [simulate_user_pilot(rows, 100 + seed, rows_per_user=3, user_sd=user_sd) for seed in range(20)]
    widths = [root_mean_square(np.diff(tuned_doubly_robust(study).interval(), axis=1)) for study in studies]
    assert np.median(widths) == pytest.approx(0.12, rel=0.16)


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


def test_rows_of_one_context_count_for_less_also_across_users():
    """Every context twice, under two users: the second way of clustering halves the degrees of freedom."""
    single = simulate_pilot(3_000)
    twice = np.repeat(np.arange(3_000), 2)
    users_and_contexts = np.column_stack([np.roll(twice, 1), twice])
    inputs = inputs_from_pilot(replace(single.take(twice), cluster=users_and_contexts))
    assert inputs.df_per_row == pytest.approx(np.full(3, 0.5), rel=0.2)
    assert (inputs.design_effect, inputs.pilot_rows) == (pytest.approx(2.0, rel=0.05), 6_000)


def test_a_refusal_because_of_few_users_says_so():
    pilot = replace(simulate_pilot(60), cluster=np.arange(60) % 4)
    with pytest.raises(EvidenceError, match="60 rows of 3 models count as 11 independent rows"):
        inputs_from_pilot(pilot)


@pytest.mark.parametrize("pilot", [replace(simulate_pilot(30), outcome=np.ones(30)), simulate_pilot(9)])
def test_constant_outcomes_and_too_few_rows_are_refused(pilot):
    with pytest.raises(EvidenceError, match="pilot: "):
        inputs_from_pilot(pilot)
