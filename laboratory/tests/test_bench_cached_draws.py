"""The router of the cached benchmarks and the logs and experiments drawn with it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from deconfound_bench.cached.draws import draw_experiment, draw_log, split
from deconfound_bench.cached.router import Routing, make_router
from deconfound_bench.cached.world import World
from deconfound_bench.results import Cell
from scipy.stats import beta

from laboratory.tests.support.grid_kinds import CLOSE

CHANCE = 1e-6  # that a fair draw fails a test of frequencies, were its seed not fixed
CONTEXTS, MODELS, USERS = 14, 6, 4


def margin(probability, draws):
    """How far frequencies stay from these probabilities, all of them at once: Bernstein's and the union bound."""
    probability = np.asarray(probability)
    rare = math.log(2 * probability.size / CHANCE)
    return np.sqrt(2 * probability * (1 - probability) * rare / draws) + 2 * rare / (3 * draws)


def a_router(slate=3, contexts=CONTEXTS, models=MODELS, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((contexts, 3))
    return make_router(features, rng.random(models), USERS, Routing(slate=slate), seed)


def marked_world(slate=3, precision=None, liking=None):
    """Outcomes tell the user who gave them, unless another liking is given."""
    shape = (CONTEXTS, MODELS, USERS)
    told = np.broadcast_to(np.arange(USERS) / USERS, shape).copy() if liking is None else np.full(shape, liking)
    empty = np.zeros((CONTEXTS, MODELS, 1))
    names = tuple("abcdef")
    return World(names, {"one": told, "two": told[..., ::-1].copy()}, empty, empty, a_router(slate), precision)


# --- router ---


def router_by_hand(router, confounding, x, u):
    constants, logits = router.routing, []
    for a in range(len(router.cost)):
        article = sum(router.context[a, j] * router.features[x, j] for j in range(router.features.shape[1]))
        logits.append(article - constants.cost_weight * router.cost[a] + confounding * router.affinity[a, u])
    total = math.fsum(math.exp(one) for one in logits)
    return [(1 - constants.mixing) * math.exp(one) / total + constants.mixing / len(logits) for one in logits]


@pytest.mark.parametrize("confounding", [0.0, 0.2, 0.99])
def test_the_router_is_its_formula(confounding):
    router = a_router()
    found = router.probabilities(confounding)
    assert found.shape == (CONTEXTS, USERS, MODELS)
    for x, u in np.ndindex(CONTEXTS, USERS):
        np.testing.assert_allclose(found[x, u], router_by_hand(router, confounding, x, u), **CLOSE)
    np.testing.assert_allclose(found.sum(axis=2), 1.0, **CLOSE)
    assert found.min() > router.routing.mixing / MODELS


def test_without_confounding_the_router_does_not_see_the_user_and_with_it_does():
    router = a_router()
    free, bound = router.probabilities(0.0), router.probabilities(0.9)
    assert (free == free[:, :1]).all()
    assert np.abs(bound - bound[:, :1]).max() > 0.2
    assert (free[0, 0] != free[1, 0]).all()


def test_mixing_keeps_every_model_possible_under_the_strongest_logits():
    router = replace(a_router(), context=1e3 * a_router().context)
    found = router.probabilities(0.5)
    assert np.isfinite(found).all()
    assert found.min() == pytest.approx(0.05 / MODELS, abs=1e-12)
    assert found.max() == pytest.approx(0.95 + 0.05 / MODELS, abs=1e-12)


def by_slates(policy, slate):
    """Probability of each model, by listing every slate."""
    chance = np.zeros(len(policy))
    slates = list(combinations(range(len(policy)), slate))
    for offered in slates:
        total = math.fsum(policy[a] for a in offered)
        for a in offered:
            chance[a] += policy[a] / total / len(slates)
    return chance


@pytest.mark.parametrize("slate", [1, 3, MODELS])
def test_choices_have_the_frequencies_of_all_slates_listed(slate):
    draws = 200_000
    router = a_router(slate)
    for number, policy in enumerate(router.probabilities(0.9)[0, :2]):
        chosen = router.choose(np.tile(policy, (draws, 1)), np.random.default_rng(number))
        found = np.bincount(chosen, minlength=MODELS) / draws
        wanted = by_slates(policy, slate)
        assert (np.abs(found - wanted) < margin(wanted, draws)).all()
        limits = {
            1: np.full(MODELS, 1 / MODELS),
            MODELS: policy,
        }  # a slate of one leaves no choice, one of all the whole
        np.testing.assert_allclose(wanted, limits.get(slate, wanted), **CLOSE)


def test_a_slate_of_more_models_than_there_are_offers_them_all():
    policy = np.tile(a_router().probabilities(0.9)[0, 0], (1000, 1))
    all_of_them = a_router(MODELS).choose(policy, np.random.default_rng(3))
    assert (a_router(MODELS + 4).choose(policy, np.random.default_rng(3)) == all_of_them).all()


def test_a_choice_is_decided_by_luck_and_its_own_policy():
    """Same luck: the same choice where the policy is the same or all but the same, whatever the other rows' policies.

    A shift by a millionth moves a choice with probability below 1e-5 a row; twenty of 5000 rows would be a wonder.
    """
    router, rng = a_router(), np.random.default_rng(5)
    policy = rng.dirichlet(np.ones(MODELS), size=5000)
    generators = [np.random.default_rng(9) for _ in range(3)]
    other = policy.copy()
    other[::2] = other[::2, ::-1]
    near = policy + 1e-6
    first, second, third = (router.choose(p, g) for p, g in zip((policy, other, near), generators, strict=True))
    assert (first[1::2] == second[1::2]).all()
    assert (first[::2] != second[::2]).mean() > 0.3
    assert (first != third).sum() < 20
    assert len({float(one.random()) for one in generators}) == 1


def test_the_spread_of_logits_is_what_the_constants_say():
    """Standard deviations of 3200 and 1600 normals are within 6 % of the truth but for chance 1e-5."""
    features = np.random.default_rng(0).standard_normal((50, 8))
    router = make_router(features, np.zeros(400), USERS, Routing(strength=1.5, affinity=2.5), 4)
    assert router.context.std() * math.sqrt(8) == pytest.approx(1.5, rel=0.06)
    assert router.affinity.std() == pytest.approx(2.5, rel=0.08)


# --- draws ---


@pytest.mark.parametrize(("contexts", "held"), [(5, 1), (12, 2), (48, 10), (100, 20)])
def test_a_fifth_of_the_contexts_is_held_out(contexts, held):
    tests = set()
    for seed in range(5):
        parts = split(contexts, 0.2, seed)
        assert len(parts.test) == held
        assert sorted([*parts.train, *parts.test]) == list(range(contexts))
        tests.add(tuple(parts.test))
    assert len(tests) > 1


def test_folds_are_not_cut_by_the_luck_that_split_the_contexts():
    """``default_rng([seed, 0])`` is ``default_rng(seed)``, from which folds are made."""
    for seed in range(10):
        reused = np.random.default_rng(seed).permutation(48)[:10]
        assert sorted(reused) != list(split(48, 0.2, seed).test)


@pytest.mark.parametrize("precision", [None, 64.0])
def test_draws_come_from_the_training_contexts_and_short_logs_start_long_ones(precision):
    world, parts = marked_world(precision=precision), split(CONTEXTS, 0.2, 3)
    long = draw_log(world, Cell(0.5, 900, 20, "one"), parts.train, 900, 3)
    short = draw_log(world, Cell(0.5, 200, 20, "one"), parts.train, 900, 3)
    trial = draw_experiment(world, "one", parts.train, 400, 3)
    for drawn in (long, trial):
        assert set(drawn.context) == set(parts.train)
        assert (drawn.outcome >= 0).all()
        assert (drawn.outcome <= 1).all()
    for name in ("context", "model", "outcome"):
        np.testing.assert_array_equal(getattr(short, name), getattr(long, name)[:200])
    assert not np.array_equal(trial.context, long.context[:400])


def test_rewards_share_contexts_users_and_models():
    """The second reward lists the users backwards, so equal users show as outcomes that add up."""
    world, train = marked_world(), np.arange(3, CONTEXTS)
    logs = [draw_log(world, Cell(0.9, 500, 20, reward), train, 800, 1) for reward in ("one", "two")]
    trials = [draw_experiment(world, reward, train, 300, 1) for reward in ("one", "two")]
    for one, two in (logs, trials):
        np.testing.assert_array_equal(one.context, two.context)
        np.testing.assert_array_equal(one.model, two.model)
        np.testing.assert_array_equal(one.outcome + two.outcome, (USERS - 1) / USERS)


def test_confoundings_share_contexts_and_users():
    world, train = marked_world(), np.arange(CONTEXTS)
    calm, wild = (draw_log(world, Cell(c, 2000, 20, "one"), train, 2000, 0) for c in (0.0, 0.99))
    np.testing.assert_array_equal(calm.context, wild.context)
    np.testing.assert_array_equal(calm.outcome, wild.outcome)
    assert 0.05 < (calm.model != wild.model).mean() < 0.6


def joint(drawn, rows):
    user = np.round(drawn.outcome * USERS).astype(np.int64)
    counts = np.zeros((CONTEXTS, USERS, MODELS))
    np.add.at(counts, (drawn.context, user, drawn.model), 1)
    return counts / rows


def test_an_experiment_is_uniform_over_contexts_users_and_models():
    rows, train = 300_000, np.arange(2, CONTEXTS)
    found = joint(draw_experiment(marked_world(), "one", train, rows, 0), rows)
    assert (found[:2] == 0).all()
    each = np.full((len(train), USERS, MODELS), 1 / (len(train) * USERS * MODELS))
    for axes in ((), (0,), (0, 1), (0, 2), (1, 2)):
        wanted = each.sum(axis=axes)
        assert (np.abs(found[2:].sum(axis=axes) - wanted) < margin(wanted, rows)).all()


@pytest.mark.parametrize("confounding", [0.0, 0.99])
def test_a_log_follows_the_router_of_its_context_and_user(confounding):
    """Contexts and users are uniform; given both, models have the probabilities of all slates listed."""
    rows, train = 300_000, np.arange(3)
    world = marked_world()
    found = joint(draw_log(world, Cell(confounding, rows, 20, "one"), train, rows, 0), rows)
    policy = world.router.probabilities(confounding)
    wanted = np.array([[by_slates(policy[x, u], 3) for u in range(USERS)] for x in range(3)]) / (3 * USERS)
    for axes in ((), (0,), (0, 1)):
        total = wanted.sum(axis=axes)
        assert (np.abs(found[:3].sum(axis=axes) - total) < margin(total, rows)).all()


@pytest.mark.parametrize("mean", [0.08, 0.5, 0.93])
def test_noise_is_a_beta_of_the_stated_mean_and_precision(mean):
    """Both moments within five of their standard errors, that of the variance from the fourth moment."""
    rows, precision = 1_000_000, 64.0
    world = marked_world(precision=precision, liking=mean)
    outcome = draw_experiment(world, "one", np.arange(CONTEXTS), rows, 0).outcome
    variance = mean * (1 - mean) / (precision + 1)
    excess = float(beta.stats(mean * precision, (1 - mean) * precision, moments="k"))
    assert abs(outcome.mean() - mean) < 5 * math.sqrt(variance / rows)
    assert abs(outcome.var() - variance) < 5 * variance * math.sqrt((excess + 2) / rows)


def test_rewards_share_the_luck_of_their_noise_row_by_row():
    """The same row stands at the same quantile of its noise under another reward."""
    quantiles = []
    for mean in (0.3, 0.6):
        drawn = draw_experiment(marked_world(precision=64.0, liking=mean), "one", np.arange(CONTEXTS), 500, 0)
        quantiles.append(beta.cdf(drawn.outcome, 64.0 * mean, 64.0 * (1.0 - mean)))
    np.testing.assert_allclose(quantiles[0], quantiles[1], atol=1e-9)


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_noise_at_the_ends_stays_there(mean):
    outcome = draw_experiment(marked_world(precision=64.0, liking=mean), "one", np.arange(5), 5000, 0).outcome
    assert np.isfinite(outcome).all()
    assert abs(outcome.mean() - mean) < 1e-4


def test_the_target_is_the_mean_over_users():
    rng = np.random.default_rng(0)
    world = replace(marked_world(), liking={"one": rng.random((CONTEXTS, MODELS, USERS))})
    for x, a in np.ndindex(CONTEXTS, MODELS):
        wanted = math.fsum(world.liking["one"][x, a]) / USERS
        assert world.q("one")[x, a] == pytest.approx(wanted, abs=1e-15)
