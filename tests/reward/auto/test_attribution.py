"""Shares of sources and views against a loop over them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deconfound.design import ReplayRows, Rows
from deconfound.reward import Attribution, Auto, RewardFit, TrainingData
from deconfound.reward.auto.attribution import FEATURE_VIEWS, SOURCES, attribute
from tests.support.auto import SOME_VARIANCES
from tests.support.random_rows import TALL, make


def replay(n_contexts: int = 6, n_models: int = 3, draws: int = 2) -> ReplayRows:
    rng = np.random.default_rng(0)
    n = n_contexts * n_models * draws
    cell = np.repeat(np.arange(n_contexts * n_models), draws)
    modifiers = np.repeat(rng.standard_normal((n_contexts, 2)), n_models * draws, axis=0)
    distinct = Rows(rng.standard_normal((n, 8)), psi=rng.standard_normal((n, 4)), modifiers=modifiers)
    return ReplayRows(distinct, np.arange(n), cell // n_models, cell % n_models, n_contexts, n_models)


def test_shares_are_covariances_with_the_whole_over_its_variance() -> None:
    """Against a loop over sources and views that centers the contexts one by one."""
    pair, rows = make(TALL, seed=3), replay()
    prepared = Auto.prepare(TrainingData(pair.log, pair.experiment), [Auto(SOME_VARIANCES)])
    everything = np.arange(len(pair.experiment))
    parts = []
    for fit in (prepared.from_log(), prepared.from_experiment(everything)):
        assert fit.phi_coef is not None
        assert fit.psi_coef is not None
        assert fit.model_effect is not None
        assert fit.modifier_coef is not None
        values = (rows.distinct.phi @ fit.phi_coef, rows.distinct.require_psi() @ fit.psi_coef)
        tables = [value.reshape(6, 3, 2).mean(axis=2) for value in values]
        tables.append(np.tile(fit.model_effect[:3], (6, 1)))
        tables.append(rows.distinct.modifiers[::6] @ fit.modifier_coef[:3].T)
        parts.append([np.array([context - context.mean() for context in table]) for table in tables])
    whole = sum(part for source in parts for part in source)
    expected = [[(part * whole).sum() / (whole**2).sum() for part in source] for source in parts]
    attribution = prepared.attribution(rows, [everything, everything[::2]])
    np.testing.assert_allclose(attribution.shares, expected, atol=1e-9)
    assert attribution.shares.shape == (len(SOURCES), len(FEATURE_VIEWS))
    assert attribution.variance_components == SOME_VARIANCES


def test_the_bootstrap_sd_is_that_of_the_refits_alone() -> None:
    fits = [(RewardFit(0.0, phi_coef=np.eye(8)[0]), RewardFit(0.0, psi_coef=s * np.eye(4)[0])) for s in (1.0, 2.0, 3.0)]
    attribution = attribute(fits, replay(), SOME_VARIANCES)
    refits = [attribute([fit], replay(), SOME_VARIANCES).shares for fit in fits[1:]]
    np.testing.assert_allclose(attribution.bootstrap_sd, np.std(refits, axis=0, ddof=1))
    assert np.isnan(attribute(fits[:2], replay(), SOME_VARIANCES).bootstrap_sd).all()


def test_a_reward_without_differences_between_models_has_shares_of_zero() -> None:
    constant = RewardFit(0.5)
    assert (attribute([(constant, constant)], replay(), SOME_VARIANCES).shares == 0).all()


def test_the_log_bias_leaves_out_what_all_models_share() -> None:
    """The intercept of the bias moves all models by the same amount."""
    variances = replace(SOME_VARIANCES, bias_text=0.01, bias_proxies=0.02, bias_model=0.06, bias_intercept=5.0)
    variances = replace(variances, bias_model_by_context=0.07)
    zeros = np.zeros((2, 4))
    assert Attribution(zeros, zeros, variances).log_bias_sd == pytest.approx(0.4)
