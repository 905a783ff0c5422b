"""Priors on the models' values and assumed inputs, compared with closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, multivariate_normal

from deconfound.errors import UsageError
from deconfound.planning import AssumedInputs
from deconfound.planning.inputs import posterior_given_sd, posterior_values, variance_factor_interval


def test_with_equal_errors_the_posterior_has_its_closed_form():
    """Equal independent errors: shrinkage tau^2 / (tau^2 + noise), plus the uncertainty of the common mean."""
    estimate, noise, tau = np.array([0.3, 0.5, 0.7]), 0.01, 0.2
    mean, covariance, _ = posterior_given_sd(tau, estimate, noise * np.eye(3), np.arange(3))
    shrinkage = tau**2 / (tau**2 + noise)
    assert mean == pytest.approx(0.5 + shrinkage * (estimate - 0.5))
    common = (1 - shrinkage) ** 2 * (tau**2 + noise) / 3
    assert covariance == pytest.approx(tau**2 * (1 - shrinkage) * np.eye(3) + common)


def test_the_likelihood_of_an_sd_is_that_of_the_contrasts():
    """Contrasts are free of the common mean, so their normal density gives the same likelihood ratio."""
    estimate, noise = np.array([0.3, 0.5, 0.75]), np.diag([0.01, 0.02, 0.005])
    contrasts = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
    densities = [
        multivariate_normal(np.zeros(2), contrasts @ (tau**2 * np.eye(3) + noise) @ contrasts.T) for tau in (0.1, 0.3)
    ]
    expected = densities[1].logpdf(contrasts @ estimate) - densities[0].logpdf(contrasts @ estimate)
    small, large = (posterior_given_sd(tau, estimate, noise, np.arange(3))[2] for tau in (0.1, 0.3))
    assert large - small == pytest.approx(expected)


def test_the_posterior_averages_over_the_sd_between_models():
    """First and second moments, summed over the grid of standard deviations."""
    estimate, noise = np.array([0.42, 0.5, 0.61]), np.diag([0.01, 0.004, 0.006])
    total, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for tau in np.linspace(0.01, 0.5, 50):
        mean, covariance, log_likelihood = posterior_given_sd(float(tau), estimate, noise, np.arange(3))
        weight = float(np.exp(log_likelihood))
        total, first = total + weight, first + weight * mean
        second += weight * (covariance + np.outer(mean, mean))
    prior = posterior_values(estimate, noise)
    assert prior.mean == pytest.approx(first / total, rel=1e-9)
    assert prior.covariance == pytest.approx(second / total - np.outer(first, first) / total**2, abs=1e-12)


def test_posterior_variances_match_the_squared_errors():
    """150 times eight values with tau 0.1 and errors of 0.1: squared error over variance averages one.

    The mean has a standard error of 0.05; 0.25 also allows for tau 0.1 not being drawn from the uniform prior. The most
    likely tau alone gives 2.4.
    """
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(150):
        value = rng.normal(0.5, 0.1, 8)
        prior = posterior_values(value + rng.normal(0, 0.1, 8), 0.01 * np.eye(8))
        ratios.extend((value - prior.mean) ** 2 / np.diag(prior.covariance))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.25)


def test_a_model_without_an_estimate_gets_the_distribution_of_a_new_model():
    prior = posterior_values(np.array([0.3, 0.7, np.nan]), np.diag([1e-6, 1e-6, np.inf]))
    assert prior.mean == pytest.approx([0.3, 0.7, 0.5], abs=1e-3)
    assert prior.covariance[2, 2] > 0.04
    assert prior.covariance[0, 0] < 1e-5


def test_without_any_estimate_all_values_are_uncertain_around_one_half():
    prior = posterior_values(np.full(2, np.nan), np.diag([np.inf, np.inf]))
    assert prior.mean.tolist() == [0.5, 0.5]
    assert (np.diag(prior.covariance) == 0.25).all()


def test_equal_estimates_do_not_imply_equal_values():
    precise = posterior_values(np.array([0.5, 0.5]), 1e-8 * np.eye(2))
    assert (np.diag(precise.covariance) > 0).all()
    covariance = posterior_values(np.array([0.5, 0.5]), 0.01 * np.eye(2)).covariance
    assert np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]) > 0.05


def test_the_variance_interval_is_chi_square_and_ends_at_the_largest_possible_variance():
    """Four degrees of freedom allow a factor of 3.8 at 90 %, but 0.2 may grow to 0.25 only."""
    assert variance_factor_interval(4, 0.01) == pytest.approx((4 / chi2.ppf(0.9, 4), 4 / chi2.ppf(0.1, 4)))
    assert variance_factor_interval(4, 0.2)[1] == pytest.approx(1.25)


def test_assumed_numbers_become_variances():
    inputs = AssumedInputs(3, 0.4, 0.25, 0.05).to_plan_inputs()
    assert inputs.outcome_variance == pytest.approx(np.full(3, 0.16))
    assert inputs.residual_variance == pytest.approx(np.full(3, 0.12))
    assert np.diag(inputs.context_covariance) == pytest.approx(np.full(3, 0.04))
    assert np.diag(inputs.prior.covariance) == pytest.approx(np.full(3, 0.0025))
    assert inputs.reward_helps
    assert inputs.sparse_models == ()


@pytest.mark.parametrize(
    ("numbers", "option"),
    [
        ((1, 0.4), "--models"),
        ((8, 0.0), "--outcome-sd"),
        ((8, 0.6), "--outcome-sd"),
        ((8, float("nan")), "--outcome-sd"),
        ((8, 0.4, 1.0), "--reward-r2"),
        ((8, 0.4, 0.0, 0.0), "--model-sd"),
    ],
)
def test_impossible_assumptions_are_refused(numbers, option):
    with pytest.raises(UsageError, match=option):
        AssumedInputs(*numbers)
