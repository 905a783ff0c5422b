"""Projected widths and selections, compared with textbook formulas and with the estimator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri, stdtrit

from deconfound.planning import AssumedInputs, plan
from deconfound.planning.forecast import SIMULATIONS, SelectionSimulation, interval_widths, tuning_inflation
from deconfound.value import ScoredExperiment
from deconfound.value.bounded_interval import mid_p_interval
from deconfound.value.control_variate import InfluenceTerms, experiment_only, optimal_reward_weight
from deconfound.value.small_sample import PRIOR_DF, PRIOR_DF_CREDIT
from tests.support.plan_inputs import plan_inputs

Z = float(ndtri(0.975))


def test_with_many_rows_the_width_is_the_textbook_one():
    """2 z sqrt(residual / n_a + context / (n + extra)); corrections for 100,000 rows are below 1e-4."""
    inputs, rows = plan_inputs((0.04, 0.09), context_variance=0.02), np.array([1e5, 2e5])
    expected = 2 * Z * np.sqrt(inputs.residual_variance / rows + 0.02 / (3e5 + 5e4))
    assert interval_widths(inputs, rows, extra_contexts=50_000) == pytest.approx(expected, rel=1e-4)


def test_few_rows_are_corrected_as_in_the_estimator():
    """Outcomes with the planned means and variances give the estimator's own width, at values of one half.

    There the sampling of the estimate hardly matters. Half of each model's outcomes are 0.5 + x and half 0.5 - x, so
    their mean is exactly one half. The plan expects it to vary, which changes the width by less than 1 %.
    """
    rows, x = np.array([6, 8, 4]), np.array([0.05, 0.1, 0.02])
    model, sign = np.repeat([0, 1, 2], rows), np.tile([-1.0, 1.0], 9)
    values = experiment_only("abc", model, 0.5 + x[model] * sign)
    inputs = plan_inputs(tuple(x**2 * rows / (rows - 1)), (0.5, 0.5, 0.5))
    planned = interval_widths(inputs, rows.astype(float))
    assert planned == pytest.approx(np.diff(values.interval(), axis=1).ravel(), rel=0.01)


def test_users_cost_degrees_of_freedom():
    """Half a degree of freedom per row instead of one, at the same variance of a mean: a larger t quantile."""
    independent = plan_inputs(mean=(0.5, 0.5))
    rows = np.array([9.0, 9.0])
    shared = interval_widths(replace(independent, df_per_row=np.full(2, 0.5)), rows)
    df = np.array([4.0, 8.0]) + PRIOR_DF_CREDIT * PRIOR_DF
    quantiles = stdtrit(df, 0.975)
    assert shared / interval_widths(independent, rows) == pytest.approx(
        np.full(2, quantiles[0] / quantiles[1]), rel=0.02
    )


def test_the_inflation_for_tuning_equals_the_estimators():
    """It depends on the rows per model alone."""
    rng = np.random.default_rng(0)
    model = np.repeat([0, 1, 2], [6, 12, 40])
    q = rng.random((58, 3))
    prediction = q[np.arange(58), model]
    outcome = 0.5 * prediction + 0.2 * rng.random(58)
    data = ScoredExperiment.from_arrays(("ant", "bee", "cat"), q, prediction, model, outcome)
    estimated = optimal_reward_weight(InfluenceTerms.from_experiment(data, q[:0]))
    assert tuning_inflation(np.array([5.0, 11.0, 39.0])) == pytest.approx(estimated.variance_inflation, rel=1e-12)


def test_a_model_with_one_row_has_the_whole_range_as_its_interval():
    widths = interval_widths(plan_inputs(), np.array([1.0, 50.0]))
    assert widths[0] == 1.0
    assert widths[1] < 0.2


def test_a_reward_that_costs_more_than_it_explains_is_not_used():
    """An R² of one percent is less than tuning costs with five rows per model."""
    weak, none = plan_inputs((0.0396, 0.0396), context_variance=0.0004), plan_inputs((0.04, 0.04))
    rows = np.array([5.0, 5.0])
    assert interval_widths(weak, rows) == pytest.approx(interval_widths(none, rows), rel=1e-12)
    assert (interval_widths(weak, 1000 * rows) < interval_widths(none, 1000 * rows)).all()


def test_yes_no_outcomes_near_the_edge_have_the_mid_p_interval_of_their_mean():
    """2 failures in 100 rows on average: the median estimate is the mean, up to the grid of positions."""
    rows, mean = np.array([100.0, 100.0]), 0.98
    inputs = plan_inputs((mean * (1 - mean),) * 2, (mean, mean))
    low, high = mid_p_interval(np.array([mean]), np.array([1 / 100]), Z)[0]
    assert interval_widths(inputs, rows) == pytest.approx(np.full(2, high - low), rel=0.01)


def test_a_mean_moves_toward_one_half_if_the_variance_demands_it():
    """No outcome in [0, 1] with mean 0.99 has a variance of 0.16: at 0.8 yes/no outcomes have it."""
    inputs = plan_inputs((0.16, 0.16, 0.0001), (0.99, 0.05, 0.99))
    assert inputs.possible_mean == pytest.approx([0.8, 0.2, 0.99])


def test_extra_contexts_narrow_intervals_only_if_there_is_a_reward():
    rows = np.array([30.0, 30.0])
    with_reward, without = plan_inputs(context_variance=0.04), plan_inputs()
    assert (interval_widths(with_reward, rows, 5000) < interval_widths(with_reward, rows)).all()
    assert (interval_widths(without, rows, 5000) == interval_widths(without, rows)).all()


def test_selection_between_two_models_follows_the_normal_distribution():
    """P = Phi(difference / its standard error), regret = difference * (1 - P); tolerance: four simulation errors."""
    inputs = plan_inputs((0.01, 0.01), (0.6, 0.5))
    rows = np.array([2.0, 2.0])  # so few that the random number of rows per model matters
    mean_inverse_rows = (1 + (1 - rows / 4) / rows) / rows
    probability = ndtr(0.1 / np.sqrt((inputs.residual_variance * mean_inverse_rows).sum()))
    simulation = SelectionSimulation.draw(inputs)
    tolerance = 4 * np.sqrt(probability * (1 - probability) / SIMULATIONS)
    assert simulation.probability_best(rows) == pytest.approx(probability, abs=tolerance)
    assert simulation.expected_regret(rows) == pytest.approx(0.1 * (1 - probability), abs=0.1 * tolerance)


@pytest.mark.parametrize(("best", "tolerance"), [(0.6, 0.1), (0.55, 0.05)])
def test_a_regret_equal_to_the_tolerance_counts_as_best(best, tolerance):
    """0.55 - 0.5 is above 0.05 in floating point."""
    simulation = SelectionSimulation.draw(plan_inputs((0.01, 0.01), (best, 0.5)))
    assert simulation.probability_best(np.array([2.0, 2.0]), tolerance) == 1.0


def test_context_noise_shared_by_all_models_does_not_affect_the_selection():
    """The same noise in both estimates cancels in their difference."""
    rows = np.array([20.0, 20.0])
    none = plan_inputs((0.02, 0.02), (0.52, 0.5))
    shared = replace(none, context_covariance=np.full((2, 2), 0.2))
    independent = replace(none, context_covariance=np.diag([0.2, 0.2]))
    probability = SelectionSimulation.draw(none).probability_best(rows)
    assert SelectionSimulation.draw(shared).probability_best(rows) == pytest.approx(probability, abs=0.001)
    assert SelectionSimulation.draw(independent).probability_best(rows) < probability - 0.02


def test_more_rows_give_narrower_intervals_and_better_selections():
    projections = [row.expected for row in plan(AssumedInputs(8, 0.4)).table()]
    for quantity in ("rms_width", "expected_regret"):
        values = [getattr(projection, quantity) for projection in projections]
        assert values == sorted(values, reverse=True)
    probabilities = [projection.probability_best for projection in projections]
    assert probabilities == sorted(probabilities)
    assert probabilities[0] < 0.4
    assert probabilities[-1] > 0.85
