"""Likelihood and posterior from sums over a log, against the same from its rows."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from deconfound.reward.auto.component_kernels import BY_CONTEXT
from deconfound.reward.auto.linear_columns import LinearRows
from deconfound.reward.auto.marginal_likelihood import log_likelihood
from deconfound.reward.auto.moment_likelihood import MomentLikelihood
from deconfound.reward.auto.moment_posterior import MomentPosterior
from deconfound.reward.auto.variance_components import VarianceComponents
from deconfound.reward.training_data import TrainingData
from tests.support.long_logs import MODELS, moments_of, random_rows


def variances(seed: int, absent: tuple[int, ...] = ()) -> VarianceComponents:
    values = np.random.default_rng(seed).uniform(0.01, 0.3, 12)
    values[list(absent)] = 0.0
    return VarianceComponents.from_array(values)


@pytest.fixture(scope="module")
def study():
    data = TrainingData(random_rows(0, 150), random_rows(1, 30))
    moments = moments_of(data)
    rows = LinearRows.from_rows(data.experiment, moments.scale, MODELS).toarray()
    return data, moments, rows


def kernels_of(data, moments, rows):
    """The kernels of all rows, the log's first, then those of the noise and of the unshared part."""
    both = np.vstack([LinearRows.from_rows(data.log_rows, moments.scale, MODELS).toarray(), rows])
    component, unit = moments.columns.component, moments.columns.variances(np.ones(5), moments.scale)
    reward = [(both[:, component == i] * unit[component == i]) @ both[:, component == i].T for i in range(5)]
    from_log = np.arange(len(both)) < len(data.log_rows)
    bias = [kernel * np.outer(from_log, from_log) for kernel in reward]
    unshared = reward[BY_CONTEXT] * np.outer(~from_log, ~from_log)
    return [*reward, *bias, np.eye(len(both)), unshared]


def test_the_density_and_its_gradient_are_those_of_all_rows(study):
    """Including the derivative with respect to the noise, which follows from the scaling of all variances."""
    data, moments, rows = study
    target = data.experiment.require_outcome() - moments.mean
    everything = np.concatenate([data.log_rows.require_outcome() - moments.mean, target])
    for seed in range(3):
        chosen = variances(seed)
        value, gradient = MomentLikelihood(moments, rows, target).evaluate(chosen)
        logs = np.log(astuple(chosen))
        expected, expected_gradient = log_likelihood(logs, kernels_of(data, moments, rows), everything)
        assert value == pytest.approx(expected, abs=1e-9)
        np.testing.assert_allclose(gradient, expected_gradient, atol=1e-8)


def test_a_component_without_variance_has_no_effect(study):
    data, moments, rows = study
    target = data.experiment.require_outcome() - moments.mean
    absent = (1, 3, 6, 8, 11)  # proxies and model by context, of reward and bias
    chosen = variances(4, absent)
    value, gradient = MomentLikelihood(moments, rows, target).evaluate(chosen)
    present = [i for i in range(12) if i not in absent]
    kernels = [kernels_of(data, moments, rows)[i] for i in present]
    logs = np.log(np.array(astuple(chosen))[present])
    everything = np.concatenate([data.log_rows.require_outcome() - moments.mean, target])
    expected, expected_gradient = log_likelihood(logs, kernels, everything)
    assert value == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(gradient[present], expected_gradient, atol=1e-8)
    assert not gradient[list(absent)].any()


def test_a_log_that_is_all_bias_says_nothing_about_the_reward(study):
    _, moments, rows = study
    chosen = np.array([0.2, 0.2, 0.2, 0.2, 0.2, 1e9, 1e9, 1e9, 1e9, 1e9, 0.1])
    posterior = MomentPosterior.condition(moments, VarianceComponents.from_array(chosen))
    prior = moments.columns.variances(chosen[:5], moments.scale)
    np.testing.assert_allclose(posterior.mean, 0.0, atol=1e-5)
    np.testing.assert_allclose(posterior.covariance_of(rows), (rows * prior) @ rows.T, atol=1e-5)
