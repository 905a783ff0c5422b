"""The classifier of the two-sample test: cross-fitted ridge of group membership on words, and on statistics.

Predictions are linear in the memberships, so that a view of the data is one matrix, whatever the memberships.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import lapack

from deconfound.design import FloatArray, IntArray, group_folds
from deconfound.diagnose.thresholds import MIN_STRATA
from deconfound.diagnose.two_sample_data import TwoSampleData, stratum_means
from deconfound.features.context_features import tfidf

FOLDS = 5
TEXT_PENALTY = 10.0  # in units of a row's mean square length: words are many, and few rows inform about each
DENSE_PENALTY = 0.3  # the same for statistics, which are few
EQUAL_ATOL = 1e-9  # rows, and statistics, closer than this are equal up to rounding


@dataclass(frozen=True, slots=True)
class ClassifierView:
    """Some rows with one kind of features, as the matrix that predicts each row from the other folds."""

    all_rows: bool
    index: IntArray  # rows of the data
    smoother: FloatArray  # (m, m), zero within a fold

    def statistics(self, labels: FloatArray) -> FloatArray:
        """sum_i label_i * prediction_i for every column of centered labels (n, p)."""
        own = labels[self.index]
        return np.asarray(np.einsum("ij,ij->j", own, self.smoother @ own))


def classifier_views(data: TwoSampleData, seed: int) -> list[ClassifierView]:
    """Words and statistics of all rows, and of each subgroup that is large enough to be tested by itself."""
    _, stratum = np.unique(data.stratum, return_inverse=True)
    inverses: list[Callable[[IntArray], FloatArray]] = []
    lengths = []
    if data.text is not None:
        kernel = _center_kernel(_word_kernel(data.text, stratum), stratum)
        inverses.append(lambda rows: _kernel_inverse(kernel[np.ix_(rows, rows)], TEXT_PENALTY))
        lengths.append(np.sqrt(np.maximum(np.diag(kernel), 0.0)))
    statistics = np.empty((len(stratum), 0))
    if data.dense is not None:
        statistics = data.dense - stratum_means(data.dense, stratum)[stratum]
        lengths.append(np.sqrt((statistics**2).sum(axis=1)))
    statistics = _with_distances(statistics, np.column_stack(lengths), stratum)
    if statistics.shape[1]:
        inverses.append(lambda rows: _inverse(statistics[rows], DENSE_PENALTY))
    codes = np.unique(data.subgroup)
    subgroups = [np.flatnonzero(data.subgroup == code) for code in (codes if len(codes) > 1 else ())]
    testable = [rows for rows in subgroups if len(np.unique(stratum[rows])) >= MIN_STRATA]
    return [
        ClassifierView(number == 0, rows, _smoother(inverse(rows), data.fold_group[rows], seed))
        for inverse in inverses
        for number, rows in enumerate([np.arange(len(stratum)), *testable])
    ]


def _word_kernel(text: sparse.csr_matrix, stratum: IntArray) -> FloatArray:
    """Inner products of tf-idf rows; words that vary within no stratum, such as the context's, have weight zero."""
    single = int(stratum.max()) == 0
    varying = text if single else _deviations(text, stratum)
    document = np.arange(len(stratum)) if single else stratum
    pairs = np.unique(np.repeat(document, np.diff(varying.indptr)) * text.shape[1] + varying.indices)
    frequency = np.bincount(pairs % text.shape[1], minlength=text.shape[1])
    rows = tfidf(text, frequency, int(document.max()) + 1)
    kernel: FloatArray = (rows @ rows.T).toarray()
    return kernel


def _deviations(text: sparse.csr_matrix, stratum: IntArray) -> sparse.csr_matrix:
    """Text minus its stratum's mean, without entries that are only rounding."""
    deviation = sparse.csr_matrix(text - stratum_means(text, stratum)[stratum])
    deviation.data[np.abs(deviation.data) < EQUAL_ATOL] = 0.0
    deviation.eliminate_zeros()
    return deviation


def _center_kernel(kernel: FloatArray, stratum: IntArray) -> FloatArray:
    """The kernel of rows minus their stratum's mean."""
    half = kernel - stratum_means(kernel, stratum)[stratum]
    return np.asarray(half - stratum_means(half.T, stratum)[stratum].T)


def _with_distances(statistics: FloatArray, lengths: FloatArray, stratum: IntArray) -> FloatArray:
    """Add each row's distance to its stratum's mean, which shows groups that differ in variance only."""
    deviation = lengths - stratum_means(lengths, stratum)[stratum]
    size = np.sqrt((deviation**2).mean(axis=0))
    scale = float(np.sqrt((statistics**2).sum(axis=1).mean())) or 1.0
    varies = size > EQUAL_ATOL
    return np.hstack([statistics, deviation[:, varies] * (scale / np.sqrt(2.0) / size[varies])])


def _kernel_inverse(kernel: FloatArray, penalty: float) -> FloatArray:
    """(K + penalty I)^-1, the penalty in units of the mean square length of a row."""
    ridge = penalty * max(float(np.trace(kernel)) / len(kernel), EQUAL_ATOL)
    shifted = kernel + np.diag(np.full(len(kernel), ridge))
    half, _ = lapack.dpotri(linalg.cholesky(shifted, lower=True, check_finite=False), lower=1)
    return np.asarray(np.tril(half) + np.tril(half, -1).T)


def _inverse(rows: FloatArray, penalty: float) -> FloatArray:
    """The same for K = rows rows', where there are more rows than columns."""
    ridge = penalty * max(float((rows**2).sum()) / len(rows), EQUAL_ATOL)
    small = linalg.cho_factor(rows.T @ rows + ridge * np.eye(rows.shape[1]), check_finite=False)
    return np.asarray((np.eye(len(rows)) - rows @ linalg.cho_solve(small, rows.T, check_finite=False)) / ridge)


def _smoother(inverse: FloatArray, fold_group: IntArray, seed: int) -> FloatArray:
    """The matrix from labels to cross-fitted ridge predictions, from one factorization.

    G = (K + penalty I)^-1,   label - prediction = G_FF^-1 (G label)_F   for the rows F of a fold
    """
    smoother = np.zeros_like(inverse)
    for fold in group_folds(fold_group, FOLDS, seed):
        held_out, train = fold.held_out, fold.train
        inner = inverse[np.ix_(held_out, held_out)]
        smoother[np.ix_(held_out, train)] = -linalg.solve(inner, inverse[np.ix_(held_out, train)], assume_a="pos")
    return np.asarray(smoother)


def stratified_auc(data: TwoSampleData, view: ClassifierView, labels: FloatArray) -> float:
    """Share of pairs of one stratum, one row of each group, in which the first group's has the higher prediction."""
    prediction = np.round(view.smoother @ labels[view.index, 0], 10)
    group, stratum = data.group[view.index], data.stratum[view.index]
    correct, pairs = 0.0, 0
    for code in np.unique(stratum):
        first = prediction[(stratum == code) & group]
        second = np.sort(prediction[(stratum == code) & ~group])
        below = np.searchsorted(second, first, side="left") + np.searchsorted(second, first, side="right")
        correct, pairs = correct + below.sum() / 2, pairs + len(first) * len(second)
    return float(correct / pairs)
