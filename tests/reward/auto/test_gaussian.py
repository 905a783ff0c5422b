"""Conditioning in two steps against one dense solve."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.design import IntArray
from deconfound.reward.auto.gaussian import ConditionedGaussian


@pytest.mark.parametrize("train", [np.arange(5), np.array([0, 2, 2, 2, 4])], ids=["all", "repeats"])
def test_conditioning_in_two_steps_is_conditioning_at_once(train: IntArray) -> None:
    """A row in ``train`` three times has a third of its noise variance."""
    rng = np.random.default_rng(2)
    half = rng.standard_normal((14, 20))
    prior = half @ half.T
    target, noise = rng.standard_normal(14), np.full(5, 0.3)
    gaussian = ConditionedGaussian.condition(prior[:9, :9] + 0.5 * np.eye(9), target[:9], prior[:9, 9:], prior[9:, 9:])
    used, count = np.unique(train, return_counts=True)
    observed = np.append(np.arange(9), 9 + used)
    joint = prior[np.ix_(observed, observed)] + np.diag([0.5] * 9 + (0.3 / count).tolist())
    expected = np.linalg.solve(joint, target[observed])
    weights = gaussian.few.solve(target[9:], noise, train)
    np.testing.assert_allclose(weights[used], expected[9:], atol=1e-10)
    assert np.count_nonzero(weights) == len(used)
    np.testing.assert_allclose(gaussian.observed_solution - gaussian.cross_weights(weights), expected[:9], atol=1e-10)
    np.testing.assert_allclose(gaussian.few.predict(weights), prior[9:][:, observed] @ expected, atol=1e-10)


@pytest.mark.parametrize("removed", [[4], [0, 3, 8], list(range(8))], ids=["one", "some", "all but one"])
def test_removing_observed_rows_is_conditioning_on_the_others(removed: list[int]) -> None:
    rng = np.random.default_rng(5)
    half = rng.standard_normal((14, 20))
    prior = half @ half.T
    observed, between, few = prior[:9, :9] + 0.5 * np.eye(9), prior[:9, 9:], prior[9:, 9:]
    old, target = rng.standard_normal((2, 9))
    others = np.setdiff1d(np.arange(9), removed)
    whole = ConditionedGaussian.condition(observed.copy(), old, between, few)
    shared = whole.without(np.array(removed), target)
    direct = ConditionedGaussian.condition(observed[np.ix_(others, others)], target[others], between[others], few)
    np.testing.assert_allclose(shared.observed_solution[others], direct.observed_solution, rtol=0, atol=1e-10)
    np.testing.assert_allclose(shared.cross_solution[others], direct.cross_solution, rtol=0, atol=1e-10)
    np.testing.assert_allclose(shared.few.mean, direct.few.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(shared.few.covariance, direct.few.covariance, rtol=0, atol=1e-10)
    assert not shared.observed_solution[removed].any()
    assert not shared.cross_solution[removed].any()
