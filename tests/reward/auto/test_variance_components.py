"""The variances of reward, bias and noise: their range, their estimates, and which of them exist."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deconfound.design import Rows, without_agreeing_repeats
from deconfound.errors import UsageError
from deconfound.reward import Auto, TrainingData, VarianceComponents
from deconfound.reward.auto.component_kernels import BY_CONTEXT
from deconfound.reward.auto.variance_components import fit_variance_components, prior_mean, subsample
from tests.support.auto import SOME_VARIANCES, simulate
from tests.support.random_rows import TALL, make


@pytest.mark.parametrize("variance", [-1.0, np.nan, np.inf])
def test_variances_out_of_range_are_rejected(variance: float) -> None:
    with pytest.raises(UsageError, match="reward_text"):
        replace(SOME_VARIANCES, reward_text=variance)
    with pytest.raises(UsageError, match="noise"):
        replace(SOME_VARIANCES, noise=0.0)


def test_the_array_has_the_order_of_the_fields() -> None:
    unshared = SOME_VARIANCES.unshared[BY_CONTEXT]
    array = np.concatenate([SOME_VARIANCES.reward, SOME_VARIANCES.bias, [SOME_VARIANCES.noise, unshared]])
    assert VarianceComponents.from_array(array) == SOME_VARIANCES


def test_a_bias_by_model_is_estimated_where_there_is_one() -> None:
    """With 80 rows a bias of standard deviation 0.3 between eight models can be estimated to a factor of two."""
    for seed in range(2):
        clean, biased = (fit_variance_components(TrainingData(*simulate(sd, 80, seed)[:2])) for sd in (0.0, 0.3))
        assert np.sqrt(clean.bias_model) < 0.05
        assert 0.15 < np.sqrt(biased.bias_model) < 0.6


def distinct(rows: Rows) -> Rows:
    """The first row of each set with equal features."""
    _, first = np.unique(np.column_stack([rows.phi.toarray(), rows.model]), axis=0, return_index=True)
    return rows.take(np.sort(first))


def test_copies_of_experiment_rows_do_not_show_that_outcomes_have_no_noise() -> None:
    log, experiment = make(TALL, seed=3).log, distinct(make(TALL, seed=3).experiment)
    once = fit_variance_components(TrainingData(log, experiment))
    copied = experiment.take(np.repeat(np.arange(len(experiment)), 1 + np.arange(len(experiment)) % 2))
    assert fit_variance_components(TrainingData(log, copied)) == once


def test_repeats_that_disagree_are_observations_of_their_own() -> None:
    experiment = distinct(make(TALL, seed=3).experiment)
    repeated = experiment.take(np.repeat(np.arange(len(experiment)), 2))
    assert len(without_agreeing_repeats(repeated)) == len(experiment)
    outcome = repeated.require_outcome().copy()
    outcome[0] += 0.1
    assert len(without_agreeing_repeats(replace(repeated, outcome=outcome))) == len(repeated)


def test_sources_without_proxies_or_models_have_no_such_components() -> None:
    pair = make(TALL, seed=3)
    log, experiment = (replace(rows, psi=None, model=None) for rows in (pair.log, pair.experiment))
    variances = fit_variance_components(TrainingData(log, experiment))
    assert variances.reward_proxies == variances.bias_proxies == 0.0
    assert variances.reward_model == variances.bias_model == 0.0
    assert variances.reward_text > 0


def test_sources_without_modifiers_have_no_component_by_context() -> None:
    pair = make(TALL, seed=3)
    assert fit_variance_components(TrainingData(pair.log, pair.experiment)).reward_model_by_context > 0
    without = TrainingData(replace(pair.log, modifiers=None), pair.experiment)
    variances = fit_variance_components(without)
    assert variances.reward_model_by_context == variances.bias_model_by_context == 0.0
    assert not variances.has_model_by_context
    without_models = (replace(rows, model=None) for rows in (pair.log, pair.experiment))
    assert fit_variance_components(TrainingData(*without_models)).reward_model_by_context == 0.0


@pytest.mark.parametrize(("in_log", "is_shared"), [(1.0, True), (0.0, False), (-1.0, False)])
def test_an_interaction_that_the_log_lacks_is_found_in_the_experiment(in_log: float, is_shared: bool) -> None:
    """Three models with slopes -0.08, 0 and 0.08 on one of two columns; the log has ``in_log`` times these slopes.

    With 300 rows and noise of 0.2, a slope has a standard error of 0.02, so its variance is known to a factor of two.
    """
    log, experiment = (_with_slopes(factor, seed) for factor, seed in ((in_log, 1), (1.0, 2)))
    variances = fit_variance_components(TrainingData(log, experiment))
    assert (variances.reward_model_by_context > variances.unshared_model_by_context) == is_shared
    slopes = Auto(variances).fit(log, experiment).modifier_coef
    np.testing.assert_allclose(slopes[:, 0], SLOPES, atol=0.04)


SLOPES = np.array([-0.08, 0.0, 0.08])


def _with_slopes(factor: float, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    modifiers, model = rng.standard_normal((300, 2)), rng.integers(3, size=300)
    outcome = 0.5 + factor * SLOPES[model] * modifiers[:, 0] + 0.2 * rng.standard_normal(300)
    return Rows(modifiers, None, outcome, model, context=np.arange(300), modifiers=modifiers)


def test_proxies_that_repeat_phi_have_no_component_of_their_own() -> None:
    """As in a study without text and labels."""
    pair = make(replace(TALL, sparse=False), seed=3)
    for factor, count in ((0.3, 0), (np.linspace(1, 2, pair.log.phi.shape[1]), 2)):
        log, experiment = (replace(rows, psi=factor * rows.phi.toarray()) for rows in (pair.log, pair.experiment))
        variances = fit_variance_components(TrainingData(log, experiment))
        assert (variances.reward_proxies > 0) + (variances.bias_proxies > 0) == count


def test_the_prior_mean_counts_every_observation_of_the_log() -> None:
    pair = make(replace(TALL, weighted=True))
    data = TrainingData(pair.log, pair.experiment)
    assert prior_mean(data) == pytest.approx(np.average(pair.log.require_outcome(), weights=pair.log.weight_or_ones))


def test_a_subsample_is_reproducible_and_in_order() -> None:
    log = make(TALL).log
    sample = subsample(log, 20)
    assert len(sample) == 20
    np.testing.assert_array_equal(sample.require_outcome(), subsample(log, 20).require_outcome())
    assert subsample(log, None) is log
    assert subsample(log, len(log)) is log
