"""Permutation and sign-flip tests against naive re-implementations and full enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deconfound.diagnose.permutation_tests import (
    Association,
    LeaveOneOutRidge,
    center_within,
    cosine_basis,
    flip_clusters,
    permute_or_flip,
    permute_within,
    prediction_test,
    sample_clusters,
    sign_flip_test,
    time_quantile,
    within_model_association,
)


@pytest.mark.parametrize("penalty", [0.1, 3.0])
def test_the_closed_form_predicts_each_row_like_a_refit_without_it(penalty):
    """Naive twin: drop a row, solve the ridge system of the others, predict the row; centering uses all rows."""
    rng = np.random.default_rng(0)
    features, target = rng.standard_normal((12, 4)), rng.standard_normal((12, 2))
    centered = features - features.mean(axis=0)
    expected = np.empty_like(target)
    for row in range(12):
        rest = np.arange(12) != row
        z = centered[rest]
        expected[row] = centered[row] @ np.linalg.solve(z.T @ z + penalty * np.eye(4), z.T @ target[rest])
    ridge = LeaveOneOutRidge.fit(features, penalty)
    assert ridge.predict(target) == pytest.approx(expected)
    assert ridge.statistics(target.T[:, None])[0] == pytest.approx((expected * target).sum())


def test_the_prediction_test_counts_resamples_like_a_loop_of_refits():
    rng = np.random.default_rng(1)
    features, model = rng.standard_normal((15, 2)), rng.integers(3, size=15)
    target = np.eye(3)[model] - np.eye(3)[model].mean(axis=0)
    ridge, resample = LeaveOneOutRidge.fit(features, 1.0), permute_within(target, np.zeros(15, dtype=int))
    targets = resample(np.random.default_rng(7), 199)
    naive = np.array([(ridge.predict(t) * t).sum() for t in (target, *np.moveaxis(targets, 0, 2))])
    test = prediction_test([ridge], target, resample, np.random.default_rng(7), 199)
    assert test.p_value == pytest.approx(np.mean(naive >= naive[0] - 1e-9))
    assert test.statistic == pytest.approx((naive[0] - naive.mean()) / naive.std())


def test_of_several_ridges_the_largest_standardized_statistic_counts():
    rng = np.random.default_rng(2)
    target = rng.standard_normal((40, 1))
    target -= target.mean()
    informative = LeaveOneOutRidge.fit(target + 0.3 * rng.standard_normal((40, 1)), 1.0)
    noise = LeaveOneOutRidge.fit(rng.standard_normal((40, 3)), 1.0)
    resample = permute_within(target, np.zeros(40, dtype=int))
    alone = prediction_test([informative], target, resample, np.random.default_rng(0), 199)
    both = prediction_test([noise, informative], target, resample, np.random.default_rng(0), 199)
    assert both.p_value == alone.p_value == 1 / 200
    assert both.statistic == pytest.approx(alone.statistic)


def test_constant_features_predict_nothing():
    target = np.random.default_rng(0).standard_normal((20, 2))
    constant = LeaveOneOutRidge.fit(np.ones((20, 3)), 1.0)
    resample = permute_within(target, np.zeros(20, dtype=int))
    assert prediction_test([constant], target, resample, np.random.default_rng(0), 99).p_value == 1.0


def test_associations_are_counted_as_by_all_permutations():
    """Naive twin: five rows of one model have 120 orders; the standard error of 1,999 draws is at most 0.011."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(5), rng.standard_normal(5)
    sums = np.array([x @ y[list(order)] for order in itertools.permutations(range(5))])
    observed = (x - x.mean()) @ (y - y.mean())
    low = np.mean(sums - x.sum() * y.mean() <= observed + 1e-12)
    association = within_model_association(x, y, np.zeros(5, dtype=int), np.arange(5), 0)
    assert association.negative_p_value == pytest.approx(low, abs=0.05)
    assert association.negative_p_value + association.positive_p_value >= 1.0
    assert association.correlation == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_a_constant_has_no_association():
    ones, model, cluster = np.ones(12), np.zeros(12, dtype=int), np.arange(12)
    assert within_model_association(ones, np.arange(12.0), model, cluster, 0) == Association(0.0, 1.0, 1.0)


def test_mean_differences_are_tested_as_by_all_sign_flips():
    difference, cluster = np.array([0.3, 0.1, 0.2, -0.1, 0.4, 0.2]), np.array([0, 0, 1, 2, 3, 4])
    totals = np.bincount(cluster, weights=difference)
    sums = np.array([abs(np.dot(signs, totals)) for signs in itertools.product((1, -1), repeat=5)])
    test = sign_flip_test(difference, cluster, 0)
    assert test.p_value == pytest.approx(np.mean(sums >= abs(totals.sum()) - 1e-12), abs=0.05)
    assert test.mean == pytest.approx(difference.mean())


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=20), st.integers(0, 99))
def test_rows_are_permuted_only_within_their_stratum(strata, seed):
    strata = np.array(strata)
    target = np.arange(len(strata), dtype=float)[:, None]
    for permuted in permute_within(target, strata)(np.random.default_rng(seed), 3)[0]:
        assert sorted(permuted) == list(range(len(strata)))
        assert (strata[permuted.astype(int)] == strata).all()


def test_clusters_are_flipped_as_a_whole():
    target = np.arange(1.0, 7.0)[:, None]
    signs = flip_clusters(target, np.array([0, 0, 1, 1, 2, 2]))(np.random.default_rng(0), 50)[0] / target[:, 0]
    assert (signs[:, ::2] == signs[:, 1::2]).all()
    assert {tuple(row) for row in signs[:, ::2]} == set(itertools.product((1.0, -1.0), repeat=3))


def test_rows_without_clusters_are_permuted_and_clusters_are_flipped():
    target = np.array([[1.0], [-1.0], [3.0], [-3.0]])
    strata = np.zeros(4, dtype=int)
    permuted = permute_or_flip(target, strata, np.arange(4))(np.random.default_rng(0), 5)[0]
    assert (np.sort(permuted, axis=1) == [-3.0, -1.0, 1.0, 3.0]).all()
    flipped = permute_or_flip(target, strata, np.array([0, 0, 1, 1]))(np.random.default_rng(0), 5)[0]
    assert np.abs(flipped) == pytest.approx(np.tile(np.abs(target[:, 0]) * np.sqrt(4 / 3), (5, 1)))


def test_centering_removes_the_mean_of_each_stratum():
    values, strata = np.array([[1.0], [3.0], [5.0]]), np.array([4, 4, 9])
    assert center_within(values, strata).ravel().tolist() == [-1.0, 1.0, 0.0]


def test_large_tables_are_sampled_by_whole_clusters():
    cluster = np.repeat(np.arange(50), 4)
    rows = sample_clusters(cluster, 30, np.random.default_rng(0))
    assert 30 <= len(rows) < 34
    assert (np.bincount(cluster[rows], minlength=50) % 4 == 0).all()
    assert sample_clusters(cluster, 200, np.random.default_rng(0)).tolist() == list(range(200))


def test_only_the_order_of_times_counts():
    time = np.array([5.0, 1.0, 9.0, 1.0])
    assert time_quantile(time).tolist() == [0.625, 0.25, 0.875, 0.25]
    assert (cosine_basis(time) == cosine_basis(np.exp(time))).all()
    even = cosine_basis(np.arange(100.0))
    assert even.T @ even / 100 == pytest.approx(np.eye(4), abs=1e-9)
