"""Models that share their users: what is added to a variance, degrees of freedom of differences, and coverage."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.shared_users import Design, all_hold, measure
from deconfound.design import FloatArray, IntArray
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment, Values, tuned_doubly_robust
from deconfound.value.clusters import Influence
from deconfound.value.mean_weights import ModelWeights, difference_df_limit
from deconfound.value.small_sample import PRIOR_DF, added_correlation, agreement_df
from tests.support.t_ratio import naive_df

NAMES = ("ant", "bee", "cat", "dog")


def values_of(model: IntArray, outcome: FloatArray, user: IntArray) -> Values:
    q = np.zeros((len(model), model.max() + 1))
    names = NAMES[: q.shape[1]]
    data = ScoredExperiment.from_arrays(names, q, q[:, 0], model, outcome, cluster=user)
    return tuned_doubly_robust(data, reward_weight=0.0)


def test_two_models_with_the_same_few_users_have_no_more_degrees_of_freedom_than_these() -> None:
    """Models 0 and 1 have users 0 to 3, with one to four rows each; models 2 and 3 have users of their own.

    Model 3 shares one of its forty users with the first two.
    """
    few = np.repeat([0, 1, 2, 3], [1, 2, 3, 4])
    user = np.concatenate([few, few, np.arange(10, 50), np.append(np.arange(50, 89), 0)])
    model = np.repeat([0, 1, 2, 3], [10, 10, 40, 40])
    limit = difference_df_limit(ModelWeights.from_rows(model, 4, np.ones(100), user))
    sizes = np.array([1.0, 2.0, 3.0, 4.0])
    assert limit[0, 1] == pytest.approx(naive_df(sizes / 10, 2 * sizes / 20**2), rel=1e-4)
    assert limit[0, 1] < 3
    assert np.isinf(limit[2]).all()
    assert limit[0, 1] < limit[0, 3] < 40
    np.testing.assert_array_equal(limit, limit.T)


def test_contrasts_have_the_limit_of_their_own_users() -> None:
    """Four users of two models, and two models with sixty users each that vary half as much.

    Without the limit, 91 % are covered. Under exactly 95 %, fewer than 93.5 % of 1500 have a probability below 0.005.
    """
    rng, user = np.random.default_rng(5), np.concatenate([np.tile(np.repeat(np.arange(4), 5), 2), 10 + np.arange(120)])
    model = np.repeat([0, 1, 2, 3], [20, 20, 60, 60])
    covered, studies = 0, 1500
    for _ in range(studies):
        effect = rng.normal(0, 0.1, (4, 2))
        of_few = effect[user[:40], model[:40]] + rng.normal(0, 0.02, 40)
        outcome = 0.5 + np.concatenate([of_few, rng.normal(0, 0.05, 120)])
        contrast = values_of(model, outcome, user).contrast("ant", "bee")
        covered += contrast.low <= 0 <= contrast.high
    assert covered / studies >= 0.935


def test_what_is_added_is_correlated_as_the_estimated_errors_are() -> None:
    """Two models whose errors are equal, one that is independent, one that never varies; eight clusters."""
    sign = np.array([1.0, -1, 1, -1, 1, 1, -1, -1])
    other = np.array([1.0, 1, -1, -1, 1, -1, 1, -1])
    parts = np.column_stack([sign, 2 * sign, other, np.zeros(8)])
    found = added_correlation(Influence((parts,), (1.0,)), np.array([6.0, 6.0, 14.0, 14.0]))
    expected = np.eye(4)
    expected[0, 1] = expected[1, 0] = 3 / 4  # three of four clusters
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.linalg.eigvalsh(found).min() > 0


def test_a_raised_variance_does_not_raise_that_of_a_difference_to_a_twin() -> None:
    """Both models have the same outcomes from the same users, so that the difference is zero; one user is unhappy.

    The interval of the difference would be 1.4 times that of a value, if what is added were independent.
    """
    user = np.tile(np.repeat(np.arange(30), 20), 2)
    outcome = np.where(user == 7, 0.0, 1.0)
    outcome[np.arange(1200) % 600 == 3] = 0.0
    values = values_of(np.repeat([0, 1], 600), outcome, user)
    contrast = values.contrast("ant", "bee")
    assert contrast.difference == 0.0
    assert contrast.high - contrast.low < 0.9 * np.ptp(values.interval()[0])
    assert contrast.standard_error > 0


def test_clusters_of_single_rows_have_no_further_prior() -> None:
    weights = ModelWeights.from_rows(np.repeat([0, 1], 10), 2, np.ones(20), None)
    np.testing.assert_allclose(agreement_df(weights, np.array([0.5, 1.0])), 0.0, atol=1e-12)


def test_the_weight_of_agreement_is_that_of_users_who_show_nothing() -> None:
    """Five users with four rows each, none unhappy: (6 / 7)^5 + (1 / 7)^5 that five answers agree."""
    weights = ModelWeights.from_rows(np.zeros(20, dtype=np.int64), 1, np.ones(20), np.arange(20) % 5)
    expected = PRIOR_DF * ((6 / 7) ** 5 + (1 / 7) ** 5) * 3 / 4
    np.testing.assert_allclose(agreement_df(weights, np.array([1.0])), expected)


@pytest.mark.parametrize(
    "design",
    [
        Design((20,) * 30, (0.97,) * 2, 0.5, common=True),
        Design((20,) * 30, (0.97, 0.95), 0.3, common=True),
        Design((5,) * 40, (0.98, 0.96, 0.94, 0.92), 0.8, common=True),
    ],
    ids=["often alike", "two values", "nearly always alike"],
)
def test_yes_no_values_near_an_edge_are_covered_where_all_models_share_their_users(design: Design) -> None:
    """Without the weight of agreement 82, 84 and 88 % of the worst model's values are covered.

    If exactly 95 % are, fewer than 91 % of 250 have a probability of 0.003 for each model; together the differences
    have the same limit.
    """
    rng = np.random.default_rng(3)
    with one_blas_thread():
        measured = [measure(design, rng) for _ in range(250)]
    assert np.mean([one.values for one in measured], axis=0).min() >= 0.91
    assert np.mean([one.all_differences for one in measured]) >= 0.91
    assert np.mean([one.log_bias for one in measured]) >= 0.91


def test_all_hold_sees_a_wrong_order() -> None:
    values = Values(NAMES[:2], np.array([0.2, 0.8]), np.diag([1e-4, 1e-4]), "by hand")
    assert all_hold(values, {"ant": 0.2, "bee": 0.8})
    assert not all_hold(values, {"ant": 0.8, "bee": 0.2})
