"""Entropy balancing: the means are met, weights are as equal as possible, and values for a target are unbiased."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from benchmarks.target import SCENARIOS, study_of_estimators
from deconfound.value.balance import TwoSamples, balance_features, balancing_weights, entropy_weights
from deconfound.value.clusters import Clusters
from deconfound.value.target_sampling import target_sampling_variance
from deconfound.value.transport import TransportWeights

STUDIES = 40
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


def normal_rows(seed, rows, columns, shift=0.0):
    drawn = np.random.default_rng([31, seed]).standard_normal((rows, columns))
    drawn[:, 0] += shift
    return drawn


def test_the_weights_are_the_most_equal_ones_with_these_means():
    """A general minimizer of sum w log w under the same constraints finds them too."""
    centered = normal_rows(0, 12, 2, shift=-0.4)

    def entropy(weight):
        return float(weight @ np.log(weight))

    constraints = [
        {"type": "eq", "fun": lambda weight: weight @ centered},
        {"type": "eq", "fun": lambda weight: weight.sum() - 12},
    ]
    bounds = [(1e-9, 12.0)] * 12
    expected = optimize.minimize(entropy, np.ones(12), bounds=bounds, constraints=constraints, tol=1e-12).x
    np.testing.assert_allclose(entropy_weights(centered, np.zeros(2)), expected, atol=1e-3)


def test_a_tolerance_is_used_up_only_where_means_differ():
    centered = normal_rows(1, 200, 2, shift=0.5)
    centered[:, 1] -= centered[:, 1].mean()
    weight = entropy_weights(centered, np.array([0.2, 0.2]))
    left = weight @ centered / 200
    assert left[0] == pytest.approx(0.2, abs=1e-4)
    assert abs(left[1]) < 0.2
    np.testing.assert_allclose(entropy_weights(centered, np.array([9.0, 9.0])), 1.0)


def test_means_that_no_weights_have_leave_finite_weights():
    """A target mean beyond every row: the ridge stops the tilt, and the check of what remains reports it."""
    own, target = normal_rows(2, 100, 2), normal_rows(3, 100, 2, shift=9.0)
    weights = TransportWeights.fit(own, target, 0)
    assert np.isfinite(weights.weight).all()
    assert weights.imbalance > 0.5


def test_columns_squares_and_few_products_are_balanced():
    both = np.vstack([normal_rows(4, 400, 3), 0.7 * normal_rows(5, 400, 3, shift=0.5)])
    features, is_column = balance_features(both, 400)
    assert features.shape[1] == 9
    clusters = Clusters.from_codes(None, 400)
    samples = TwoSamples.standardized(features, 400, clusters, clusters)
    weight = balancing_weights(samples, is_column)
    np.testing.assert_allclose(samples.difference(weight), 0.0, atol=1e-4)


def test_a_product_that_many_columns_leave_unbalanced_is_reported():
    """Two of twelve columns correlate in the target only. Columns and squares agree, their product does not."""
    own, target = normal_rows(6, 300, 12), normal_rows(7, 300, 12)
    target[:, 1] = 0.9 * target[:, 0] + np.sqrt(1 - 0.81) * target[:, 1]
    assert TransportWeights.fit(own, target, 0).imbalance > 0.4
    assert TransportWeights.fit(own, normal_rows(8, 300, 12), 0).imbalance == 0.0


def test_a_short_target_adds_the_error_of_its_means():
    """Outcomes are x itself, so that f is its variance: the error of the target's mean is f / m."""
    own = normal_rows(9, 600, 2)
    weights = TransportWeights.fit(own, normal_rows(10, 30, 2), 0)
    added = target_sampling_variance(weights, np.zeros(600, dtype=np.int64), own[:, 0])
    variance = np.average((own[:, 0] - np.average(own[:, 0], weights=weights.weight)) ** 2, weights=weights.weight)
    assert added == pytest.approx(variance * (1 / 30 - 1 / weights.effective_rows), rel=0.02)
    long = TransportWeights.fit(own, normal_rows(10, 900, 2), 0)
    assert target_sampling_variance(long, np.zeros(600, dtype=np.int64), own[:, 0]) == 0.0


@pytest.mark.parametrize("name", ["target_linear_12", "target_spread"])
def test_values_for_a_target_are_unbiased_and_covered(name):
    """The mean error of 40 studies is beyond four standard errors with probability 6e-5.

    The share of models that are covered in a study lies in [0, 1] and has mean 0.95, hence a variance of at most
    0.95 * 0.05. Over 40 studies its standard deviation is at most 0.034, and 0.84 lies 3.2 of them below 0.95.
    With weights of the classifier alone the mean error is off by 7.8 and 38 standard errors; coverage is 82 and 1 %.
    """
    studies = [study_of_estimators(BY_NAME[name], np.random.default_rng([32, n])) for n in range(STUDIES)]
    error = np.array([study.error for study in studies])
    assert abs(error.mean()) < 4 * error.std(ddof=1) / np.sqrt(STUDIES)
    assert np.mean([study.covered for study in studies]) > 0.84
