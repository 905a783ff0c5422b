"""Several systems by conjugate gradients, against direct solutions."""

from __future__ import annotations

import numpy as np

from deconfound.linalg.conjugate_gradients import conjugate_gradients


def systems(seed: int, size: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(count, size, size))
    return roots @ roots.transpose(0, 2, 1) + np.eye(size), rng.normal(size=(size, count))


def solve(matrices: np.ndarray, right: np.ndarray, max_iterations: int) -> np.ndarray | None:
    nearby = np.linalg.inv(matrices.mean(axis=0))
    return conjugate_gradients(
        lambda block: np.einsum("cij,jc->ic", matrices, block),
        lambda block: nearby @ block,
        right,
        1e-12,
        max_iterations,
    )


def test_every_column_is_solved_with_its_own_matrix():
    matrices, right = systems(0, 30, 4)
    expected = np.stack([np.linalg.solve(matrix, column) for matrix, column in zip(matrices, right.T, strict=True)], 1)
    np.testing.assert_allclose(solve(matrices, right, 500), expected, atol=1e-8)


def test_a_column_of_zeros_is_solved_by_zeros():
    matrices, right = systems(1, 10, 2)
    right[:, 1] = 0.0
    np.testing.assert_array_equal(solve(matrices, right, 200)[:, 1], 0.0)


def test_an_unfinished_solution_is_none():
    matrices, right = systems(2, 30, 3)
    assert solve(matrices, right, 3) is None
