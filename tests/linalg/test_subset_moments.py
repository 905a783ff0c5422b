"""Moments over subsets, and the columns that tuning adds up."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from deconfound.design import DenseMatrix, feature_matrix
from deconfound.linalg import subset_moments
from deconfound.linalg.moments import Moments
from deconfound.linalg.pooled_fits import SummedFits
from deconfound.linalg.subset_moments import SubsetMoments, fold_sparse_columns

ROWS, TEXT, FILLED = 400, 64, 3


def features(seed: int = 0) -> np.ndarray:
    """Hashed text, then columns that every row has."""
    rng = np.random.default_rng(seed)
    text = sparse.random(ROWS, TEXT, 0.1, random_state=seed, format="csr").toarray()
    return np.hstack([text, rng.normal(size=(ROWS, FILLED))])


def test_sparse_columns_are_added_up_modulo_the_width():
    matrix = features()
    fold = fold_sparse_columns(feature_matrix(sparse.csr_matrix(matrix)), 16)
    expected = np.hstack([matrix[:, :TEXT].reshape(ROWS, -1, 16).sum(axis=1), matrix[:, TEXT:]])
    np.testing.assert_allclose(matrix @ fold, expected, atol=1e-12)


def test_few_or_filled_columns_are_left_alone():
    assert fold_sparse_columns(DenseMatrix(features()), TEXT) is None
    assert fold_sparse_columns(DenseMatrix(np.random.default_rng(1).normal(size=(ROWS, 90))), 16) is None


def test_a_row_drawn_twice_counts_twice():
    matrix, target = features(), np.random.default_rng(2).random(ROWS)
    drawn = np.random.default_rng(3).integers(ROWS, size=ROWS)
    moments = SubsetMoments(DenseMatrix(matrix), target, np.ones(ROWS)).of(drawn)
    np.testing.assert_allclose(moments.covariance, np.cov(matrix[drawn].T, bias=True), atol=1e-12)
    assert moments.weight == ROWS


def test_predictions_of_added_up_columns_are_those_of_a_fit_to_them(monkeypatch):
    monkeypatch.setattr(subset_moments, "TUNING_WIDTH", 16)
    matrix, logged = features(), features(5)
    target, outcome = np.random.default_rng(2).random(ROWS), np.random.default_rng(6).random((ROWS, 1))
    fold = fold_sparse_columns(DenseMatrix(matrix), 16)
    train = np.arange(0, ROWS, 2)

    def fits(wide, wide_log):
        log = Moments.estimate(DenseMatrix(wide_log), outcome, np.ones(ROWS))
        return SummedFits(log, SubsetMoments(DenseMatrix(wide), target, np.ones(ROWS)))

    (one,) = fits(matrix, logged).predictions(0.3, [0.1], [train])
    (other,) = fits(matrix @ fold, logged @ fold).predictions(0.3, [0.1], [train])
    np.testing.assert_allclose(one, other, atol=1e-10)
    assert np.abs(one - fits(matrix, logged).fit(0.3, 0.1, train)(matrix)).max() > 1e-3


def test_only_the_latest_subsets_are_cached(monkeypatch):
    monkeypatch.setattr(subset_moments, "MAX_CACHED", 2)
    narrow = SubsetMoments(DenseMatrix(features()), np.ones(ROWS), np.ones(ROWS)).narrow
    first = narrow.of(np.arange(10))
    assert narrow.of(np.arange(10)) is first
    for size in (20, 30):
        narrow.of(np.arange(size))
    assert narrow.of(np.arange(10)) is not first
