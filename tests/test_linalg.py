"""Ridge systems against plain least squares, at the edges where kernels break."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from deconfound.linalg import (
    PooledRidge,
    block_lanczos,
    empty_source,
    factor,
    factorization,
    moments,
    parallel_map,
    ridge,
    threads,
)
from deconfound.linalg.moments import Moments
from deconfound.reward import Cvci, TrainingData
from tests.support import naive
from tests.support.random_rows import Shape, make

AGREE = 1e-10
LIMITS = [(1500, 6000), (3, 6000), (3, 3), (1500, 3)]


@pytest.fixture(params=LIMITS, ids=["exact", "krylov", "krylov-implicit", "exact-dual"])
def _limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    exact, explicit = request.param
    monkeypatch.setattr(factorization, "EXACT", exact)
    monkeypatch.setattr(factorization, "EXPLICIT", explicit)


def _random(rows: int, columns: int, seed: int = 0) -> tuple[naive.Array, naive.Array, naive.Array]:
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((rows, columns)),
        rng.standard_normal((rows, 3)),
        rng.integers(1, 5, rows).astype(np.float64),
    )


@pytest.mark.usefixtures("_limits")
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(("rows", "columns"), [(40, 6), (12, 50), (10, 10), (1, 4), (5, 1)])
@pytest.mark.parametrize("penalty", [1e-3, 1.0, 1e4])
def test_ridge_equals_least_squares_on_stacked_rows(rows: int, columns: int, penalty: float, stored: Any) -> None:
    features, targets, weight = _random(rows, columns)
    several = ridge(stored(features), targets, penalty, weight)
    for at in range(3):
        coef, intercept = naive.least_squares(features, targets[:, at], weight, penalty)
        single = ridge(stored(features), targets[:, at], penalty, weight)
        for found in (several.coef[:, at], single.coef):
            np.testing.assert_allclose(found, coef, rtol=0, atol=1e-9)
        assert single.intercept == pytest.approx(intercept, abs=1e-9)
        np.testing.assert_allclose(several(stored(features))[:, at], features @ coef + intercept, atol=1e-9)


@pytest.mark.usefixtures("_limits")
def test_ridge_copes_with_collinear_constant_and_empty_columns() -> None:
    features, targets, weight = _random(30, 4)
    features = np.column_stack([features, features[:, 0], np.full(30, 7.0), np.zeros(30)])
    for stored in (features, sparse.csr_matrix(features)):
        found = ridge(stored, targets[:, 0], 0.5, weight)
        coef, intercept = naive.least_squares(features, targets[:, 0], weight, 0.5)
        np.testing.assert_allclose(found.coef, coef, rtol=0, atol=AGREE)
        assert found.intercept == pytest.approx(intercept, abs=1e-9)


@pytest.mark.usefixtures("_limits")
@pytest.mark.parametrize(("rows", "columns"), [(20, 5), (5, 20)])
def test_a_constant_target_is_all_intercept(rows: int, columns: int) -> None:
    """Rounding may leave nothing at all of a centred constant, and a basis must not be built on nothing."""
    features, _, _ = _random(rows, columns)
    for constant in (0.0, 0.5, 0.4):
        found = ridge(features, np.full(rows, constant), 1.0)
        assert np.abs(found.coef).max() < 1e-12
        assert found.intercept == pytest.approx(constant, abs=1e-12)


@pytest.mark.usefixtures("_limits")
@pytest.mark.parametrize(("rows", "columns"), [(40, 6), (12, 50)])
@pytest.mark.parametrize("extra", [4, 25], ids=["small experiment", "large experiment"])
@pytest.mark.parametrize("pooling", [0.0, 0.05, 0.5, 0.95, 1.0])
def test_one_factorization_serves_every_subset_pooling_and_penalty(
    rows: int, columns: int, extra: int, pooling: float
) -> None:
    features, targets, weight = _random(rows, columns)
    other, goals, heft = _random(extra, columns, seed=1)
    side = factor(features, targets[:, :1], weight / weight.sum(), seen=other, smallest=1e-2)
    pooled = PooledRidge.of(side, other)
    for penalty in (1e-2, 1.0):
        system = pooled.at(pooling, penalty)
        for train in (np.arange(extra), np.arange(0, extra, 2), np.array([1])):
            solution = system.solve(goals[:, 0], heft, train)
            mixed = np.concatenate([pooling * weight / weight.sum(), (1 - pooling) * heft[train] / heft[train].sum()])
            coef, intercept = naive.least_squares(
                np.vstack([features, other[train]]), np.append(targets[:, 0], goals[train, 0]), mixed, penalty
            )
            np.testing.assert_allclose(system.predict(solution), other @ coef + intercept, rtol=0, atol=1e-8)
            linear = system.linear(solution)
            np.testing.assert_allclose(linear.coef, coef, rtol=0, atol=1e-8)


def test_an_index_taken_twice_counts_twice() -> None:
    features, targets, weight = _random(8, 20)
    system = PooledRidge.of(empty_source(features), features).at(0.0, 0.1)
    twice = system.predict(system.solve(targets[:, 0], weight, np.array([0, 1, 1, 2])))
    heavier = weight * np.where(np.arange(8) == 1, 2, 1)
    np.testing.assert_allclose(
        twice, system.predict(system.solve(targets[:, 0], heavier, np.array([0, 1, 2]))), atol=AGREE
    )


@given(
    cut=st.integers(1, 29),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([1e-3, 1.0, 1e4]),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_moments_of_two_parts_merge_into_the_moments_of_the_whole(cut: int, seed: int, scale: float) -> None:
    features, targets, weight = _random(30, 4, seed)
    features = scale * features + scale
    whole = Moments.of(features, targets, weight)
    parts = [Moments.of(features[s], targets[s], weight[s]) for s in (slice(None, cut), slice(cut, None))]
    for merged in (parts[0].merge(parts[1]), parts[1].merge(parts[0])):
        assert merged.weight == whole.weight
        for name in ("mean", "target", "gram", "cross"):
            size = np.abs(getattr(whole, name)).max()
            np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=0, atol=1e-11 * size)


def test_moments_are_the_weighted_covariances() -> None:
    features, targets, weight = _random(50, 4)
    for stored in (features, sparse.csr_matrix(features)):
        found = Moments.of(stored, targets, weight)
        joint = np.cov(np.column_stack([features, targets]).T, aweights=weight, ddof=0)
        np.testing.assert_allclose(found.gram, joint[:4, :4], atol=1e-12)
        np.testing.assert_allclose(found.cross, joint[:4, 4:], atol=1e-12)
        np.testing.assert_allclose(found.mean, np.average(features, axis=0, weights=weight), atol=1e-12)
        np.testing.assert_allclose(found.target, np.average(targets, axis=0, weights=weight), atol=1e-12)


def test_tiles_cover_every_row_and_neither_tiles_nor_threads_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    features, targets, weight = _random(500, 4)
    whole = Moments.of(features, targets, weight)
    monkeypatch.setattr(moments, "TILE_ROWS", 37)
    tiled = []
    for count in (1, 2, 5):
        monkeypatch.setattr(threads, "thread_count", lambda count=count: count)
        tiled.append(Moments.of(features, targets, weight))
    np.testing.assert_allclose(tiled[0].gram, whole.gram, atol=1e-12)
    assert len({part.gram.tobytes() for part in tiled}) == 1
    assert len({part.cross.tobytes() for part in tiled}) == 1


def test_threads_return_results_in_the_order_of_their_items() -> None:
    assert parallel_map(lambda item: item * item, range(50)) == [item * item for item in range(50)]
    assert parallel_map(lambda item: item, []) == []


def test_ritz_pairs_solve_the_shifted_system_they_were_built_for() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((80, 60)) * np.logspace(0, -3, 60)
    operator, start = root @ root.T, rng.standard_normal((80, 2))
    values, vectors = block_lanczos.lanczos_eigenpairs(lambda block: operator @ block, start, 0.5)
    assert len(values) < 60
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-12)
    for shift in (0.5, 3.0):
        inside = vectors @ ((vectors.T @ start) / (values + shift)[:, None])
        exact = np.linalg.solve(operator + shift * np.eye(80), start)
        np.testing.assert_allclose(inside, exact, rtol=0, atol=1e-9)


def test_ritz_of_nothing_is_an_empty_basis() -> None:
    values, vectors = block_lanczos.lanczos_eigenpairs(lambda block: block, np.zeros((7, 2)), 1.0)
    assert values.shape == (0,)
    assert vectors.shape == (7, 0)


@pytest.mark.parametrize("explicit", [6000, 3], ids=["explicit", "implicit"])
@pytest.mark.parametrize("stored", [False, True], ids=["dense", "sparse"])
def test_a_truncated_basis_is_smaller_than_the_space_and_still_exact(
    explicit: int, stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small shapes end in the full space; among 280 independent rows the Krylov basis must stop early."""
    monkeypatch.setattr(factorization, "EXACT", 3)
    monkeypatch.setattr(factorization, "EXPLICIT", explicit)
    shape = Shape(features=300, unique=400, log=500, experiment=8, models=2, spread=0.2, sparse=stored)
    pair = make(shape, seed=2)
    sizes: list[int] = []
    real = block_lanczos.lanczos_eigenpairs

    def measured(*arguments: Any) -> Any:
        values, vectors = real(*arguments)
        sizes.append(len(values))
        return values, vectors

    monkeypatch.setattr(factorization, "lanczos_eigenpairs", measured)
    candidate, train = Cvci(0.5, 1.0), np.arange(5)
    prepared = Cvci.prepare(TrainingData(pair.log, pair.experiment), [candidate])
    twin = naive.predict(candidate, pair.log, pair.experiment.take(train), pair.experiment)
    np.testing.assert_allclose(prepared.predict(candidate, [train])[0], twin, rtol=0, atol=1e-9)
    assert max(sizes) < 200
    fit, whole = prepared.fit(candidate, train), pair.experiment.take(train)
    for rows in (pair.log, pair.fresh):
        twin = naive.predict(candidate, pair.log, whole, rows)
        np.testing.assert_allclose(fit.predict(rows), twin, rtol=0, atol=1e-9)
