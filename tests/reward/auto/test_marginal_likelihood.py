"""The likelihood and its gradient, and variances recovered from simulated data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from deconfound.design import FloatArray
from deconfound.reward.auto.marginal_likelihood import log_likelihood, maximize_marginal_likelihood
from deconfound.threads import one_blas_thread

START = np.array([0.1, 1.0])


def test_the_likelihood_is_that_of_a_normal_distribution_and_its_gradient_is_the_slope() -> None:
    rng = np.random.default_rng(0)
    features = [rng.standard_normal((12, 3)), rng.standard_normal((12, 5))]
    kernels = [each @ each.T for each in features] + [np.eye(12)]
    target, log_variances = rng.standard_normal(12), np.log([0.5, 0.2, 0.7])
    value, gradient = log_likelihood(log_variances, kernels, target)
    covariance = sum(variance * kernel for variance, kernel in zip(np.exp(log_variances), kernels, strict=True))
    assert value - 6 * np.log(2 * np.pi) == pytest.approx(multivariate_normal(np.zeros(12), covariance).logpdf(target))
    step = 1e-6
    for i in range(3):
        stepped = log_variances + step * (np.arange(3) == i)
        slope = (log_likelihood(stepped, kernels, target)[0] - value) / step
        assert gradient[i] == pytest.approx(slope, rel=1e-4)


def test_a_covariance_that_is_not_positive_definite_has_likelihood_zero() -> None:
    value, gradient = log_likelihood(np.zeros(1), [-np.eye(3)], np.ones(3))
    assert value == -np.inf
    assert (gradient == 0).all()


def test_a_component_without_information_stays_at_its_start() -> None:
    """A kernel of zeros leaves the likelihood constant, so only the prior counts."""
    target = np.random.default_rng(0).standard_normal(30)
    fitted = maximize_marginal_likelihood([np.zeros((30, 30)), np.eye(30)], target, START, 3.0)
    assert fitted[0] == pytest.approx(START[0])
    assert fitted[1] == pytest.approx(target @ target / 30, rel=0.05)


def mean_log_error(draws: int, rows: int) -> FloatArray:
    """Mean of log(estimate / truth) of a component with six directions and of the noise."""
    rng = np.random.default_rng(1)
    features = rng.standard_normal((rows, 6)) / np.sqrt(6)
    kernels, true = [features @ features.T, np.eye(rows)], np.array([0.6, 0.2])
    estimates = []
    with one_blas_thread():
        for _ in range(draws):
            signal, noise = features @ rng.standard_normal(6), rng.standard_normal(rows)
            target = signal * np.sqrt(true[0]) + np.sqrt(true[1]) * noise
            estimates.append(maximize_marginal_likelihood(kernels, target, START, 3.0))
    return np.asarray(np.log(np.array(estimates) / true).mean(axis=0))


@pytest.mark.parametrize(
    ("draws", "rows"), [pytest.param(25, 80, id="small"), pytest.param(160, 150, id="large", marks=pytest.mark.slow)]
)
def test_variances_are_recovered(draws: int, rows: int) -> None:
    """Three standard errors of the mean are allowed, and the shrinkage of a likelihood with few directions, 1 / 6.

    log(estimate / truth) has a standard deviation of sqrt(2 / rows) for the noise and of sqrt(2 / 6) = 0.58 for six
    directions; 0.7 allows for the error of measuring them with noise.
    """
    component, noise = mean_log_error(draws, rows)
    assert abs(noise) < 3 * np.sqrt(2 / rows / draws) + 1 / rows
    assert -1 / 6 - 3 * 0.7 / np.sqrt(draws) < component < 3 * 0.7 / np.sqrt(draws)
