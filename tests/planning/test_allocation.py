"""Allocations and the search for the smallest sufficient number of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deconfound.planning import AssumedInputs, Goal, PlanInputs, plan
from deconfound.planning.allocation import (
    MIN_RELATIVE_SHARE,
    allocate_rows,
    neyman_shares,
    ocba_shares,
    rows_needed,
)
from deconfound.planning.forecast import Forecast
from tests.support.plan_inputs import plan_inputs


def forecast(inputs: PlanInputs) -> Forecast:
    return Forecast.from_inputs(inputs, 0.95, 0, 0.0)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 8), st.floats(0.05, 0.5), st.floats(0.0, 0.9), st.floats(0.03, 0.6))
def test_the_required_rows_are_sufficient_and_one_fewer_is_not(models, outcome_sd, reward_r2, width):
    forecasted = forecast(AssumedInputs(models, outcome_sd, reward_r2).to_plan_inputs())
    goal, share = Goal("width", width), np.full(models, 1 / models)
    rows = rows_needed(forecasted, goal, share)
    assert rows is not None
    assert goal.is_met(forecasted, rows)
    fewer = rows - 1
    assert (fewer < 2).any() or not goal.is_met(forecasted, fewer)


def test_neyman_shares_need_few_more_rows_than_the_best_allocation():
    """Brute force over the shares of two models with standard deviations 1 to 4.

    Neyman's shares are 0.2 and 0.8; with the minimum share they may need 3 % more rows than the best.
    """
    forecasted, goal = forecast(plan_inputs((0.01, 0.16), (0.5, 0.5))), Goal("width", 0.05)
    share = neyman_shares(forecasted.inputs)
    expected = (1 - MIN_RELATIVE_SHARE) * np.array([0.2, 0.8]) + MIN_RELATIVE_SHARE / 2
    assert share == pytest.approx(expected)
    candidates = [rows_needed(forecasted, goal, np.array([s, 1 - s])) for s in np.linspace(0.05, 0.95, 37)]
    smallest = min(float(rows.sum()) for rows in candidates if rows is not None)
    neyman, equal = rows_needed(forecasted, goal, share), rows_needed(forecasted, goal, np.array([0.5, 0.5]))
    assert neyman is not None
    assert equal is not None
    assert neyman.sum() <= 1.03 * smallest
    assert neyman.sum() < 0.8 * equal.sum()


def test_ocba_gives_close_rivals_more_rows():
    """OCBA by hand for three models with certain values: variance over 0.05^2 and 0.3^2 for the others."""
    inputs = plan_inputs((0.04, 0.06, 0.09), (0.7, 0.65, 0.4))
    ratio = np.array([0.0, 0.06 / 0.0025, 0.09 / 0.09])
    ratio[0] = np.sqrt(0.04 * (ratio[1] ** 2 / 0.06 + ratio[2] ** 2 / 0.09))
    expected = MIN_RELATIVE_SHARE / 3 + (1 - MIN_RELATIVE_SHARE) * ratio / ratio.sum()
    assert ocba_shares(inputs) == pytest.approx(expected)
    answer = plan(inputs).rows_for(best=0.9, allocation="optimal")
    assert answer.saving > 0.2
    assert answer.propensity.sum() == pytest.approx(1.0)
    assert answer.expected.probability_best >= 0.9


def test_models_with_equal_variances_get_equal_propensities():
    answer = plan(AssumedInputs(4, 0.4)).rows_for(width=0.2, allocation="optimal")
    assert (answer.propensity == 0.25).all()
    assert answer.saving == 0.0
    assert answer.low is not None
    assert answer.high is not None
    assert answer.low < answer.expected.total_rows < answer.high


def test_allocated_rows_are_whole_and_at_least_two():
    assert allocate_rows(np.array([0.01, 0.33, 0.66]), 100).tolist() == [2, 33, 66]


def test_a_share_that_is_a_whole_number_of_rows_is_not_rounded_up():
    assert allocate_rows(np.full(10, 0.1), 30).tolist() == [3] * 10
