"""Conjugate gradients against one factorization per subset."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.reward.auto import iterative_gaussian
from deconfound.reward.auto.gaussian import ConditionedGaussian
from deconfound.reward.auto.iterative_gaussian import IterativeGaussian


def both(seed: int, rank: int, noise: float):
    """The same distribution conditioned both ways; the rows have ``rank`` features."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((110, rank))
    covariance = rows @ rows.T / rank + 0.3
    observed = covariance[:60, :60] + noise * np.eye(60)
    parts = rng.random(60), covariance[:60, 60:], covariance[60:, 60:]
    return ConditionedGaussian.condition(observed.copy(), *parts), IterativeGaussian.condition(observed.copy(), *parts)


@pytest.mark.parametrize(("rank", "noise"), [(5, 0.1), (200, 0.1), (20, 1e-3)])
def test_every_subset_has_the_weights_of_its_own_factorization(rank, noise):
    factored, iterative = both(1, rank, noise)
    rng = np.random.default_rng(2)
    target, row_noise = rng.random(50), noise * (1 + rng.random(50))
    trains = [np.arange(50), np.arange(10, 50), rng.integers(50, size=50), np.array([3, 3, 7])]
    expected = factored.few.solve_all(target, row_noise, trains)
    weights = iterative.few.solve_all(target, row_noise, trains)
    for one, other in zip(weights, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8 * np.abs(other).max())
        np.testing.assert_allclose(iterative.few.predict(one), factored.few.predict(other), atol=1e-8)
        np.testing.assert_allclose(iterative.cross_weights(one), factored.cross_weights(other), atol=1e-7)


def test_iterations_that_do_not_converge_end_in_a_factorization(monkeypatch):
    """Two iterations are not enough for a preconditioner of rank one; the answer is right all the same."""
    monkeypatch.setattr(iterative_gaussian, "RANK", 1)
    factored, iterative = both(5, 40, 1e-4)
    monkeypatch.setattr(iterative_gaussian, "MAX_ITERATIONS", 2)
    target, noise = np.random.default_rng(6).random(50), np.full(50, 1e-4)
    trains = [np.arange(50), np.arange(10, 40)]
    pairs = zip(
        iterative.few.solve_all(target, noise, trains), factored.few.solve_all(target, noise, trains), strict=True
    )
    for one, other in pairs:
        np.testing.assert_allclose(one, other, atol=1e-7 * np.abs(other).max())


def test_a_good_approximation_needs_few_products(monkeypatch):
    """With the whole spectrum in the preconditioner, conjugate gradients end after a handful of iterations."""
    _, iterative = both(3, 5, 0.1)
    monkeypatch.setattr(iterative_gaussian, "MAX_ITERATIONS", 4)
    target, noise = np.random.default_rng(4).random(50), np.full(50, 0.1)
    few_steps = iterative.few.solve_all(target, noise, [np.arange(50)])[0]
    monkeypatch.undo()
    np.testing.assert_allclose(few_steps, iterative.few.solve_all(target, noise, [np.arange(50)])[0], atol=1e-8)
