"""The automatic family: its algebra against a dense twin, its corners, and what it makes of good and bad logs."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal

from deconfound.design import FloatArray, IntArray, Rows
from deconfound.errors import UsageError
from deconfound.linalg import ridge
from deconfound.reward import Auto, ExpOnly, RewardFit, TrainingData, VarianceComponents, settled
from deconfound.reward.auto import family as auto_module
from deconfound.reward.auto.gaussian import ConditionedGaussian
from deconfound.reward.auto.marginal_likelihood import log_likelihood, maximize_marginal_likelihood
from deconfound.reward.auto.variance_components import fit_variance_components
from tests.support.random_rows import FEW, TALL, WIDE, Pair, Shape, make, repeated

AGREE = 1e-9  # two dense solves of one system whose condition number is below 1e5; 3e-12 was seen
SOME = VarianceComponents(0.05, 0.03, 0.02, 0.04, 0.01, 0.02, 0.03, 0.01, 0.05)
SHAPES = [pytest.param(shape, id=name) for name, shape in (("tall", TALL), ("wide", WIDE), ("few", FEW))]


@pytest.fixture
def pair() -> Pair:
    """Rows for everything that does not depend on their shape."""
    return make(TALL, seed=3)


def twin(parts: VarianceComponents, log: Rows, experiment: Rows, rows: Rows) -> FloatArray:
    """The posterior mean written out: every observation a row of one dense system."""
    log, experiment = repeated(log), repeated(experiment)
    dense = [np.asarray(each.phi.todense() if sparse.issparse(each.phi) else each.phi) for each in (log, experiment)]
    new = np.asarray(rows.phi.todense() if sparse.issparse(rows.phi) else rows.phi)
    text = float(np.mean([row @ row for row in dense[0]]))
    mean, spread = log.proxies.mean(axis=0), log.proxies.std(axis=0) * np.sqrt(log.proxies.shape[1])
    psi = [(each.proxies - mean) / spread for each in (log, experiment, rows)]
    seen_phi, seen_psi = np.vstack(dense), np.vstack(psi[:2])
    seen_model = np.concatenate([log.model, experiment.model])
    logged = np.arange(len(seen_model)) < len(log)
    centre = float(np.mean(log.outcomes))
    target = np.concatenate([log.outcomes, experiment.outcomes]) - centre

    def covariance(sizes: FloatArray, phi: FloatArray, psi: FloatArray, model: IntArray) -> FloatArray:
        same = model[:, None] == seen_model
        return sizes[0] * phi @ seen_phi.T / text + sizes[1] * psi @ seen_psi.T + sizes[2] * same + sizes[3]

    joint = covariance(parts.reward, seen_phi, seen_psi, seen_model) + parts.noise * np.eye(len(target))
    joint += np.outer(logged, logged) * covariance(parts.bias, seen_phi, seen_psi, seen_model)
    weights = np.linalg.solve(joint, target)
    nobody = np.full(len(rows), -7)
    shown = np.clip(centre + covariance(parts.reward, new, psi[2], nobody) @ weights, 0.0, 1.0)
    effect = np.zeros(len(rows))
    if rows.model is not None:
        effect = parts.reward_model * (rows.model[:, None] == seen_model) @ weights
    return np.asarray(np.clip(shown + effect, 0.0, 1.0))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("stored", ["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_fit_agrees_with_its_naive_twin(shape: Shape, stored: str, weighted: bool) -> None:
    pair = make(replace(shape, sparse=stored == "sparse", weighted=weighted), seed=1)
    fit = Auto(SOME).fit(pair.log, pair.experiment)
    for rows in (pair.experiment, pair.fresh):
        # Rows of the log that several models wrote alike have lost their model, so the twin is asked without them.
        expected = twin(SOME, _alone(pair.log), pair.experiment, rows)
        found = Auto(SOME).fit(_alone(pair.log), pair.experiment).predict(rows)
        np.testing.assert_allclose(found, expected, rtol=0, atol=AGREE)
    assert np.isfinite(fit.predict(pair.log)).all()


def _alone(log: Rows) -> Rows:
    """Each distinct row of the log as the first model wrote it."""
    phi = np.asarray(log.phi.todense() if sparse.issparse(log.phi) else log.phi)
    _, first, inverse = np.unique(phi, axis=0, return_index=True, return_inverse=True)
    assert log.model is not None
    return replace(log, model=log.model[first][inverse.ravel()])


@pytest.mark.parametrize("train", [np.arange(0, 40, 2), np.array([3, 3, 5, 7, 7, 7, 20])], ids=["half", "repeats"])
def test_one_preparation_gives_every_subset_what_a_fit_to_it_alone_gives(train: IntArray, pair: Pair) -> None:
    prepared = Auto.prepare(TrainingData(pair.log, pair.experiment), [Auto(SOME)])
    slow = Auto(SOME).fit(pair.log, pair.experiment.take(train)).predict(pair.experiment)
    finished = prepared.fit(Auto(SOME), train)
    np.testing.assert_allclose(finished.predict(pair.experiment), slow, rtol=0, atol=AGREE)
    # ``predict`` clips once and a finished fit twice, so they agree where the first clipping changed nothing.
    (quick,) = prepared.predict(Auto(SOME), [train])
    inside = (finished.shown(pair.experiment) > 0) & (finished.shown(pair.experiment) < 1)
    np.testing.assert_allclose(quick[inside], slow[inside], rtol=0, atol=AGREE)


def test_the_two_shares_of_a_fit_add_up_to_it(pair: Pair) -> None:
    prepared = Auto.prepare(TrainingData(pair.log, pair.experiment), [Auto(SOME)])
    everything = np.arange(len(pair.experiment))
    whole, (by_log, by_experiment) = prepared.fit(Auto(SOME), everything), prepared.shares(everything)
    for name in ("phi_coef", "psi_coef", "model_effect"):
        both = getattr(by_log, name) + getattr(by_experiment, name)
        np.testing.assert_allclose(both, getattr(whole, name), rtol=0, atol=AGREE)
    assert by_log.intercept + by_experiment.intercept + prepared.level == pytest.approx(whole.intercept, abs=AGREE)


def test_a_log_with_endless_bias_leaves_the_experiment_alone(pair: Pair) -> None:
    """Reward over text with a free level is then exp-only's ridge; a level of variance 1e6 is free to 1e-6."""
    text, noise = 0.05, 0.03
    endless = 1e10
    parts = VarianceComponents(text, 0.0, 0.0, 1e6, 0.0, 0.0, 0.0, endless, noise)
    biased = replace(parts, bias_text=endless, bias_proxies=endless, bias_model=endless)
    scale = float(np.mean((np.asarray(pair.log.phi) ** 2).sum(axis=1)))
    ridged = ExpOnly(noise * scale / text).fit(pair.log, pair.experiment)
    found = Auto(biased).fit(pair.log, pair.experiment)
    np.testing.assert_allclose(found.predict(pair.fresh), ridged.predict(pair.fresh), rtol=0, atol=1e-5)


def test_a_log_without_bias_is_pooled_row_by_row(pair: Pair) -> None:
    """Then there is one ridge over all rows of both sources."""
    text, noise = 0.05, 0.03
    parts = VarianceComponents(text, 0.0, 0.0, 1e6, 0.0, 0.0, 0.0, 0.0, noise)
    scale = float(np.mean((np.asarray(pair.log.phi) ** 2).sum(axis=1)))
    phi = np.vstack([pair.log.phi, pair.experiment.phi])
    outcome = np.concatenate([pair.log.outcomes, pair.experiment.outcomes])
    linear = ridge(phi, outcome, noise * scale / text)
    found = Auto(parts).fit(pair.log, pair.experiment)
    np.testing.assert_allclose(found.predict(pair.fresh), np.clip(linear(pair.fresh.phi), 0, 1), rtol=0, atol=1e-5)


def test_the_likelihood_is_that_of_a_normal_law_and_its_gradient_is_the_slope() -> None:
    rng = np.random.default_rng(0)
    features = [rng.standard_normal((12, 3)), rng.standard_normal((12, 5))]
    kernels = [each @ each.T for each in features] + [np.eye(12)]
    target, at = rng.standard_normal(12), np.log([0.5, 0.2, 0.7])
    value, gradient = log_likelihood(at, kernels, target)
    covariance = sum(size * kernel for size, kernel in zip(np.exp(at), kernels, strict=True))
    assert value - 6 * np.log(2 * np.pi) == pytest.approx(multivariate_normal(np.zeros(12), covariance).logpdf(target))
    step = 1e-6
    for i in range(3):
        moved = at + step * (np.arange(3) == i)
        assert gradient[i] == pytest.approx((log_likelihood(moved, kernels, target)[0] - value) / step, rel=1e-4)


def test_sizes_are_found_again() -> None:
    """Forty draws of 150 rows: the mean of log(found / true) has a standard error of about 0.25 / sqrt(40) = 0.04
    for the noise and 0.6 / sqrt(40) = 0.1 for a part with six directions; three of them are allowed, and the known
    shrinkage of a likelihood with few directions, 1 / 6 for variances.
    """
    rng = np.random.default_rng(1)
    features = rng.standard_normal((150, 6)) / np.sqrt(6)
    kernels, true = [features @ features.T, np.eye(150)], np.array([0.6, 0.2])
    found = []
    for _ in range(40):
        target = features @ rng.standard_normal(6) * np.sqrt(true[0]) + np.sqrt(true[1]) * rng.standard_normal(150)
        found.append(maximize_marginal_likelihood(kernels, target, np.array([0.1, 1.0]), 3.0)[0])
    off = np.log(np.array(found) / true).mean(axis=0)
    assert abs(off[1]) < 0.12
    assert -0.17 - 0.3 < off[0] < 0.3


def test_conditioning_in_two_steps_is_conditioning_at_once() -> None:
    rng = np.random.default_rng(2)
    half = rng.standard_normal((14, 20))
    whole = half @ half.T
    target, noise = rng.standard_normal(14), np.full(5, 0.3)
    many = whole[:9, :9] + 0.5 * np.eye(9)
    known = ConditionedGaussian.of(many.copy(), target[:9], whole[:9, 9:], whole[9:, 9:])
    joint = whole + np.diag([0.5] * 9 + [0.3] * 5)
    weights = np.linalg.solve(joint, target)
    learned = known.learn(target[9:], noise, np.arange(5))
    np.testing.assert_allclose(learned, weights[9:], atol=1e-10)
    np.testing.assert_allclose(known.back(learned), weights[:9], atol=1e-10)
    np.testing.assert_allclose(known.predict(learned), whole[9:] @ weights, atol=1e-10)


MODELS, CONTEXTS, STUDIES = 8, 60, 12


def simulated(bias: float, rows: int, seed: int) -> tuple[Rows, Rows, Rows, FloatArray]:
    """Log, experiment and replay of eight models; the log's outcomes of each model are off by N(0, bias^2)."""
    rng = np.random.default_rng(seed)
    quality = 0.5 + 0.1 * rng.standard_normal(MODELS)
    phi = rng.standard_normal((CONTEXTS, MODELS, 12)) / 4
    direction = rng.standard_normal(12) * 0.2
    truth = np.clip(quality + phi @ direction, 0, 1)
    off = bias * rng.standard_normal(MODELS)

    def draw(size: int, shift: FloatArray) -> Rows:
        context, model = rng.integers(CONTEXTS, size=size), rng.integers(MODELS, size=size)
        outcome = np.clip(truth[context, model] + shift[model] + 0.2 * rng.standard_normal(size), 0, 1)
        return Rows(phi[context, model], None, outcome, model, context=context)

    replay = Rows(phi.reshape(-1, 12), model=np.tile(np.arange(MODELS), CONTEXTS))
    return draw(500, off), draw(rows, np.zeros(MODELS)), replay, truth


def values(log: Rows, experiment: Rows, replay: Rows, family: Auto | ExpOnly) -> FloatArray:
    return family.fit(log, experiment).predict(replay).reshape(CONTEXTS, MODELS).mean(axis=0)


@pytest.mark.parametrize(("bias", "allowed"), [(0.0, 0.5), (0.1, 0.95), (0.4, 1.02)])
def test_it_uses_a_clean_log_and_survives_a_misleading_one(bias: float, allowed: float) -> None:
    """Error of eight values against the experiment's own means, 12 studies of 80 rows.

    The ratio's standard error is about 0.06 (its relative spread in one study is 0.2). A clean log of 500 rows
    should leave half of the error at most; a bias as large as the spread of the models must not cost anything.
    """
    error = np.zeros(2)
    for seed in range(STUDIES):
        log, experiment, replay, truth = simulated(bias, 80, seed)
        assert experiment.model is not None
        alone = [experiment.outcomes[experiment.model == a].mean() for a in range(MODELS)]
        found = values(log, experiment, replay, Auto())
        error += [((found - truth.mean(axis=0)) ** 2).sum(), ((alone - truth.mean(axis=0)) ** 2).sum()]
    assert np.sqrt(error[0] / error[1]) < allowed


def test_the_log_bias_is_seen() -> None:
    clean = [fit_variance_components(TrainingData(*simulated(0.0, 80, seed)[:2])).bias_model for seed in range(6)]
    biased = [fit_variance_components(TrainingData(*simulated(0.3, 80, seed)[:2])).bias_model for seed in range(6)]
    assert np.sqrt(np.median(clean)) < 0.05
    assert 0.15 < np.sqrt(np.median(biased)) < 0.6


def test_sources_without_proxies_or_models_have_no_such_parts(pair: Pair) -> None:
    bare_log, bare_experiment = (replace(rows, psi=None, model=None) for rows in (pair.log, pair.experiment))
    parts = fit_variance_components(TrainingData(bare_log, bare_experiment))
    assert parts.reward_proxies == parts.bias_proxies == parts.reward_model == parts.bias_model == 0.0
    assert parts.reward_text > 0
    fit = Auto().fit(bare_log, bare_experiment)
    assert fit.psi_coef is None
    assert fit.model_effect is None
    assert np.isfinite(fit.predict(pair.fresh)).all()


def test_the_order_and_the_numbers_of_models_do_not_matter(pair: Pair) -> None:
    """Renaming the models changes nothing but which code has which effect."""
    assert pair.log.model is not None
    assert pair.experiment.model is not None
    turned = np.array([5, 3, 0, 1, 4, 2])
    log, experiment = (replace(rows, model=turned[rows.model]) for rows in (pair.log, pair.experiment))
    fit, other = Auto().fit(pair.log, pair.experiment), Auto().fit(log, experiment)
    assert fit.model_effect is not None
    assert other.model_effect is not None
    np.testing.assert_allclose(other.model_effect[turned], fit.model_effect, atol=1e-6)
    np.testing.assert_allclose(other.predict(pair.fresh), fit.predict(pair.fresh), atol=1e-6)


@pytest.mark.parametrize("constant", [0.0, 0.4, 1.0])
def test_constant_outcomes_are_predicted_to_be_that_constant(constant: float, pair: Pair) -> None:
    log = replace(pair.log, outcome=np.full(len(pair.log), constant))
    experiment = replace(pair.experiment, outcome=np.full(len(pair.experiment), constant))
    np.testing.assert_allclose(Auto().fit(log, experiment).predict(pair.fresh), constant, atol=1e-12)


def test_a_single_row_on_each_side_is_enough(pair: Pair) -> None:
    one = np.arange(1)
    predicted = Auto().fit(pair.log.take(one), pair.experiment.take(one)).predict(pair.fresh)
    assert np.isfinite(predicted).all()


def test_a_log_too_long_is_sampled_and_still_teaches(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto_module, "MAX_LOG_ROWS", 20)
    prepared = Auto.prepare(TrainingData(pair.log, pair.experiment), [Auto(SOME)])
    assert len(prepared.log) == 20
    assert np.std(prepared.fit(Auto(SOME), np.arange(5)).predict(pair.fresh)) > 0


def test_a_model_nobody_has_seen_gets_no_effect_of_its_own() -> None:
    fit = RewardFit(0.5, model_effect=np.array([0.1, -0.2]))
    np.testing.assert_allclose(fit.add_model_effect_to_matrix(np.full((2, 3), 0.5)), [[0.6, 0.3, 0.5]] * 2)
    np.testing.assert_allclose(fit.written_by(np.array([1, -1]), np.full(2, 0.5)), [0.3, 0.5])


def test_settling_learns_once_and_leaves_other_families_alone(pair: Pair) -> None:
    sources = TrainingData(pair.log, pair.experiment)
    found = settled(Auto(), sources)
    assert found.parts == fit_variance_components(sources)
    assert settled(found, sources) is found
    assert settled(ExpOnly(), sources) == ExpOnly()
    with pytest.raises(FrozenInstanceError):
        found.parts = None  # type: ignore[misc]


@pytest.mark.parametrize("size", [-1.0, np.nan, np.inf])
def test_sizes_without_a_meaning_are_refused(size: float) -> None:
    with pytest.raises(UsageError, match="reward_text"):
        replace(SOME, reward_text=size)
    with pytest.raises(UsageError, match="noise"):
        replace(SOME, noise=0.0)
