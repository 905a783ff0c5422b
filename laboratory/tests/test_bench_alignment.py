"""How much of a target is explained is measured on contexts that the fit never saw."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from deconfound_bench.cached.alignment import (
    FEATURES,
    Aligned,
    alignment,
    alignment_table,
    read_alignment,
    write_alignment,
)
from deconfound_bench.cached.contests import HELD_OUT
from deconfound_bench.cached.draws import split
from deconfound_bench.cached.pool import CachedPool
from deconfound_bench.cached.router import Routing, make_router
from deconfound_bench.cached.world import World
from deconfound_bench.coding.recipe import make_world as make_patches
from deconfound_bench.coding.recipe import read_patches
from deconfound_bench.gram_rows import GramStore
from deconfound_bench.summarization.recipe import make_world, read_hard
from deconfound_bench.tables import to_text

from deconfound.errors import DataError
from laboratory.tests.support.grids import write_grid

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SEEDS = range(6)


def pool_of(liking, judged, psi):
    """A pool in which every cell is an output of its own and of which nothing but the world matters."""
    contexts, models = judged.shape[:2]
    router = make_router(np.zeros((contexts, 2)), np.zeros(models), 2, Routing(), 0)
    world = World(tuple(f"m{at}" for at in range(models)), liking, judged, judged, router)
    nothing = np.zeros((0, 0))
    return CachedPool(GramStore(nothing, nothing), np.arange(contexts * models).reshape(contexts, models), psi, world)


def pool_of_grid(world):
    return pool_of(world.liking, world.judged, np.random.default_rng(0).normal(size=(world.judged[..., 0].size, 3)))


@pytest.fixture
def pool():
    """The target is linear in two components and has noise on top under one of two rewards."""
    rng = np.random.default_rng(1)
    judged = rng.normal(size=(30, 5, 2))
    plain = judged @ np.array([0.3, -0.2]) + 0.4
    noisy = plain + rng.normal(0, 0.3, size=plain.shape)
    psi = np.hstack([judged[..., :1].reshape(-1, 1), rng.normal(size=(150, 2))])
    return pool_of({"plain": plain[..., None], "noisy": noisy[..., None]}, judged, psi)


def naive(x, y, contexts, seed):
    """R² by the normal equations, row by row."""
    parts = split(contexts, HELD_OUT, seed)
    rows = {name: [(x[c, m], y[c, m]) for c in at for m in range(y.shape[1])] for name, at in vars_of(parts).items()}
    design = np.array([[1.0, *features] for features, _ in rows["train"]])
    coef = np.linalg.inv(design.T @ design) @ design.T @ np.array([value for _, value in rows["train"]])
    held = np.array([value for _, value in rows["test"]])
    guess = np.array([coef[0] + features @ coef[1:] for features, _ in rows["test"]])
    return 1 - ((held - guess) ** 2).sum() / ((held - held.mean()) ** 2).sum()


def vars_of(parts):
    return {"train": parts.train, "test": parts.test}


def test_the_fits_are_those_of_a_naive_twin(pool):
    features = {
        "proxies": pool.psi[pool.row],
        "judged": pool.world.judged,
        "first judged": pool.world.judged[..., :1],
    }
    found = alignment(pool, SEEDS)
    assert [(one.reward, one.features) for one in found] == [(r, f) for r in ("plain", "noisy") for f in FEATURES]
    for one in found:
        twin = [naive(features[one.features], pool.world.q(one.reward), 30, seed) for seed in SEEDS]
        np.testing.assert_allclose(one.each, twin, rtol=0, atol=1e-9)
        assert one.r2.mean == pytest.approx(np.mean(twin), abs=1e-9)
        assert one.r2.error == pytest.approx(np.std(twin, ddof=1) / math.sqrt(len(twin)), abs=1e-9)
        assert one.median == pytest.approx(np.median(twin), abs=1e-9)


def test_proxies_are_looked_up_by_the_row_of_their_output(pool):
    order = np.random.default_rng(2).permutation(150)
    psi = np.empty_like(pool.psi)
    psi[order] = pool.psi
    moved = CachedPool(pool.store, order[pool.row], psi, pool.world)
    for one, other in zip(alignment(moved, SEEDS), alignment(pool, SEEDS), strict=True):
        np.testing.assert_allclose(one.each, other.each, atol=1e-12)


def test_a_linear_target_is_explained_fully_and_a_part_of_it_less(pool):
    found = {(one.reward, one.features): one for one in alignment(pool, SEEDS)}
    assert found["plain", "judged"].r2.mean == pytest.approx(1.0, abs=1e-12)
    assert found["plain", "first judged"].r2.mean < 0.9
    assert found["noisy", "judged"].r2.mean < 0.9


def test_a_constant_target_has_no_r2_and_harms_no_other(pool):
    liking = {**pool.world.liking, "still": np.full((30, 5, 1), 0.1) + 1e-17}
    found = alignment(pool_of(liking, pool.world.judged, pool.psi), SEEDS)
    still = [one for one in found if one.reward == "still"]
    assert all(math.isnan(r2) for one in still for r2 in one.each)
    assert all(math.isnan(one.r2.mean) and math.isnan(one.median) for one in still)
    for one, other in zip(found, alignment(pool, SEEDS), strict=False):
        np.testing.assert_allclose(one.each, other.each, atol=1e-12)  # a third target may change the order of a sum
    table = alignment_table("b", found)
    assert "In 6 of them some target is constant" in table.note
    assert "–" in to_text(table)


def test_a_seed_without_r2_is_left_out_of_the_mean():
    one = Aligned("a", "judged", (0, 1, 2), (0.5, math.nan, 0.7))
    assert one.r2.mean == pytest.approx(0.6)
    assert one.r2.error == pytest.approx(0.1)
    assert one.median == pytest.approx(0.6)


def test_the_table_has_a_row_a_reward(pool):
    table = alignment_table("coding-swe", alignment(pool, SEEDS))
    assert [row[0] for row in table.rows] == ["plain", "noisy"]
    assert table.columns[:3] == ("reward", "proxies", "proxies, median")
    assert "constant" not in table.note


def test_what_is_kept_comes_back_to_the_last_bit(pool, tmp_path):
    found = alignment(pool, SEEDS)
    path = write_alignment(tmp_path / "alignment.parquet", "coding-swe", found)
    assert read_alignment(path) == {"coding-swe": found}
    assert pq.read_schema(path).names == ["benchmark", "reward", "features", "seed", "r2"]
    again = write_alignment(tmp_path / "again.parquet", "coding-swe", alignment(pool, SEEDS))
    assert again.read_bytes() == path.read_bytes()


def test_a_missing_r2_comes_back_as_missing(tmp_path):
    kept = (Aligned("a", "judged", (0, 1), (0.5, math.nan)),)
    back = read_alignment(write_alignment(tmp_path / "a.parquet", "b", kept))["b"][0]
    assert back.each[0] == 0.5
    assert math.isnan(back.each[1])


def test_other_tables_are_refused(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_text("no table")
    with pytest.raises(DataError, match="cannot be read as a table"):
        read_alignment(path)
    kept = write_alignment(path, "b", (Aligned("a", "judged", (0,), (0.5,)),))
    pq.write_table(pq.read_table(kept).drop_columns(["r2"]), path)
    with pytest.raises(DataError, match="lacks the columns r2"):
        read_alignment(path)


def test_the_smooth_map_of_summaries_is_linear_in_its_rubric(tmp_path):
    write_grid(tmp_path, contexts=15, models=5)
    found = {
        (o.reward, o.features): o.r2 for o in alignment(pool_of_grid(make_world(read_hard(tmp_path, None))), SEEDS)
    }
    assert found["smooth", "judged"].mean == pytest.approx(1.0, abs=1e-9)
    assert found["sharpened", "judged"].mean < 0.99


def test_fix_success_explains_more_of_a_patch_the_more_it_weighs(tmp_path):
    write_grid(tmp_path, contexts=15, models=5, kind="coding")
    world = make_patches(read_patches(tmp_path))
    found = {(o.reward, o.features): o.r2.mean for o in alignment(pool_of_grid(world), SEEDS)}
    assert found["fix0-weakest0", "judged"] == pytest.approx(1.0, abs=1e-9)
    assert found["fix1-weakest0", "first judged"] > found["fix0.25-weakest0", "first judged"] + 0.1


@pytest.mark.skipif(not (DATA / "polytope").is_dir(), reason="the real grids are not here")
def test_real_summaries_are_linear_in_their_rubric_only_under_the_smooth_map():
    world = make_world(read_hard(DATA / "polytope", 48))
    found = {(o.reward, o.features): o.r2.mean for o in alignment(pool_of_grid(world), SEEDS)}
    assert found["smooth", "judged"] == pytest.approx(1.0, abs=1e-9)
    assert 0.5 < found["sharpened", "judged"] < 0.9
