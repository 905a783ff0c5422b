"""Arrowhead systems against the same matrices written out."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.linalg.arrowhead import Arrowhead, sum_arrowheads


def arrowhead(
    seed: int, models: int = 4, shared: int = 9, own: int = 3, rows: int = 60
) -> tuple[Arrowhead, np.ndarray]:
    """Sums of outer products of rows that have a model each, and the rows written out."""
    rng = np.random.default_rng(seed)
    common, effects, model = (
        rng.normal(size=(rows, shared)),
        rng.normal(size=(rows, own)),
        rng.integers(models, size=rows),
    )
    written = np.zeros((rows, models, own))
    written[np.arange(rows), model] = effects
    of_model = [np.flatnonzero(model == code) for code in range(models)]
    borders = np.stack([common[at].T @ effects[at] for at in of_model])
    corners = np.stack([effects[at].T @ effects[at] for at in of_model])
    return Arrowhead(common.T @ common, borders, corners), np.hstack([common, written.reshape(rows, -1)])


@pytest.mark.parametrize("models", [1, 4])
def test_an_arrowhead_is_the_gram_matrix_of_rows_with_one_model_each(models):
    matrix, rows = arrowhead(0, models)
    np.testing.assert_allclose(matrix.toarray(), rows.T @ rows, atol=1e-12)
    assert matrix.size == rows.shape[1]


def test_solutions_and_determinants_are_those_of_the_whole_matrix():
    matrix, _ = arrowhead(1)
    root = np.random.default_rng(2).uniform(0, 2, matrix.size)
    root[[0, 10]] = 0.0  # a component without variance
    system = matrix.scaled(root).plus_identity()
    written = root[:, None] * matrix.toarray() * root + np.eye(matrix.size)
    np.testing.assert_allclose(system.toarray(), written, atol=1e-12)
    factored, inverse = system.factor(), np.linalg.inv(written)
    right = np.random.default_rng(3).normal(size=(matrix.size, 5))
    np.testing.assert_allclose(factored.solve(right), inverse @ right, atol=1e-10)
    np.testing.assert_allclose(factored.solve(right[:, 0]), inverse @ right[:, 0], atol=1e-10)
    np.testing.assert_allclose(factored.inverse_diagonal(), np.diag(inverse), atol=1e-12)
    np.testing.assert_allclose(factored.inverse(), inverse, atol=1e-12)
    assert factored.log_determinant == pytest.approx(np.linalg.slogdet(written)[1], abs=1e-10)


def test_without_models_it_is_an_ordinary_matrix():
    shared = arrowhead(4)[0].shared
    system = Arrowhead(shared, np.empty((0, 9, 3)), np.empty((0, 3, 3))).plus_identity()
    np.testing.assert_allclose(system.factor().solve(np.ones(9)), np.linalg.solve(shared + np.eye(9), np.ones(9)))
    np.testing.assert_allclose(system.factor().inverse_diagonal(), np.diag(np.linalg.inv(shared + np.eye(9))))
    np.testing.assert_allclose(system.factor().inverse(), np.linalg.inv(shared + np.eye(9)), atol=1e-12)


def test_sums_of_two_parts_are_those_of_all_rows():
    matrices, rows = zip(*(arrowhead(seed) for seed in (5, 6, 7)), strict=True)
    together = np.vstack(rows)
    np.testing.assert_allclose(sum_arrowheads(matrices).toarray(), together.T @ together, atol=1e-11)
    np.testing.assert_allclose(matrices[0].toarray(), rows[0].T @ rows[0], atol=1e-11)  # the parts stay as they are


def test_a_matrix_that_is_not_positive_definite_is_refused():
    matrix, _ = arrowhead(8)
    broken = Arrowhead(matrix.shared - 1e6 * np.eye(9), matrix.borders, matrix.corners + 1e-6 * np.eye(3))
    with pytest.raises(np.linalg.LinAlgError):
        broken.factor()
