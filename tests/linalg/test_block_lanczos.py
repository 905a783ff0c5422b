"""Block Lanczos: the basis solves the shifted systems it is built for and stops early."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.linalg.block_lanczos import INNER_PRODUCTS, TILE_ROWS, lanczos_eigenpairs
from tests.support import naive


@pytest.fixture
def problem() -> tuple[naive.Array, naive.Array]:
    """An operator (80, 80) of rank 60 over six decades, and a start block of two vectors."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((80, 60)) * np.logspace(0, -3, 60)
    return root @ root.T, rng.standard_normal((80, 2))


def test_ritz_pairs_solve_the_shifted_systems_they_were_built_for(problem: tuple[naive.Array, naive.Array]) -> None:
    operator, start = problem
    values, vectors = lanczos_eigenpairs(lambda block: operator @ block, start, 0.5)
    assert len(values) < 60
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-12)
    for shift in (0.5, 3.0):
        inside = vectors @ ((vectors.T @ start) / (values + shift)[:, None])
        exact = np.linalg.solve(operator + shift * np.eye(80), start)
        np.testing.assert_allclose(inside, exact, rtol=0, atol=1e-9)


def test_a_smaller_basis_suffices_for_inner_products(problem: tuple[naive.Array, naive.Array]) -> None:
    """The error of inner products is about the square of the residual, here (1e-4 / 0.5)^2 times the start block."""
    operator, start = problem
    full, _ = lanczos_eigenpairs(lambda block: operator @ block, start, 0.5)
    values, vectors = lanczos_eigenpairs(lambda block: operator @ block, start, 0.5, INNER_PRODUCTS)
    assert len(values) < len(full)
    projected = vectors.T @ start
    exact = start.T @ np.linalg.solve(operator + 0.5 * np.eye(80), start)
    np.testing.assert_allclose((projected.T / (values + 0.5)) @ projected, exact, rtol=0, atol=1e-7)


def test_a_zero_start_gives_an_empty_basis() -> None:
    values, vectors = lanczos_eigenpairs(lambda block: block, np.zeros((7, 2)), 1.0)
    assert values.shape == (0,)
    assert vectors.shape == (7, 0)


def test_more_rows_than_one_tile_give_the_same_pairs() -> None:
    """A diagonal operator with five distinct eigenvalues: the basis of one vector has five directions."""
    size = TILE_ROWS + 7
    diagonal = 1.0 + np.arange(size) % 5
    values, vectors = lanczos_eigenpairs(lambda block: diagonal[:, None] * block, np.ones((size, 1)), 1e-3)
    np.testing.assert_allclose(values, [1.0, 2.0, 3.0, 4.0, 5.0], atol=1e-10)
    np.testing.assert_allclose(diagonal[:, None] * vectors, vectors * values, atol=1e-9)
