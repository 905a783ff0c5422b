"""The cached benchmarks from a grid to its scores: router, draws, pool, contests."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from grids import make_rows, write_grid, write_rows
from scipy.stats import beta

from deconfound.bench.cached.benchmark import Cached
from deconfound.bench.cached.contests import CachedRing
from deconfound.bench.cached.draws import draw_experiment, draw_log, split
from deconfound.bench.cached.pool import BUCKETS, VERSION, load_cached_pool, make_cached_pool
from deconfound.bench.cached.router import Routing, make_router
from deconfound.bench.cached.seen import context_features, lengths, surface_statistics
from deconfound.bench.cached.world import World, compress
from deconfound.bench.coding import recipe as coding
from deconfound.bench.coding.utility import REWARDS
from deconfound.bench.instructions import recipe as chat
from deconfound.bench.kept import is_kept
from deconfound.bench.outputs import hash_pairs
from deconfound.bench.results import Cell
from deconfound.bench.summarization import recipe as summaries
from deconfound.bench.sweep import Bar, Task, digest, sweep
from deconfound.errors import DataError
from deconfound.evaluation import PAPER_SIX

CLOSE = {"rtol": 0.0, "atol": 1e-12}
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


# --- what is seen ---


def test_proxies_are_standardised_orthogonal_and_leave_constants_out():
    rng = np.random.default_rng(0)
    moving = rng.standard_normal((10, 7, 4)) * (1, 10, 1e-3, 1) + (5, 0, 0, 1e3)
    constant = np.full((10, 7, 1), 0.1)  # whose mean over 70 cells is not 0.1 to the last bit
    copied = np.concatenate([moving, constant, moving[..., :1]], axis=2)
    psi = compress(copied, 16)
    assert psi.shape == (70, 4)
    np.testing.assert_allclose(psi.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(psi.T @ psi / 70, np.eye(4), atol=1e-12)
    flat = moving.reshape(70, 4)
    rest = flat - flat.mean(axis=0)
    rest -= psi @ np.linalg.lstsq(psi, rest, rcond=None)[0]
    np.testing.assert_allclose(rest, 0.0, atol=1e-9)
    np.testing.assert_array_equal(compress(copied, 2), psi[:, :2])
    largest = psi[np.abs(psi).argmax(axis=0), np.arange(4)]
    assert (largest > 0).all()
    assert compress(constant, 16).shape == (70, 0)


def test_leading_directions_come_first():
    """Three statistics say the same and one says another thing: the first direction is that of the three."""
    rng = np.random.default_rng(1)
    told, alone = rng.standard_normal((2, 200))
    table = np.column_stack([told + 0.1 * rng.standard_normal(200) for _ in range(3)] + [alone]).reshape(20, 10, 4)
    first = compress(table, 1)[:, 0]
    assert abs(np.corrcoef(first, told)[0, 1]) > 0.99


def test_context_features_are_standardised_and_constants_left_out():
    """Every text has three capitals in 30 letters: one value, whose mean over these texts is not quite that value."""
    texts = [
        "AAA " + letter * (26 - 5 * n) + " b" * (5 * n // 2) + "c" * (5 * n % 2) for n, letter in enumerate("xyzvw")
    ]
    assert {len(text) for text in texts} == {30}
    features = context_features(texts * 2)
    assert features.shape[1] >= 2
    np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(features.std(axis=0), 1.0, atol=1e-12)
    assert context_features(["one and the same text."] * 7).shape == (7, 0)


# --- pool ---


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Small grids of the three kinds; in that of summaries, models copy one another and one context another."""
    where = tmp_path_factory.mktemp("grids")
    asked, given = make_rows(12, 6)
    models = sorted({row["model"] for row in given})
    by = {(row["context_id"], row["model"]): row for row in given}
    ids = [row["context_id"] for row in asked]
    for to, source in (((0, 1), (0, 0)), ((0, 4), (0, 0)), ((5, 2), (5, 3)), ((7, 0), (0, 0))):
        by[ids[to[0]], models[to[1]]]["output"] = by[ids[source[0]], models[source[1]]]["output"]
    write_rows(where / "summaries", asked, given)
    write_grid(where / "patches", 10, 4, kind="coding")
    write_grid(where / "answers", 10, 4, kind="instructions")
    return where


@pytest.fixture(scope="module")
def grid(place):
    return summaries.read_judged(place / "summaries")


@pytest.fixture(scope="module")
def pool(grid):
    return make_cached_pool(grid, summaries.make_world(grid), 16)


def test_equal_outputs_on_one_context_share_a_row_and_no_others_do(grid, pool):
    seen = {}
    for x, a in np.ndindex(12, 6):
        assert seen.setdefault((x, grid.outputs[x][a]), pool.row[x, a]) == pool.row[x, a]
    assert len(seen) <= 12 * 6 - 3
    assert pool.row[0, 0] == pool.row[0, 1] == pool.row[0, 4]
    assert pool.row[5, 2] == pool.row[5, 3]
    assert pool.row[7, 0] != pool.row[0, 0]
    assert sorted(set(seen.values())) == list(range(len(pool.store.kernel)))
    assert len(set(seen.values())) == len(seen)


def test_the_kernel_is_made_of_the_texts_in_their_cells(grid, pool):
    outputs = [output for line in grid.outputs for output in line]
    phi = hash_pairs(grid.contexts, outputs, np.repeat(np.arange(12), 6), BUCKETS).phi()
    row = pool.row.ravel()
    np.testing.assert_allclose(pool.store.kernel[np.ix_(row, row)], (phi @ phi.T).toarray(), **CLOSE)
    turned = pool.store.coordinates @ pool.store.coordinates.T
    np.testing.assert_allclose(turned, pool.store.kernel, atol=1e-11)


def test_proxies_of_the_pool_are_those_of_its_cells(grid, pool):
    psi = pool.psi[pool.row].reshape(72, -1)
    np.testing.assert_allclose(psi, compress(surface_statistics(grid), 16), atol=1e-9)
    np.testing.assert_allclose(psi.T @ psi / 72, np.eye(psi.shape[1]), atol=1e-9)
    assert psi.shape[1] == 16


def test_costs_are_the_lengths_of_outputs(grid):
    cost = lengths(grid)
    assert (cost.min(), cost.max()) == (0.0, 1.0)
    words = [np.mean([len(line[a].split()) for line in grid.outputs]) for a in range(6)]
    assert (np.argsort(cost) == np.argsort(words)).all()
    same = replace(grid, outputs=tuple(("two words",) * 6 for _ in range(12)))
    assert (lengths(same) == 0).all()


@pytest.mark.parametrize("kind", ["summaries", "patches"])
def test_a_kept_pool_comes_back_to_the_last_bit(place, tmp_path, kind):
    recipe = {"summaries": summaries, "patches": coding}[kind]
    read = {"summaries": summaries.read_judged, "patches": coding.read_patches}[kind]
    grid = read(place / kind)
    made = make_cached_pool(grid, recipe.make_world(grid), 5)
    where = tmp_path / "deep" / "pool"
    assert not is_kept(where, VERSION, "abc")
    made.save(where, "abc")
    assert is_kept(where, VERSION, "abc")
    assert not is_kept(where, VERSION, "abd")
    kept = load_cached_pool(where)
    for name in ("row", "psi"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(made, name))
    for name in ("kernel", "coordinates"):
        np.testing.assert_array_equal(getattr(kept.store, name), getattr(made.store, name))
    for name in ("judged", "auxiliary"):
        np.testing.assert_array_equal(getattr(kept.world, name), getattr(made.world, name))
    for name in ("features", "context", "affinity", "cost"):
        np.testing.assert_array_equal(getattr(kept.world.router, name), getattr(made.world.router, name))
    assert kept.world.router.routing == made.world.router.routing
    assert (kept.world.models, kept.world.precision) == (made.world.models, made.world.precision)
    assert list(kept.world.liking) == list(made.world.liking)
    for reward, liking in made.world.liking.items():
        np.testing.assert_array_equal(kept.world.liking[reward], liking)
    made.save(where, "other")
    assert is_kept(where, VERSION, "other")
    assert [path.name for path in where.parent.iterdir()] == ["pool"]


@pytest.mark.parametrize(
    ("read", "make", "kind", "rewards"),
    [
        (summaries.read_judged, summaries.make_world, "summaries", 2),
        (coding.read_patches, coding.make_world, "patches", 25),
        (chat.read_answers, chat.make_world, "answers", 1),
    ],
    ids=["summaries", "patches", "answers"],
)
def test_worlds_have_four_kinds_of_user_whose_liking_is_in_the_unit_interval(read, make, kind, rewards, place):
    grid = read(place / kind)
    world = make(grid)
    assert len(world.liking) == rewards
    for liking in world.liking.values():
        assert liking.shape == (len(grid.contexts), len(grid.models), 4)
        assert (liking >= 0).all()
        assert (liking <= 1 + 1e-12).all()
    assert (world.precision == 64) == (kind == "patches")
    again = make(read(place / kind))
    assert all((again.liking[reward] == world.liking[reward]).all() for reward in world.liking)
    assert (again.router.probabilities(0.5) == world.router.probabilities(0.5)).all()


# --- hard contexts, missing components ---


def test_hard_contexts_are_those_judged_worst(place):
    whole = summaries.read_judged(place / "summaries")
    hard = summaries.read_hard(place / "summaries", 4)
    names = ("faithfulness", "coverage", "clarity", "conciseness")
    mean = {
        context_id: np.mean([whole.components[name][at] for name in names])
        for at, context_id in enumerate(whole.context_ids)
    }
    assert set(hard.context_ids) == set(sorted(mean, key=mean.__getitem__)[:4])
    assert list(hard.context_ids) == sorted(hard.context_ids)
    for at, context_id in enumerate(hard.context_ids):
        before = whole.context_ids.index(context_id)
        assert hard.outputs[at] == whole.outputs[before]
        assert hard.contexts[at] == whole.contexts[before]
        assert hard.extras["reference"][at] == whole.extras["reference"][before]
        assert (hard.components["clarity"][at] == whole.components["clarity"][before]).all()
    assert hard.digest != whole.digest
    assert summaries.read_hard(place / "summaries", None).digest == whole.digest
    assert summaries.read_hard(place / "summaries", 12).digest == whole.digest


def a_grid(where, change):
    asked, given = make_rows(8, 3)
    for row in given:
        change(row)
    write_rows(where, asked, given)
    return where


def stand_in(row):
    row["conciseness_proxy"] = row.pop("conciseness") ** 2
    del row["unsupported_claims"]


def no_clarity(row):
    del row["clarity"]


def test_a_stand_in_counts_as_the_component_and_is_told(tmp_path):
    grid = summaries.read_judged(a_grid(tmp_path / "g", stand_in))
    told = summaries.about(grid)
    assert told[0] == "conciseness_proxy stands in for conciseness."
    assert "unsupported_claims is not counted" in told[1]
    assert len(told) == 2
    assert summaries.components(grid) == ("faithfulness", "coverage", "clarity", "conciseness")
    np.testing.assert_array_equal(summaries.scores(grid)[..., 3], grid.components["conciseness_proxy"])
    weight = [0.15, 0.15, 0.15, 0.55]
    wanted = summaries.scores(grid) @ weight
    np.testing.assert_allclose(summaries.make_world(grid).liking["smooth"][..., 3], wanted, **CLOSE)


def test_a_missing_component_is_told_and_the_others_take_its_weight(tmp_path):
    grid = summaries.read_judged(a_grid(tmp_path / "g", no_clarity))
    assert summaries.about(grid) == ("clarity is not judged; the other weights are scaled up to sum to one.",)
    part = grid.components
    wanted = (0.55 * part["faithfulness"] + 0.20 * part["coverage"] + 0.10 * part["conciseness"]) / 0.85
    np.testing.assert_allclose(summaries.make_world(grid).liking["smooth"][..., 0], wanted, **CLOSE)


def test_nothing_is_told_of_a_grid_with_everything(grid):
    assert summaries.about(grid) == ()


def test_claims_count_against_a_summary(tmp_path):
    def honest(row):
        row["unsupported_claims"] = 0

    write_grid(tmp_path / "a", 8, 3)
    base = summaries.make_world(summaries.read_judged(tmp_path / "a"))
    spared = summaries.make_world(summaries.read_judged(a_grid(tmp_path / "b", honest)))
    assert (spared.liking["sharpened"] >= base.liking["sharpened"]).all()
    assert (spared.liking["sharpened"] > base.liking["sharpened"]).any()
    assert (spared.liking["smooth"] == base.liking["smooth"]).all()


@pytest.mark.parametrize("claims", [None, -1])
def test_claims_that_are_not_counts_are_refused(tmp_path, claims):
    """They would make the liking of a summary NaN, or larger for having made things up."""

    def spoil(row):
        if row["context_id"] == "art-003":
            row["unsupported_claims"] = claims

    with pytest.raises(DataError, match="unsupported_claims"):
        summaries.read_judged(a_grid(tmp_path / "g", spoil))


# --- contests and scores ---

CELLS = tuple(
    Cell(confounding, n_log, size, reward)
    for confounding in (0.0, 0.9)
    for n_log in (100, 400)
    for size in (20, 60)
    for reward in ("smooth", "sharpened")
)


def cached(place, folder):
    grid = summaries.read_judged(place / "summaries")
    recipe = replace(summaries.summarization(grid, 10), longest_log=400, longest_experiment=60)
    return Cached(recipe, place / "summaries", grid.digest, folder / "pool")


def test_a_contest_puts_every_row_where_it_belongs(pool):
    """Log, experiment, replay and truth against the draws they are made of."""
    cell, seed = Cell(0.9, 300, 20, "sharpened"), 5
    contest = CachedRing(pool, 400, 60).contest(cell, seed)
    parts = split(12, 0.2, seed)
    log = draw_log(pool.world, cell, parts.train, 400, seed)
    trial = draw_experiment(pool.world, "sharpened", parts.train, 60, seed)
    sums = {}
    for x, a, y in zip(log.context, log.model, log.outcome, strict=True):
        sums.setdefault(int(pool.row[x, a]), []).append(y)
    rows = contest.sources.log
    assert list(rows.phi.index) == sorted(sums)
    np.testing.assert_array_equal(rows.weight, [len(sums[row]) for row in sorted(sums)])
    np.testing.assert_allclose(rows.outcome, [np.mean(sums[row]) for row in sorted(sums)], **CLOSE)
    np.testing.assert_array_equal(rows.psi, pool.psi[sorted(sums)])
    experiment = contest.sources.experiment
    wanted = [pool.row[x, a] for x, a in zip(trial.context, trial.model, strict=True)]
    for found in (experiment.phi.index, contest.experiment_row):
        np.testing.assert_array_equal(found, wanted)
    for name in ("context", "model", "outcome"):
        np.testing.assert_array_equal(getattr(experiment, name), getattr(trial, name))
    np.testing.assert_array_equal(contest.trained.row[contest.context, experiment.model, 0], wanted)
    np.testing.assert_array_equal(contest.held_out.row[:, :, 0], pool.row[parts.test])
    np.testing.assert_array_equal(contest.truth.q, pool.world.liking["sharpened"][parts.test].mean(axis=2))
    np.testing.assert_allclose(contest.truth.value, contest.truth.q.mean(axis=0), **CLOSE)
    assert not set(contest.held_out.row.ravel()) & {*rows.phi.index, *experiment.phi.index}


@pytest.fixture(scope="module")
def run(place, tmp_path_factory):
    """A folder and what one worker found in it."""
    folder = tmp_path_factory.mktemp("run")
    return folder, sweep(cached(place, folder), CELLS, range(2), PAPER_SIX, folder, 1, Bar(quiet=True))


def test_every_cell_seed_and_family_is_scored(run):
    scores = run[1]
    assert {one.key for one in scores} == {(c, s, f) for c in CELLS for s in range(2) for f in PAPER_SIX}
    for one in scores:
        assert one.benchmark == "summarization-summaries"
        assert 0 <= one.regret <= 1
        assert np.isfinite([one.rmse_context, one.rmse_model_direct, one.rmse_model_dr]).all()
        assert one.choice.penalty is not None


def test_single_sources_do_not_see_the_other(run):
    """Exactly, by construction of the draws; doubly robust values of ``obs-only`` do see the experiment."""
    metrics = ("regret", "rmse_context", "rmse_model_direct", "top1", "top3")
    by = {one.key: [getattr(one, metric) for metric in metrics] for one in run[1]}
    robust = {one.key: one.rmse_model_dr for one in run[1]}
    for cell in CELLS:
        for seed in range(2):
            assert by[cell, seed, "obs-only"] == by[replace(cell, n_experiment=20), seed, "obs-only"]
            other = replace(cell, n_log=100, confounding=0.0)
            for family in ("exp-only", "representation-exp"):
                assert by[cell, seed, family] == by[other, seed, family]
                assert robust[cell, seed, family] == robust[other, seed, family]
    first = CELLS[0]
    assert by[first, 0, "exp-only"] != by[replace(first, n_experiment=60), 0, "exp-only"]
    assert by[first, 0, "obs-only"] != by[replace(first, n_log=400), 0, "obs-only"]
    assert by[first, 0, "obs-only"] != by[replace(first, confounding=0.9), 0, "obs-only"]
    assert by[first, 0, "exp-only"] != by[first, 1, "exp-only"]
    assert by[first, 0, "exp-only"] != by[replace(first, reward="sharpened"), 0, "exp-only"]


def test_asking_for_less_or_all_at_once_gives_the_same_bits(place, run):
    """A task may hold any cells: a score depends on its own cell, seed and family alone."""
    folder, scores = run
    worker = cached(place, folder).open(folder)
    known = {one.key: replace(one, seconds=0.0) for one in scores}
    for family in PAPER_SIX:
        one = worker.run(Task("any", 1, ((CELLS[6], family),)))[0]
        assert replace(one, seconds=0.0) == known[one.key]
    mixed = worker.run(Task("any", 0, tuple((cell, "cvci") for cell in reversed(CELLS))))
    assert len(mixed) == len(CELLS)
    for one in mixed:
        assert replace(one, seconds=0.0) == known[one.key]


def test_workers_do_not_change_a_bit(place, run, tmp_path):
    cells = CELLS[: len(CELLS) // 2]  # two logs, so four tasks
    twice = sweep(cached(place, tmp_path), cells, range(2), PAPER_SIX, tmp_path, 2, Bar(quiet=True))
    assert digest(twice) == digest([one for one in run[1] if one.cell in cells])


def test_another_grid_or_constant_is_another_benchmark(place, run):
    benchmark = cached(place, run[0])
    others = [
        replace(benchmark, grid_digest="other"),
        replace(benchmark, recipe=replace(benchmark.recipe, proxies=3)),
        replace(benchmark, recipe=replace(benchmark.recipe, longest_log=500)),
        replace(benchmark, recipe=summaries.summarization(summaries.read_judged(place / "summaries"), 11)),
    ]
    assert len({one.constants for one in (benchmark, *others)}) == 5
    told = benchmark.constants
    for name in ("held_out", "buckets", "routing", "sharpening", "segments", "components", "left_out"):
        assert f'"{name}"' in told


def test_cells_are_those_of_the_paper():
    main, winners, values = summaries.main_cells(), summaries.map_cells(), summaries.value_cells()
    assert [len(set(cells)) for cells in (main, winners, values)] == [48, 24, 18]
    assert {cell.confounding for cell in main} == {0.0, 0.2, 0.5, 0.8, 0.9, 0.99}
    assert {(cell.n_log, cell.n_experiment) for cell in main} == {(n, m) for n in (2_000, 20_000) for m in (20, 200)}
    assert {(cell.n_log, cell.n_experiment) for cell in winners} == {(n, m) for n in (2_000, 20_000) for m in (20, 100)}
    assert {(cell.n_log, cell.n_experiment) for cell in values} == {(20_000, m) for m in (100, 200, 800)}
    assert {cell.reward for cell in (*winners, *values)} == {"smooth"}
    assert coding.coding_cells() == tuple(Cell(0.5, 2_000, 100, reward.name) for reward in REWARDS)
    assert len(set(chat.instruction_cells())) == 24


def test_one_odd_output_is_no_direction_of_its_own():
    """A flag on one of 500 outputs is 22 standard deviations out; cut at three, it cannot lead a direction alone."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((100, 5, 4))
    table[..., 3] = 0.0
    table[7, 2, 3] = 1.0
    odd = 7 * 5 + 2
    whole = compress(table, 4)
    assert np.abs(whole[odd]).max() > 20
    shares = np.abs(compress(table, 3)[odd])
    assert shares.max() < 10
