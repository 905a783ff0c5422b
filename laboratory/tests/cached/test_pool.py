"""From a grid to a replication: statistics, proxies, the saved pool, and the environments of all tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.artifact_dir import is_current
from deconfound_bench.cached.draws import CachedSampler, draw_experiment, draw_log, split_contexts
from deconfound_bench.cached.environment import pca_proxies
from deconfound_bench.cached.observables import context_features, relative_cost, surface_statistics
from deconfound_bench.cached.pool import BUCKETS, POOL_VERSION, build_cached_pool, load_cached_pool
from deconfound_bench.hashed_pairs import hash_pairs
from deconfound_bench.results import Cell
from deconfound_bench.tasks.coding.spec import coding_environment, read_coding_grid
from deconfound_bench.tasks.instructions import instructions_environment, read_instructions_grid
from deconfound_bench.tasks.summarization import read_judged_grid, summarization_environment

from laboratory.tests.support.package_modifiers import package_modifiers

CLOSE = {"rtol": 0.0, "atol": 1e-12}

# --- proxies and context features ---


def test_proxies_are_standardized_orthogonal_and_without_constants():
    rng = np.random.default_rng(0)
    varying = rng.standard_normal((10, 7, 4)) * (1, 10, 1e-3, 1) + (5, 0, 0, 1e3)
    constant = np.full((10, 7, 1), 0.1)  # whose mean over 70 cells is not 0.1 to the last bit
    statistics = np.concatenate([varying, constant, varying[..., :1]], axis=2)
    psi = pca_proxies(statistics, 16)
    assert psi.shape == (70, 4)
    np.testing.assert_allclose(psi.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(psi.T @ psi / 70, np.eye(4), atol=1e-12)
    flat = varying.reshape(70, 4)
    residual = flat - flat.mean(axis=0)
    residual -= psi @ np.linalg.lstsq(psi, residual, rcond=None)[0]
    np.testing.assert_allclose(residual, 0.0, atol=1e-9)
    np.testing.assert_array_equal(pca_proxies(statistics, 2), psi[:, :2])
    largest = psi[np.abs(psi).argmax(axis=0), np.arange(4)]
    assert (largest > 0).all()
    assert pca_proxies(constant, 16).shape == (70, 0)


def test_the_first_proxy_has_the_largest_variance():
    """Three statistics are nearly equal and one differs: the first component is that of the three."""
    rng = np.random.default_rng(1)
    common, other = rng.standard_normal((2, 200))
    table = np.column_stack([common + 0.1 * rng.standard_normal(200) for _ in range(3)] + [other])
    first = pca_proxies(table.reshape(20, 10, 4), 1)[:, 0]
    assert abs(np.corrcoef(first, common)[0, 1]) > 0.99


def test_one_unusual_output_does_not_determine_a_leading_proxy():
    """A flag on one of 500 outputs is at 22 standard deviations; clipped at three, it loses its component."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((100, 5, 4))
    table[..., 3] = 0.0
    table[7, 2, 3] = 1.0
    unusual = 7 * 5 + 2
    assert np.abs(pca_proxies(table, 4)[unusual]).max() > 20
    assert np.abs(pca_proxies(table, 3)[unusual]).max() < 10


def test_context_features_are_standardized_and_without_constants():
    """Every text has three capitals in 30 letters, a constant whose mean over these texts has rounding error."""
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
def grid(grid_folder):
    return read_judged_grid(grid_folder / "summaries")


@pytest.fixture(scope="module")
def pool(grid):
    return build_cached_pool(grid, summarization_environment(grid), 16)


def test_equal_outputs_share_a_row_only_on_the_same_context(grid, pool):
    rows = {}
    for x, a in np.ndindex(12, 6):
        assert rows.setdefault((x, grid.outputs[x][a]), pool.row[x, a]) == pool.row[x, a]
    assert len(rows) <= 12 * 6 - 3
    assert pool.row[0, 0] == pool.row[0, 1] == pool.row[0, 4]
    assert pool.row[5, 2] == pool.row[5, 3]
    assert pool.row[7, 0] != pool.row[0, 0]
    assert sorted(set(rows.values())) == list(range(len(pool.store.kernel)))
    assert len(set(rows.values())) == len(rows)


def test_the_kernel_has_the_inner_products_of_the_texts(grid, pool):
    outputs = [output for row in grid.outputs for output in row]
    phi = hash_pairs(grid.contexts, outputs, np.repeat(np.arange(12), 6), BUCKETS).phi()
    row = pool.row.ravel()
    np.testing.assert_allclose(pool.store.kernel[np.ix_(row, row)], (phi @ phi.T).toarray(), **CLOSE)
    np.testing.assert_allclose(pool.store.coordinates @ pool.store.coordinates.T, pool.store.kernel, atol=1e-11)


def test_proxies_of_the_pool_are_those_of_the_grid(grid, pool):
    psi = pool.psi[pool.row].reshape(72, -1)
    np.testing.assert_allclose(psi, pca_proxies(surface_statistics(grid), 16), atol=1e-9)
    np.testing.assert_allclose(psi.T @ psi / 72, np.eye(psi.shape[1]), atol=1e-9)
    assert psi.shape[1] == 16


def test_costs_follow_the_lengths_of_outputs(grid):
    cost = relative_cost(grid)
    assert (cost.min(), cost.max()) == (0.0, 1.0)
    words = [np.mean([len(row[a].split()) for row in grid.outputs]) for a in range(6)]
    assert (np.argsort(cost) == np.argsort(words)).all()
    equal_lengths = replace(grid, outputs=tuple(("two words",) * 6 for _ in range(12)))
    assert (relative_cost(equal_lengths) == 0).all()


@pytest.mark.parametrize(
    ("kind", "read", "environment"),
    [
        ("summaries", read_judged_grid, summarization_environment),
        ("patches", read_coding_grid, coding_environment),
    ],
)
def test_a_saved_pool_is_loaded_to_the_last_bit(grid_folder, tmp_path, kind, read, environment):
    grid = read(grid_folder / kind)
    built = build_cached_pool(grid, environment(grid), 5)
    folder = tmp_path / "deep" / "pool"
    assert not is_current(folder, POOL_VERSION, "abc")
    built.save(folder, "abc")
    assert is_current(folder, POOL_VERSION, "abc")
    assert not is_current(folder, POOL_VERSION, "abd")
    loaded = load_cached_pool(folder)
    pairs = [
        (loaded, built, ("row", "psi", "modifiers")),
        (loaded.store, built.store, ("kernel", "coordinates")),
        (loaded.environment, built.environment, ("components", "statistics")),
        (loaded.environment.router, built.environment.router, ("features", "context_weights", "affinity", "cost")),
    ]
    for one, other, names in pairs:
        for name in names:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    one, other = loaded.environment, built.environment
    assert one.router.constants == other.router.constants
    assert (one.models, one.precision) == (other.models, other.precision)
    assert list(one.expected_outcome) == list(other.expected_outcome)
    for reward, expected in other.expected_outcome.items():
        np.testing.assert_array_equal(one.expected_outcome[reward], expected)
    built.save(folder, "other")
    assert is_current(folder, POOL_VERSION, "other")
    assert [path.name for path in folder.parent.iterdir()] == ["pool"]


def test_a_replication_agrees_with_the_draws_behind_it(pool):
    """Log, experiment, replay and truth, row by row."""
    cell, seed, environment = Cell(0.9, 300, 20, "sharpened"), 5, pool.environment
    replication = CachedSampler(pool, 400, 60).replication(cell, seed)
    contexts = split_contexts(12, 0.2, seed)
    log = draw_log(environment, cell, contexts.train, 400, seed)
    trial = draw_experiment(environment, "sharpened", contexts.train, 60, seed)
    outcomes = {}
    for x, a, y in zip(log.context, log.model, log.outcome, strict=True):
        outcomes.setdefault(int(pool.row[x, a]), []).append(y)
    rows = sorted(outcomes)
    assert list(replication.log.phi.index) == rows
    np.testing.assert_array_equal(replication.log.weight, [len(outcomes[row]) for row in rows])
    np.testing.assert_allclose(replication.log.outcome, [np.mean(outcomes[row]) for row in rows], **CLOSE)
    np.testing.assert_array_equal(replication.log.psi, pool.psi[rows])
    experiment = replication.experiment
    expected = [pool.row[x, a] for x, a in zip(trial.context, trial.model, strict=True)]
    for index in (experiment.phi.index, replication.experiment_row):
        np.testing.assert_array_equal(index, expected)
    for name in ("context", "model", "outcome"):
        np.testing.assert_array_equal(getattr(experiment, name), getattr(trial, name))
    np.testing.assert_array_equal(replication.train_replay.row[experiment.context, experiment.model, 0], expected)
    np.testing.assert_array_equal(replication.test_replay.row[:, :, 0], pool.row[contexts.test])
    truth = replication.truth
    np.testing.assert_array_equal(truth.q, environment.expected_outcome["sharpened"][contexts.test].mean(axis=2))
    np.testing.assert_allclose(truth.value, truth.q.mean(axis=0), **CLOSE)
    assert not set(replication.test_replay.row.ravel()) & {*replication.log.phi.index, *experiment.phi.index}


def test_effect_modifiers_of_a_replication_are_those_of_the_package(grid, pool):
    """A featurizer of the package, fitted to the drawn log as a table, gives every cell of the grid the same ones."""
    cell, seed = Cell(0.9, 300, 20, "smooth"), 5
    replication = CachedSampler(pool, 400, 60).replication(cell, seed)
    log = draw_log(pool.environment, cell, split_contexts(12, 0.2, seed).train, 400, seed)
    logged = [(grid.contexts[x], grid.outputs[x][a]) for x, a in zip(log.context, log.model, strict=True)]
    cells = [(grid.contexts[x], grid.outputs[x][a]) for x, a in np.ndindex(12, 6)]
    modifiers = replication.train_replay.modifiers
    np.testing.assert_allclose(modifiers[pool.row.ravel()], package_modifiers(logged, cells, BUCKETS), **CLOSE)
    np.testing.assert_array_equal(replication.test_replay.modifiers, modifiers)
    for rows in (replication.log, replication.experiment):
        np.testing.assert_array_equal(rows.modifiers, modifiers[rows.phi.index])
    square_norms = (replication.log.modifiers**2).sum(axis=1)
    assert replication.log.normalized_weight @ square_norms == pytest.approx(1.0)


# --- environments ---


@pytest.mark.parametrize(
    ("kind", "read", "make_environment", "rewards"),
    [
        ("summaries", read_judged_grid, summarization_environment, 2),
        ("patches", read_coding_grid, coding_environment, 25),
        ("answers", read_instructions_grid, instructions_environment, 1),
    ],
)
def test_every_task_has_four_types_of_users_with_expected_outcomes_in_the_unit_interval(
    kind, read, make_environment, rewards, grid_folder
):
    grid = read(grid_folder / kind)
    environment = make_environment(grid)
    assert len(environment.expected_outcome) == rewards
    for expected in environment.expected_outcome.values():
        assert expected.shape == (len(grid.contexts), len(grid.models), 4)
        assert (expected >= 0).all()
        assert (expected <= 1 + 1e-12).all()
    assert (environment.precision == 64) == (kind == "patches")
    again = make_environment(read(grid_folder / kind))
    for reward, expected in environment.expected_outcome.items():
        assert (again.expected_outcome[reward] == expected).all()
    assert (again.router.probabilities(0.5) == environment.router.probabilities(0.5)).all()
