"""The family ``auto``: its algebra against a dense twin, its special cases, and its use of good and bad logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deconfound.design import FloatArray, IntArray, Rows, stack
from deconfound.linalg import ridge
from deconfound.reward import Auto, ExpOnly, TrainingData, VarianceComponents
from deconfound.reward.auto.variance_components import fit_variance_components
from tests.support.auto import CONTEXTS, MODELS, SOME_VARIANCES, simulate
from tests.support.random_rows import FEW, TALL, WIDE, Pair, Shape, make, repeated

AGREE = 1e-9  # two dense solves of one system whose condition number is below 1e5; 3e-12 was observed
SHAPES = [pytest.param(shape, id=name) for name, shape in (("tall", TALL), ("wide", WIDE), ("few", FEW))]


@pytest.fixture
def pair() -> Pair:
    """Rows for everything that does not depend on their shape."""
    return make(TALL, seed=3)


def twin(variances: VarianceComponents, log: Rows, experiment: Rows, rows: Rows) -> FloatArray:
    """The posterior mean written out: every observation is a row of one dense system."""
    log, experiment = repeated(log), repeated(experiment)
    dense = [each.phi.toarray() for each in (log, experiment)]
    new = rows.phi.toarray()
    square_norm = float(np.mean([row @ row for row in dense[0]]))
    mean, scale = log.require_psi().mean(axis=0), log.require_psi().std(axis=0) * np.sqrt(log.require_psi().shape[1])
    psi = [(each.require_psi() - mean) / scale for each in (log, experiment, rows)]
    all_phi, all_psi = np.vstack(dense), np.vstack(psi[:2])
    all_modifiers = np.vstack([log.modifiers, experiment.modifiers])
    all_models = np.concatenate([log.model, experiment.model])
    from_log = np.arange(len(all_models)) < len(log)
    center = float(np.mean(log.require_outcome()))
    target = np.concatenate([log.require_outcome(), experiment.require_outcome()]) - center

    def covariance(five: FloatArray, phi: FloatArray, psi: FloatArray, model: IntArray, z: FloatArray) -> FloatArray:
        same_model = model[:, None] == all_models
        shared = five[0] * phi @ all_phi.T / square_norm + five[1] * psi @ all_psi.T + five[4]
        return shared + same_model * (five[2] + five[3] * z @ all_modifiers.T)

    seen = (all_phi, all_psi, all_models, all_modifiers)
    joint = covariance(variances.reward, *seen) + variances.noise * np.eye(len(target))
    joint += np.outer(from_log, from_log) * covariance(variances.bias, *seen)
    joint += np.outer(~from_log, ~from_log) * covariance(variances.unshared, *seen)
    weights = np.linalg.solve(joint, target)
    model = np.full(len(rows), -7) if rows.model is None else rows.model
    at = (new, psi[2], model, rows.modifiers)
    between = covariance(variances.reward, *at) + ~from_log * covariance(variances.unshared, *at)
    prediction = center + between @ weights
    return np.asarray(np.clip(prediction, 0.0, 1.0))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("stored", ["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_fit_agrees_with_its_naive_twin(shape: Shape, stored: str, weighted: bool) -> None:
    pair = make(replace(shape, sparse=stored == "sparse", weighted=weighted), seed=1)
    log = one_model_per_distinct_row(pair.log)
    fit = Auto(SOME_VARIANCES).fit(log, pair.experiment)
    for rows in (pair.experiment, pair.fresh):
        expected = twin(SOME_VARIANCES, log, pair.experiment, rows)
        np.testing.assert_allclose(fit.predict(rows), expected, rtol=0, atol=AGREE)
    assert np.isfinite(Auto(SOME_VARIANCES).fit(pair.log, pair.experiment).predict(pair.log)).all()


def one_model_per_distinct_row(log: Rows) -> Rows:
    """The same log with equal rows by one model; merging equal rows of several models would forget the models."""
    phi = log.phi.toarray()
    _, first, inverse = np.unique(phi, axis=0, return_index=True, return_inverse=True)
    assert log.model is not None
    return replace(log, model=log.model[first][inverse.ravel()])


def test_the_two_sources_of_a_fit_add_up_to_it(pair: Pair) -> None:
    prepared = Auto.prepare(TrainingData(pair.log, pair.experiment), [Auto(SOME_VARIANCES)])
    everything = np.arange(len(pair.experiment))
    whole = prepared.fit(Auto(SOME_VARIANCES), everything)
    from_log, from_experiment = prepared.from_log(), prepared.from_experiment(everything)
    for name in ("phi_coef", "psi_coef", "model_effect", "modifier_coef"):
        both = getattr(from_log, name) + getattr(from_experiment, name)
        np.testing.assert_allclose(both, getattr(whole, name), rtol=0, atol=AGREE)
    intercepts = from_log.intercept + from_experiment.intercept + prepared.prior_mean
    assert intercepts == pytest.approx(whole.intercept, abs=AGREE)


def test_a_log_with_infinite_bias_leaves_the_experiment_alone(pair: Pair) -> None:
    """Reward over text with a free intercept is then exp-only's ridge; an intercept variance of 1e6 is free to 1e-6."""
    text, noise = 0.05, 0.03
    infinite = 1e10
    unbiased = VarianceComponents(text, 0.0, 0.0, 0.0, 1e6, 0.0, 0.0, 0.0, 0.0, infinite, noise)
    biased = replace(unbiased, bias_text=infinite, bias_proxies=infinite, bias_model=infinite)
    square_norm = float(np.mean((pair.log.phi.toarray() ** 2).sum(axis=1)))
    expected = ExpOnly(noise * square_norm / text).fit(pair.log, pair.experiment)
    fit = Auto(biased).fit(pair.log, pair.experiment)
    np.testing.assert_allclose(fit.predict(pair.fresh), expected.predict(pair.fresh), rtol=0, atol=1e-5)


def test_a_log_without_bias_is_pooled_row_by_row(pair: Pair) -> None:
    """Then there is one ridge over all rows of both sources."""
    text, noise = 0.05, 0.03
    unbiased = VarianceComponents(text, 0.0, 0.0, 0.0, 1e6, 0.0, 0.0, 0.0, 0.0, 0.0, noise)
    square_norm = float(np.mean((pair.log.phi.toarray() ** 2).sum(axis=1)))
    phi = stack([pair.log.phi, pair.experiment.phi])
    outcome = np.concatenate([pair.log.require_outcome(), pair.experiment.require_outcome()])
    linear = ridge(phi, outcome, noise * square_norm / text)
    fit = Auto(unbiased).fit(pair.log, pair.experiment)
    np.testing.assert_allclose(fit.predict(pair.fresh), np.clip(linear(pair.fresh.phi), 0, 1), rtol=0, atol=1e-5)


def values(family: Auto, log: Rows, experiment: Rows, replay: Rows) -> FloatArray:
    return family.fit(log, experiment).predict(replay).reshape(CONTEXTS, MODELS).mean(axis=0)


def relative_error(bias_sd: float, studies: int) -> float:
    """Root mean square error of the models' values, relative to the experiment's own means."""
    error = np.zeros(2)
    for seed in range(studies):
        log, experiment, replay, truth = simulate(bias_sd, 80, seed)
        assert experiment.model is not None
        means = [experiment.require_outcome()[experiment.model == a].mean() for a in range(MODELS)]
        true_values = truth.mean(axis=0)
        for i, estimate in enumerate((values(Auto(), log, experiment, replay), means)):
            error[i] += ((estimate - true_values) ** 2).sum()
    return float(np.sqrt(error[0] / error[1]))


@pytest.mark.parametrize(("bias_sd", "allowed"), [(0.0, 0.55), (0.4, 1.1)])
def test_it_uses_a_clean_log_and_is_not_misled_by_a_biased_one(bias_sd: float, allowed: float) -> None:
    """Four studies of 80 rows; the ratio's standard error is about 0.2 / sqrt(4) = 0.1.

    A clean log of 500 rows should halve the error or better. A bias four times the standard deviation between models
    must not increase it; one standard error is allowed.
    """
    assert relative_error(bias_sd, 4) < allowed


@pytest.mark.slow
@pytest.mark.parametrize(("bias_sd", "allowed"), [(0.0, 0.5), (0.1, 0.95), (0.4, 1.02)])
def test_errors_shrink_with_the_bias_of_the_log_in_many_studies(bias_sd: float, allowed: float) -> None:
    """Forty studies; the ratio's standard error is about 0.2 / sqrt(40) = 0.03."""
    assert relative_error(bias_sd, 40) < allowed


def test_sources_without_proxies_or_models_give_a_reward_over_text(pair: Pair) -> None:
    log, experiment = (replace(rows, psi=None, model=None) for rows in (pair.log, pair.experiment))
    fit = Auto().fit(log, experiment)
    assert fit.psi_coef is None
    assert fit.model_effect is None
    assert np.isfinite(fit.predict(pair.fresh)).all()


def test_renumbering_the_models_changes_only_which_code_has_which_effect(pair: Pair) -> None:
    assert pair.log.model is not None
    assert pair.experiment.model is not None
    renumbered = np.array([5, 3, 0, 1, 4, 2])
    log, experiment = (replace(rows, model=renumbered[rows.model]) for rows in (pair.log, pair.experiment))
    fit, other = Auto().fit(pair.log, pair.experiment), Auto().fit(log, experiment)
    assert fit.model_effect is not None
    assert other.model_effect is not None
    np.testing.assert_allclose(other.model_effect[renumbered], fit.model_effect, atol=1e-6)
    np.testing.assert_allclose(other.predict(pair.fresh), fit.predict(pair.fresh), atol=1e-6)


def test_a_long_log_is_sampled_and_still_used(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Auto, "max_log_rows", 20)
    prepared = Auto.prepare(TrainingData(pair.log, pair.experiment), [Auto(SOME_VARIANCES)])
    assert len(prepared.log) == 20
    assert np.std(prepared.fit(Auto(SOME_VARIANCES), np.arange(5)).predict(pair.fresh)) > 0


def test_resolving_estimates_the_variances_unless_they_are_given(pair: Pair) -> None:
    data = TrainingData(pair.log, pair.experiment)
    resolved = Auto().resolve(data)
    assert resolved.variance_components == fit_variance_components(data)
    assert resolved.resolve(data) is resolved
    assert Auto(SOME_VARIANCES).resolve(data) == Auto(SOME_VARIANCES)
    assert Auto.from_document(Auto().to_document()) == Auto()


def test_a_proxy_that_is_constant_in_the_log_but_for_rounding_has_weight_zero(pair: Pair) -> None:
    """A fold's log may lack the only contexts on which a statistic varies; the experiment has some of them."""
    constant = 0.1 + np.where(np.arange(len(pair.log)) % 2, 2e-17, 0.0)
    varying = np.linspace(0.0, 1.0, len(pair.experiment))
    log, experiment = (
        replace(rows, psi=np.column_stack([rows.require_psi(), column]))
        for rows, column in ((pair.log, constant), (pair.experiment, varying))
    )
    fit = Auto(SOME_VARIANCES).fit(log, experiment)
    assert fit.psi_coef is not None
    assert np.isfinite(fit.psi_coef).all()
    assert fit.psi_coef[-1] == 0.0
