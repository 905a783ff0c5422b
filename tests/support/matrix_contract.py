"""What every feature matrix must do, checked against the same rows as a plain array."""

from __future__ import annotations

import numpy as np

from deconfound.design import FeatureMatrix, FloatArray

ATOL = 1e-10


def check_products(matrix: FeatureMatrix, array: FloatArray) -> None:
    """Shape, entries, products and norms; needs more than one row."""
    rng = np.random.default_rng(0)
    rows, columns = array.shape
    assert isinstance(matrix, FeatureMatrix)
    assert matrix.shape == (rows, columns)
    assert matrix.all_finite()
    close(matrix.toarray(), array)
    right, left = rng.standard_normal(columns), rng.standard_normal(rows)
    close(matrix @ right, array @ right)
    close(matrix @ np.column_stack([right, -right]), array @ np.column_stack([right, -right]))
    close(matrix.transposed_product(left), array.T @ left)
    close(matrix.transposed_product(np.column_stack([left, -left])), array.T @ np.column_stack([left, -left]))
    close(matrix.mean_row(), array.mean(axis=0))
    close(matrix.squared_row_norms(), (array**2).sum(axis=1))


def check_inner_products(matrix: FeatureMatrix, array: FloatArray) -> None:
    """Inner products, also as an operator and as eigenpairs, and covariances."""
    rng = np.random.default_rng(1)
    some = np.arange(0, len(array), 2)
    close(matrix.inner_products(matrix.take(some)), array @ array[some].T)
    product = matrix.inner_products(matrix)
    product += 1.0  # the caller may change the result
    close(matrix.inner_products(matrix), array @ array.T)
    block = rng.standard_normal((len(array), 3))
    operator = matrix.gram_operator()
    close(operator.apply(block), array @ (array.T @ block))
    assert operator.panel_columns >= 1
    values, vectors = matrix.weighted_eigh(np.ones((len(array), 1)), lambda: matrix.inner_products(matrix))
    close((vectors * values) @ vectors.T, array @ array.T)
    weight, targets = rng.dirichlet(np.ones(len(array))), rng.standard_normal((len(array), 2))
    actual = matrix.weighted_covariance(weight, targets - weight @ targets)
    joint = np.cov(np.column_stack([array, targets]).T, aweights=weight, ddof=0)
    close(actual.mean, weight @ array)
    close(actual.covariance, joint[: array.shape[1], : array.shape[1]])
    close(actual.cross_covariance, joint[: array.shape[1], array.shape[1] :])


def check_selection(matrix: FeatureMatrix, array: FloatArray) -> None:
    """Taking, stacking and comparing rows."""
    index = np.array([3, 0, 3, 1])
    taken = matrix.take(index)
    close(taken.toarray(), array[index])
    close(matrix.take(slice(1, 4)).toarray(), array[1:4])
    close(matrix.stack([taken, taken]).toarray(), np.vstack([array, array[index], array[index]]))
    assert taken.rows_differ(np.array([0, 0, 1]), np.array([2, 1, 3])).tolist() == [False, True, True]
    projection = taken.random_projection(seed=5)
    assert projection[0] == projection[2] == matrix.random_projection(seed=5)[3]
    assert len(np.unique(projection)) == 3
    assert not np.array_equal(projection, taken.random_projection(seed=6))
    assert {0, 2} <= set(taken.possible_duplicates())


def close(actual: FloatArray, expected: FloatArray) -> None:
    """Equal up to rounding, and an array of floats."""
    assert actual.dtype == np.float64
    np.testing.assert_allclose(actual, expected, rtol=0, atol=ATOL)
