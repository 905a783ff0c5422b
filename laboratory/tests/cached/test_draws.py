"""The router of the cached benchmarks, and logs and experiments drawn with it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from deconfound_bench.cached.draws import draw_experiment, draw_log, split_contexts
from deconfound_bench.cached.environment import Environment
from deconfound_bench.cached.router import RouterConstants, make_router
from deconfound_bench.results import Cell
from scipy.stats import beta

CLOSE = {"rtol": 0.0, "atol": 1e-12}
ERROR_PROBABILITY = 1e-6  # that correct draws fail a test of frequencies
CONTEXTS, MODELS, USERS = 14, 6, 4


def margin(probability, draws):
    """Bound on the errors of all frequencies at once, by Bernstein's inequality and a union bound."""
    probability = np.asarray(probability)
    exponent = math.log(2 * probability.size / ERROR_PROBABILITY)
    return np.sqrt(2 * probability * (1 - probability) * exponent / draws) + 2 * exponent / (3 * draws)


def example_router(slate=3, contexts=CONTEXTS, models=MODELS, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((contexts, 3))
    return make_router(features, rng.random(models), USERS, RouterConstants(slate=slate), seed)


def example_environment(slate=3, precision=None, mean=None):
    """The outcome identifies the user type, unless a common mean is given."""
    shape = (CONTEXTS, MODELS, USERS)
    outcome = np.broadcast_to(np.arange(USERS) / USERS, shape).copy() if mean is None else np.full(shape, mean)
    expected = {"one": outcome, "two": outcome[..., ::-1].copy()}
    empty = np.zeros((CONTEXTS, MODELS, 1))
    return Environment(tuple("abcdef"), expected, empty, empty, example_router(slate), precision)


# --- router ---


def router_by_hand(router, confounding, x, u):
    constants, logits = router.constants, []
    for a in range(len(router.cost)):
        by_context = sum(router.context_weights[a, j] * router.features[x, j] for j in range(router.features.shape[1]))
        logits.append(by_context - constants.cost_weight * router.cost[a] + confounding * router.affinity[a, u])
    total = math.fsum(math.exp(one) for one in logits)
    return [(1 - constants.mixing) * math.exp(one) / total + constants.mixing / len(logits) for one in logits]


@pytest.mark.parametrize("confounding", [0.0, 0.2, 0.99])
def test_the_router_follows_its_formula(confounding):
    router = example_router()
    observed = router.probabilities(confounding)
    assert observed.shape == (CONTEXTS, USERS, MODELS)
    for x, u in np.ndindex(CONTEXTS, USERS):
        np.testing.assert_allclose(observed[x, u], router_by_hand(router, confounding, x, u), **CLOSE)
    np.testing.assert_allclose(observed.sum(axis=2), 1.0, **CLOSE)
    assert observed.min() > router.constants.mixing / MODELS


def test_the_router_depends_on_the_user_only_with_confounding():
    router = example_router()
    without, with_confounding = router.probabilities(0.0), router.probabilities(0.9)
    assert (without == without[:, :1]).all()
    assert np.abs(with_confounding - with_confounding[:, :1]).max() > 0.2
    assert (without[0, 0] != without[1, 0]).all()


def test_with_mixing_every_model_stays_possible_under_extreme_logits():
    router = replace(example_router(), context_weights=1e3 * example_router().context_weights)
    observed = router.probabilities(0.5)
    assert np.isfinite(observed).all()
    assert observed.min() == pytest.approx(0.05 / MODELS, abs=1e-12)
    assert observed.max() == pytest.approx(0.95 + 0.05 / MODELS, abs=1e-12)


def by_slates(policy, slate):
    """Probability of each model, by enumerating all slates."""
    probability = np.zeros(len(policy))
    slates = list(combinations(range(len(policy)), slate))
    for offered in slates:
        total = math.fsum(policy[a] for a in offered)
        for a in offered:
            probability[a] += policy[a] / total / len(slates)
    return probability


@pytest.mark.parametrize("slate", [1, 3, MODELS])
def test_choices_have_the_frequencies_obtained_by_enumerating_all_slates(slate):
    draws = 200_000
    router = example_router(slate)
    for number, policy in enumerate(router.probabilities(0.9)[0, :2]):
        chosen = router.choose(np.tile(policy, (draws, 1)), np.random.default_rng(number))
        observed = np.bincount(chosen, minlength=MODELS) / draws
        expected = by_slates(policy, slate)
        assert (np.abs(observed - expected) < margin(expected, draws)).all()
        limits = {
            1: np.full(MODELS, 1 / MODELS),
            MODELS: policy,
        }  # a slate of one leaves no choice, and a slate of all models leaves the policy
        np.testing.assert_allclose(expected, limits.get(slate, expected), **CLOSE)


def test_a_slate_larger_than_the_number_of_models_contains_all_of_them():
    policy = np.tile(example_router().probabilities(0.9)[0, 0], (1000, 1))
    full = example_router(MODELS).choose(policy, np.random.default_rng(3))
    assert (example_router(MODELS + 4).choose(policy, np.random.default_rng(3)) == full).all()


def test_a_choice_depends_on_its_random_numbers_and_its_own_policy_only():
    """With equal random numbers, equal or nearly equal policies give the same choice, whatever the other rows have.

    A shift by a millionth changes a choice with probability below 1e-5 per row, so twenty of 5000 rows is far off.
    """
    router, rng = example_router(), np.random.default_rng(5)
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


def test_the_standard_deviations_of_the_logits_are_those_of_the_constants():
    """Standard deviations of 3200 and 1600 normals are within 6 and 8 % of the truth, up to probability 1e-5."""
    features = np.random.default_rng(0).standard_normal((50, 8))
    router = make_router(features, np.zeros(400), USERS, RouterConstants(strength=1.5, affinity=2.5), 4)
    assert router.context_weights.std() * math.sqrt(8) == pytest.approx(1.5, rel=0.06)
    assert router.affinity.std() == pytest.approx(2.5, rel=0.08)


# --- draws ---


@pytest.mark.parametrize(("contexts", "held_out"), [(5, 1), (12, 2), (48, 10), (100, 20)])
def test_a_fifth_of_the_contexts_is_held_out(contexts, held_out):
    tests = set()
    for seed in range(5):
        parts = split_contexts(contexts, 0.2, seed)
        assert len(parts.test) == held_out
        assert sorted([*parts.train, *parts.test]) == list(range(contexts))
        tests.add(tuple(parts.test))
    assert len(tests) > 1


def test_the_context_split_and_the_folds_use_different_random_numbers():
    """``default_rng([seed, 0])`` is ``default_rng(seed)``, which determines the folds."""
    for seed in range(10):
        reused = np.random.default_rng(seed).permutation(48)[:10]
        assert sorted(reused) != list(split_contexts(48, 0.2, seed).test)


@pytest.mark.parametrize("precision", [None, 64.0])
def test_rows_are_drawn_from_the_training_contexts_and_short_logs_are_the_start_of_long_ones(precision):
    environment, parts = example_environment(precision=precision), split_contexts(CONTEXTS, 0.2, 3)
    long = draw_log(environment, Cell(0.5, 900, 20, "one"), parts.train, 900, 3)
    short = draw_log(environment, Cell(0.5, 200, 20, "one"), parts.train, 900, 3)
    experiment = draw_experiment(environment, "one", parts.train, 400, 3)
    for rows in (long, experiment):
        assert set(rows.context) == set(parts.train)
        assert (rows.outcome >= 0).all()
        assert (rows.outcome <= 1).all()
    for name in ("context", "model", "outcome"):
        np.testing.assert_array_equal(getattr(short, name), getattr(long, name)[:200])
    assert not np.array_equal(experiment.context, long.context[:400])


def test_rewards_share_contexts_users_and_models():
    """The second reward lists the users in reverse, so outcomes of the same user add up to a constant."""
    environment, train = example_environment(), np.arange(3, CONTEXTS)
    logs = [draw_log(environment, Cell(0.9, 500, 20, reward), train, 800, 1) for reward in ("one", "two")]
    experiments = [draw_experiment(environment, reward, train, 300, 1) for reward in ("one", "two")]
    for one, two in (logs, experiments):
        np.testing.assert_array_equal(one.context, two.context)
        np.testing.assert_array_equal(one.model, two.model)
        np.testing.assert_array_equal(one.outcome + two.outcome, (USERS - 1) / USERS)


def test_levels_of_confounding_share_contexts_and_users():
    environment, train = example_environment(), np.arange(CONTEXTS)
    weak, strong = (draw_log(environment, Cell(c, 2000, 20, "one"), train, 2000, 0) for c in (0.0, 0.99))
    np.testing.assert_array_equal(weak.context, strong.context)
    np.testing.assert_array_equal(weak.outcome, strong.outcome)
    assert 0.05 < (weak.model != strong.model).mean() < 0.6


def joint_frequencies(sample, rows):
    user = np.round(sample.outcome * USERS).astype(np.int64)
    counts = np.zeros((CONTEXTS, USERS, MODELS))
    np.add.at(counts, (sample.context, user, sample.model), 1)
    return counts / rows


def test_an_experiment_is_uniform_over_contexts_users_and_models():
    rows, train = 300_000, np.arange(2, CONTEXTS)
    observed = joint_frequencies(draw_experiment(example_environment(), "one", train, rows, 0), rows)
    assert (observed[:2] == 0).all()
    each = np.full((len(train), USERS, MODELS), 1 / (len(train) * USERS * MODELS))
    for axes in ((), (0,), (0, 1), (0, 2), (1, 2)):
        expected = each.sum(axis=axes)
        assert (np.abs(observed[2:].sum(axis=axes) - expected) < margin(expected, rows)).all()


@pytest.mark.parametrize("confounding", [0.0, 0.99])
def test_a_log_follows_the_router_of_its_context_and_user(confounding):
    """Contexts and users are uniform; given both, models have the probabilities obtained by enumerating slates."""
    rows, train = 300_000, np.arange(3)
    environment = example_environment()
    observed = joint_frequencies(draw_log(environment, Cell(confounding, rows, 20, "one"), train, rows, 0), rows)
    policy = environment.router.probabilities(confounding)
    expected = np.array([[by_slates(policy[x, u], 3) for u in range(USERS)] for x in range(3)]) / (3 * USERS)
    for axes in ((), (0,), (0, 1)):
        total = expected.sum(axis=axes)
        assert (np.abs(observed[:3].sum(axis=axes) - total) < margin(total, rows)).all()


@pytest.mark.parametrize("mean", [0.08, 0.5, 0.93])
def test_outcomes_have_a_beta_distribution_of_the_stated_mean_and_precision(mean):
    """Both moments within five standard errors; that of the variance comes from the fourth moment."""
    rows, precision = 200_000, 64.0
    environment = example_environment(precision=precision, mean=mean)
    outcome = draw_experiment(environment, "one", np.arange(CONTEXTS), rows, 0).outcome
    variance = mean * (1 - mean) / (precision + 1)
    excess = float(beta.stats(mean * precision, (1 - mean) * precision, moments="k"))
    assert abs(outcome.mean() - mean) < 5 * math.sqrt(variance / rows)
    assert abs(outcome.var() - variance) < 5 * variance * math.sqrt((excess + 2) / rows)


def test_rewards_share_their_noise_row_by_row():
    """The same row has the same quantile of its noise under another reward."""
    quantiles = []
    for mean in (0.3, 0.6):
        rows = draw_experiment(example_environment(precision=64.0, mean=mean), "one", np.arange(CONTEXTS), 500, 0)
        quantiles.append(beta.cdf(rows.outcome, 64.0 * mean, 64.0 * (1.0 - mean)))
    np.testing.assert_allclose(quantiles[0], quantiles[1], atol=1e-9)


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_outcomes_with_mean_zero_or_one_stay_there(mean):
    outcome = draw_experiment(example_environment(precision=64.0, mean=mean), "one", np.arange(5), 5000, 0).outcome
    assert np.isfinite(outcome).all()
    assert abs(outcome.mean() - mean) < 1e-4


def test_the_target_is_the_mean_over_user_types():
    rng = np.random.default_rng(0)
    environment = replace(example_environment(), expected_outcome={"one": rng.random((CONTEXTS, MODELS, USERS))})
    for x, a in np.ndindex(CONTEXTS, MODELS):
        expected = math.fsum(environment.expected_outcome["one"][x, a]) / USERS
        assert environment.target("one")[x, a] == pytest.approx(expected, abs=1e-15)
