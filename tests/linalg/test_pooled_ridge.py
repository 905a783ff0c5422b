"""Pooled ridge on a factored log and an experiment against least squares on stacked rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from deconfound.design import DenseMatrix, FeatureMatrix
from deconfound.linalg import FactorizationLimits, PooledRidge, empty_source, factor
from deconfound.threads import one_blas_thread
from tests.support import naive
from tests.support.least_squares_problems import KINDS, LIMITS, random_problem

Wrap = Callable[[naive.Array], FeatureMatrix]


@pytest.mark.parametrize("limits", LIMITS.values(), ids=list(LIMITS))
@pytest.mark.parametrize("wrap", KINDS.values(), ids=list(KINDS))
@pytest.mark.parametrize(("rows", "columns"), [(40, 6), (12, 50)])
@pytest.mark.parametrize("extra", [4, 25], ids=["small experiment", "large experiment"])
@pytest.mark.parametrize("pooling", [0.0, 0.05, 0.5, 0.95, 1.0])
def test_one_factorization_serves_every_subset_pooling_and_penalty(
    limits: FactorizationLimits, wrap: Wrap, rows: int, columns: int, extra: int, pooling: float
) -> None:
    features, targets, weight = random_problem(rows, columns)
    other, other_targets, other_weight = random_problem(extra, columns, seed=1)
    normalized = weight / weight.sum()
    log = factor(wrap(features), targets[:, :1], normalized, wrap(other), 1e-2, limits)
    pooled = PooledRidge.from_log(log, wrap(other))
    for penalty in (1e-2, 1.0):
        system = pooled.system(pooling, penalty)
        for train in (np.arange(extra), np.arange(0, extra, 2), np.array([1])):
            solution = system.solve(other_targets[:, 0], other_weight, train)
            mixed = [pooling * normalized, (1 - pooling) * other_weight[train] / other_weight[train].sum()]
            coef, intercept = naive.least_squares(
                np.vstack([features, other[train]]),
                np.append(targets[:, 0], other_targets[train, 0]),
                np.concatenate(mixed),
                penalty,
            )
            np.testing.assert_allclose(system.predict(solution), other @ coef + intercept, rtol=0, atol=1e-8)
            linear = system.linear(solution)
            np.testing.assert_allclose(linear.coef, coef, rtol=0, atol=1e-8)
            assert linear.intercept == pytest.approx(intercept, abs=1e-8)


@pytest.mark.parametrize(("rows", "columns"), [(8, 20), (20, 8)], ids=["dual", "primal"])
def test_an_index_that_appears_twice_counts_twice(rows: int, columns: int) -> None:
    features, targets, weight = random_problem(rows, columns)
    matrix = DenseMatrix(features)
    system = PooledRidge.from_log(empty_source(matrix), matrix).system(0.0, 0.1)
    twice = system.predict(system.solve(targets[:, 0], weight, np.array([0, 1, 1, 2])))
    heavier = weight * np.where(np.arange(rows) == 1, 2, 1)
    once = system.predict(system.solve(targets[:, 0], heavier, np.array([0, 1, 2])))
    np.testing.assert_allclose(twice, once, atol=1e-10)


@pytest.mark.parametrize("columns", [6, 50], ids=["primal", "dual"])
def test_the_first_rows_of_an_experiment_are_fitted_without_another_factorization(columns: int) -> None:
    features, targets, weight = random_problem(30, columns)
    other, other_targets, other_weight = (part[:9] for part in random_problem(25, columns, seed=1))
    log = factor(DenseMatrix(features), targets[:, :1], weight / weight.sum(), DenseMatrix(other), 1e-2)
    whole = PooledRidge.from_log(log, DenseMatrix(other)).system(0.3, 0.1)
    start = PooledRidge.from_log(log, DenseMatrix(other)).first(4).system(0.3, 0.1)
    train = np.array([0, 2, 3])
    long, short = (system.solve(other_targets[:, 0], other_weight, train) for system in (whole, start))
    np.testing.assert_allclose(start.predict(short), whole.predict(long)[:4], rtol=0, atol=1e-12)
    np.testing.assert_allclose(start.linear(short).coef, whole.linear(long).coef, rtol=0, atol=1e-12)


@pytest.mark.parametrize("max_dense_kernel", [6000, 3], ids=["explicit", "implicit"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_basis_is_smaller_than_the_space_and_still_accurate(max_dense_kernel: int, kind: str) -> None:
    """Small shapes end in the full space; among 200 independent rows the Krylov basis must stop early."""
    rng = np.random.default_rng(2)
    features = rng.standard_normal((200, 220)) * (rng.random((200, 220)) < 0.2)
    other, train = features[:8] + 0.1, np.arange(5)
    targets, other_targets = rng.random(200), rng.random(8)
    limits = FactorizationLimits(max_eigh=3, max_dense_kernel=max_dense_kernel)
    wrap, equal = KINDS[kind], np.full(200, 1 / 200)
    with one_blas_thread():  # the dense least squares is thirty times slower on two BLAS threads
        log = factor(wrap(features), targets[:, None], equal, wrap(other), 1.0, limits)
        assert len(log.eigenvalues) < 130
        system = PooledRidge.from_log(log, wrap(other)).system(0.5, 1.0)
        solution = system.solve(other_targets, np.ones(8), train)
        weight = np.concatenate([0.5 * equal, np.full(5, 0.5 / 5)])
        coef, intercept = naive.least_squares(
            np.vstack([features, other[train]]), np.append(targets, other_targets[train]), weight, 1.0
        )
        np.testing.assert_allclose(system.predict(solution), other @ coef + intercept, rtol=0, atol=1e-9)
        np.testing.assert_allclose(system.linear(solution).coef, coef, rtol=0, atol=1e-9)
