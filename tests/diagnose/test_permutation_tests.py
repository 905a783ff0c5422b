"""Permutation tests of prediction against naive re-implementations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deconfound.diagnose.permutation_tests import (
    LeaveOneOutRidge,
    center_within,
    cosine_basis,
    permute_within,
    prediction_test,
    sample_clusters,
    time_quantile,
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


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=20), st.integers(0, 99))
def test_rows_are_permuted_only_within_their_stratum(strata, seed):
    strata = np.array(strata)
    target = np.arange(len(strata), dtype=float)[:, None]
    for permuted in permute_within(target, strata)(np.random.default_rng(seed), 3)[0]:
        assert sorted(permuted) == list(range(len(strata)))
        assert (strata[permuted.astype(int)] == strata).all()


def test_centering_removes_the_mean_of_each_stratum():
    values, strata = np.array([[1.0], [3.0], [5.0]]), np.array([4, 4, 9])
    assert center_within(values, strata).ravel().tolist() == [-1.0, 1.0, 0.0]


def test_weights_move_the_mean_that_is_removed():
    values, strata = np.array([[1.0], [3.0], [5.0]]), np.array([4, 4, 9])
    assert center_within(values, strata, np.array([3.0, 1.0, 2.0])).ravel().tolist() == [-0.5, 1.5, 0.0]


def test_large_tables_are_sampled_by_whole_clusters():
    cluster = np.repeat(np.arange(50), 4)
    rows = sample_clusters(cluster, 30, np.random.default_rng(0))
    assert 30 <= len(rows) < 34
    assert (np.bincount(cluster[rows], minlength=50) % 4 == 0).all()
    assert sample_clusters(cluster, 200, np.random.default_rng(0)).tolist() == list(range(200))


def test_only_the_order_of_times_counts():
    time = np.array([5.0, 1.0, 9.0, 1.0])
    assert time_quantile(time).tolist() == [0.625, 0.25, 0.875, 0.25]
    assert time_quantile(time, np.array([1.0, 1.0, 5.0, 1.0])).tolist() == [2.5 / 8, 1 / 8, 5.5 / 8, 1 / 8]
    assert (cosine_basis(time) == cosine_basis(np.exp(time))).all()
    even = cosine_basis(np.arange(100.0))
    assert even.T @ even / 100 == pytest.approx(np.eye(4), abs=1e-9)
