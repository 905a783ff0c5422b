"""The cached benchmarks from a grid to a contest: what is seen, the pool, and worlds with all or some components."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.cached.contests import CachedRing
from deconfound_bench.cached.draws import draw_experiment, draw_log, split
from deconfound_bench.cached.pool import BUCKETS, VERSION, load_cached_pool, make_cached_pool
from deconfound_bench.cached.seen import context_features, lengths, surface_statistics
from deconfound_bench.cached.world import compress
from deconfound_bench.coding import recipe as coding
from deconfound_bench.instructions import recipe as chat
from deconfound_bench.kept import is_kept
from deconfound_bench.outputs import hash_pairs
from deconfound_bench.results import Cell
from deconfound_bench.summarization import recipe as summaries

from deconfound.errors import DataError
from laboratory.tests.support.grid_kinds import CLOSE
from laboratory.tests.support.grids import make_rows, write_grid, write_rows

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


# --- worlds ---


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
