"""The R² of a target is computed on contexts that the fit was not trained on."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from deconfound_bench.cached.draws import HELD_OUT_SHARE, split_contexts
from deconfound_bench.cached.environment import Environment
from deconfound_bench.cached.pool import CachedPool
from deconfound_bench.cached.router import RouterConstants, make_router
from deconfound_bench.cached.target_r2 import (
    FEATURE_SETS,
    TargetFit,
    fit_targets,
    read_target_fits,
    target_r2_table,
    write_target_fits,
)
from deconfound_bench.gram_rows import GramStore
from deconfound_bench.score_tables import to_text
from deconfound_bench.tasks.coding.spec import coding_environment, read_coding_grid
from deconfound_bench.tasks.summarization import read_hardest_contexts, summarization_environment

from deconfound.errors import DataError
from laboratory.tests.support.grids import write_grid

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
SEEDS = range(6)


def example_pool(expected, components, psi):
    """A pool of distinct outputs without text features, which the R² does not use."""
    contexts, models = components.shape[:2]
    router = make_router(np.zeros((contexts, 2)), np.zeros(models), 2, RouterConstants(), 0)
    environment = Environment(tuple(f"m{at}" for at in range(models)), expected, components, components, router)
    empty, row = np.zeros((0, 0)), np.arange(contexts * models).reshape(contexts, models)
    return CachedPool(GramStore(empty, empty), row, psi, np.zeros((row.size, 0)), environment)


def pool_with_random_proxies(environment):
    components = environment.components
    psi = np.random.default_rng(0).normal(size=(components[..., 0].size, 3))
    return example_pool(environment.expected_outcome, components, psi)


def r2_by_key(environment):
    fits = fit_targets(pool_with_random_proxies(environment), SEEDS)
    return {(fit.reward, fit.features): fit.mean_r2.mean for fit in fits}


@pytest.fixture
def pool():
    """The target is linear in two components; under one of two rewards it also has noise."""
    rng = np.random.default_rng(1)
    judged = rng.normal(size=(30, 5, 2))
    plain = judged @ np.array([0.3, -0.2]) + 0.4
    noisy = plain + rng.normal(0, 0.3, size=plain.shape)
    psi = np.hstack([judged[..., :1].reshape(-1, 1), rng.normal(size=(150, 2))])
    return example_pool({"plain": plain[..., None], "noisy": noisy[..., None]}, judged, psi)


def naive_r2(x, y, contexts, seed):
    """R² by the normal equations, row by row."""
    parts = split_contexts(contexts, HELD_OUT_SHARE, seed)
    by_part = {"train": parts.train, "test": parts.test}
    rows = {name: [(x[c, m], y[c, m]) for c in part for m in range(y.shape[1])] for name, part in by_part.items()}
    design = np.array([[1.0, *features] for features, _ in rows["train"]])
    coef = np.linalg.inv(design.T @ design) @ design.T @ np.array([value for _, value in rows["train"]])
    target = np.array([value for _, value in rows["test"]])
    prediction = np.array([coef[0] + features @ coef[1:] for features, _ in rows["test"]])
    return 1 - ((target - prediction) ** 2).sum() / ((target - target.mean()) ** 2).sum()


def test_the_r2_agrees_with_a_naive_computation(pool):
    features = {
        "proxies": pool.psi[pool.row],
        "judged": pool.environment.components,
        "first judged": pool.environment.components[..., :1],
    }
    fits = fit_targets(pool, SEEDS)
    assert [(one.reward, one.features) for one in fits] == [(r, f) for r in ("plain", "noisy") for f in FEATURE_SETS]
    for one in fits:
        naive = [naive_r2(features[one.features], pool.environment.target(one.reward), 30, seed) for seed in SEEDS]
        np.testing.assert_allclose(one.r2_by_seed, naive, rtol=0, atol=1e-9)
        assert one.mean_r2.mean == pytest.approx(np.mean(naive), abs=1e-9)
        expected_se = np.std(naive, ddof=1) / math.sqrt(len(naive))
        assert one.mean_r2.standard_error == pytest.approx(expected_se, abs=1e-9)
        assert one.median_r2 == pytest.approx(np.median(naive), abs=1e-9)


def test_proxies_are_found_by_the_row_of_their_output(pool):
    order = np.random.default_rng(2).permutation(150)
    psi = np.empty_like(pool.psi)
    psi[order] = pool.psi
    moved = replace(pool, row=order[pool.row], psi=psi)
    for one, other in zip(fit_targets(moved, SEEDS), fit_targets(pool, SEEDS), strict=True):
        np.testing.assert_allclose(one.r2_by_seed, other.r2_by_seed, atol=1e-12)


def test_a_linear_target_is_explained_fully_by_all_its_components_only(pool):
    fits = {(one.reward, one.features): one for one in fit_targets(pool, SEEDS)}
    assert fits["plain", "judged"].mean_r2.mean == pytest.approx(1.0, abs=1e-12)
    assert fits["plain", "first judged"].mean_r2.mean < 0.9
    assert fits["noisy", "judged"].mean_r2.mean < 0.9


def test_a_constant_target_has_no_r2_and_does_not_affect_the_others(pool):
    expected = {**pool.environment.expected_outcome, "constant": np.full((30, 5, 1), 0.1) + 1e-17}
    fits = fit_targets(example_pool(expected, pool.environment.components, pool.psi), SEEDS)
    constant = [one for one in fits if one.reward == "constant"]
    assert all(math.isnan(r2) for one in constant for r2 in one.r2_by_seed)
    assert all(math.isnan(one.mean_r2.mean) and math.isnan(one.median_r2) for one in constant)
    for one, other in zip(fits, fit_targets(pool, SEEDS), strict=False):
        np.testing.assert_allclose(
            one.r2_by_seed, other.r2_by_seed, atol=1e-12
        )  # a third target may change the order of a sum
    table = target_r2_table("b", fits)
    assert "In 6 of them some target is constant" in table.note
    assert "–" in to_text(table)


def test_a_seed_without_r2_is_omitted_from_mean_and_median():
    one = TargetFit("a", "judged", (0, 1, 2), (0.5, math.nan, 0.7))
    assert one.mean_r2.mean == pytest.approx(0.6)
    assert one.mean_r2.standard_error == pytest.approx(0.1)
    assert one.median_r2 == pytest.approx(0.6)


def test_the_table_has_one_row_per_reward(pool):
    table = target_r2_table("coding-swe", fit_targets(pool, SEEDS))
    assert [row[0] for row in table.rows] == ["plain", "noisy"]
    assert table.columns[:3] == ("reward", "proxies", "proxies, median")
    assert "constant" not in table.note


def test_saved_fits_are_read_back_to_the_last_bit(pool, tmp_path):
    fits = fit_targets(pool, SEEDS)
    path = write_target_fits(tmp_path / "alignment.parquet", "coding-swe", fits)
    assert read_target_fits(path) == {"coding-swe": fits}
    assert pq.read_schema(path).names == ["benchmark", "reward", "features", "seed", "r2"]
    again = write_target_fits(tmp_path / "again.parquet", "coding-swe", fit_targets(pool, SEEDS))
    assert again.read_bytes() == path.read_bytes()


def test_an_undefined_r2_is_read_back_as_undefined(tmp_path):
    fits = (TargetFit("a", "judged", (0, 1), (0.5, math.nan)),)
    back = read_target_fits(write_target_fits(tmp_path / "a.parquet", "b", fits))["b"][0]
    assert back.r2_by_seed[0] == 0.5
    assert math.isnan(back.r2_by_seed[1])


def test_other_tables_are_rejected(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_text("not a table")
    with pytest.raises(DataError, match="cannot be read as a table"):
        read_target_fits(path)
    written = write_target_fits(path, "b", (TargetFit("a", "judged", (0,), (0.5,)),))
    pq.write_table(pq.read_table(written).drop_columns(["r2"]), path)
    with pytest.raises(DataError, match="the columns r2 are missing"):
        read_target_fits(path)


def test_the_smooth_map_of_summaries_is_linear_in_its_components(tmp_path):
    write_grid(tmp_path, contexts=15, models=5)
    r2 = r2_by_key(summarization_environment(read_hardest_contexts(tmp_path, None)))
    assert r2["smooth", "judged"] == pytest.approx(1.0, abs=1e-9)
    assert r2["sharpened", "judged"] < 0.99


def test_fix_success_explains_more_the_larger_its_weight(tmp_path):
    write_grid(tmp_path, contexts=15, models=5, kind="coding")
    r2 = r2_by_key(coding_environment(read_coding_grid(tmp_path)))
    assert r2["fix0-weakest0", "judged"] == pytest.approx(1.0, abs=1e-9)
    assert r2["fix1-weakest0", "first judged"] > r2["fix0.25-weakest0", "first judged"] + 0.1


@pytest.mark.skipif(not (DATA / "polytope").is_dir(), reason="the real grids are not on this machine")
def test_real_summaries_are_linear_in_their_components_only_under_the_smooth_map():
    r2 = r2_by_key(summarization_environment(read_hardest_contexts(DATA / "polytope", 48)))
    assert r2["smooth", "judged"] == pytest.approx(1.0, abs=1e-9)
    assert 0.5 < r2["sharpened", "judged"] < 0.9
