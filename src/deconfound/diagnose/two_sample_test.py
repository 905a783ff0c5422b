"""Classifier two-sample test: are two groups of rows drawn from the same distribution?

Group membership is regressed on features by ridge, each fold predicted from the others. The same is done for
memberships permuted among rows that are exchangeable under the null hypothesis, so the p-value is exact for any number
of features. Predictions are linear in the memberships: all permutations together are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.linalg import lapack

from deconfound.design import FloatArray, IntArray, RawMatrix, feature_matrix, group_folds
from deconfound.diagnose.thresholds import EXTRA_PERMUTATIONS, MIN_STRATA, PERMUTATIONS, REFINE_BELOW_P
from deconfound.features.context_features import tfidf

Mask: TypeAlias = NDArray[np.bool_]

FOLDS = 5
TEXT_PENALTY = 10.0  # in units of a row's mean square length: words are many, and few rows inform about each
DENSE_PENALTY = 0.3  # the same for statistics, which are few
EQUAL_ATOL = 1e-9  # rows, and statistics, closer than this are equal up to rounding
MAX_ROWS = 720  # the time grows with their cube; this many take a fifth of a second
MAX_GROUP_ROWS = 2  # rows per group and stratum, where there are several strata; more add little about a stratum


@dataclass(frozen=True, slots=True)
class TwoSampleData:
    """Rows of two groups; within a stratum, membership is exchangeable under the null hypothesis."""

    text: sparse.csr_matrix | None  # (n, buckets)
    dense: FloatArray | None  # (n, s)
    group: Mask  # (n,) True for the first group
    stratum: IntArray  # (n,)
    fold_group: IntArray  # (n,) rows of one context, which must stay in one fold
    subgroup: IntArray  # (n,) constant within a stratum; each subgroup is also tested by itself

    def take(self, index: IntArray) -> TwoSampleData:
        """The rows at ``index``."""
        text = None if self.text is None else self.text[index]
        dense = None if self.dense is None else self.dense[index]
        labels = (self.group[index], self.stratum[index], self.fold_group[index], self.subgroup[index])
        return TwoSampleData(text, dense, *labels)


@dataclass(frozen=True, slots=True)
class Subgroup:
    """The test within one subgroup; the p-value already accounts for all other views of the data."""

    code: int
    auc: float
    p_value: float
    strata: int


@dataclass(frozen=True, slots=True)
class TwoSampleResult:
    """Stratified AUC over all rows, and the p-value of the best of all views, all rows and each subgroup.

    The AUC is the share of pairs (one row of each group, from one stratum) that the classifier orders correctly.
    Strata of identical rows are counted in ``rows`` and ``strata``, and contribute nothing.
    """

    auc: float
    p_value: float
    rows: int
    strata: int
    subgroups: tuple[Subgroup, ...]

    def significant_subgroups(self, level: float) -> tuple[Subgroup, ...]:
        """The subgroups that differ by themselves, the most significant first."""
        significant = [subgroup for subgroup in self.subgroups if subgroup.p_value < 1.0 - level]
        return tuple(sorted(significant, key=lambda subgroup: (subgroup.p_value, -subgroup.auc)))


@dataclass(frozen=True, slots=True)
class _View:
    """Some rows with one kind of features, as the matrix that predicts each row from the other folds."""

    all_rows: bool
    index: IntArray  # rows of the data
    smoother: FloatArray  # (m, m), zero within a fold

    def statistics(self, labels: FloatArray) -> FloatArray:
        """sum_i label_i * prediction_i for every column of centered labels (n, p)."""
        own = labels[self.index]
        return np.asarray(np.einsum("ij,ij->j", own, self.smoother @ own))


def two_sample_test(
    data: TwoSampleData,
    seed: int,
    permutations: int = PERMUTATIONS,
    extra_permutations: int = EXTRA_PERMUTATIONS,
) -> TwoSampleResult | None:
    """Test that both groups have the same distribution; None where too few rows can be compared."""
    strata, rows = len(np.unique(data.stratum)), len(data.group)
    if not _is_testable(data):
        return None
    data = data.take(np.flatnonzero(_in_varying_strata(data)))
    if not _is_testable(data):
        return TwoSampleResult(0.5, 1.0, rows, strata, ())
    views = _views(data, seed)
    labels = _center_labels(data, data.group[:, None].astype(np.float64))
    p_values = _p_values(data, views, labels, np.random.default_rng(seed + 1), permutations, extra_permutations)
    results = [_result(data, view, labels, p) for view, p in zip(views, p_values, strict=True)]
    overall = _most_significant([each for view, each in zip(views, results, strict=True) if view.all_rows])
    by_subgroup = [each for view, each in zip(views, results, strict=True) if not view.all_rows]
    codes = sorted({each.code for each in by_subgroup})
    subgroups = tuple(_most_significant([each for each in by_subgroup if each.code == code]) for code in codes)
    return TwoSampleResult(overall.auc, min(p_values), rows, strata, subgroups)


def _result(data: TwoSampleData, view: _View, labels: FloatArray, p_value: float) -> Subgroup:
    code = int(data.subgroup[view.index[0]])
    return Subgroup(code, _stratified_auc(data, view, labels), p_value, len(np.unique(data.stratum[view.index])))


def _most_significant(results: list[Subgroup]) -> Subgroup:
    return min(results, key=lambda each: (each.p_value, -each.auc))


def _is_testable(data: TwoSampleData) -> bool:
    strata = len(np.unique(data.stratum))
    smaller = min(int(data.group.sum()), int((~data.group).sum()))
    return smaller >= MIN_STRATA and (strata == 1 or strata >= MIN_STRATA)


def _in_varying_strata(data: TwoSampleData) -> Mask:
    """Rows of strata in which some feature varies, as one random projection of the rows shows."""
    _, stratum = np.unique(data.stratum, return_inverse=True)
    varies = np.zeros(int(stratum.max()) + 1, dtype=np.bool_)
    for features in (data.text, data.dense):
        if features is None:
            continue
        coordinate = feature_matrix(features).random_projection(seed=1)
        low, high = np.full(len(varies), np.inf), np.full(len(varies), -np.inf)
        np.minimum.at(low, stratum, coordinate)
        np.maximum.at(high, stratum, coordinate)
        varies |= high - low > EQUAL_ATOL
    return varies[stratum]


# --- the classifier ---


def _views(data: TwoSampleData, seed: int) -> list[_View]:
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
        statistics = data.dense - _stratum_means(data.dense, stratum)[stratum]
        lengths.append(np.sqrt((statistics**2).sum(axis=1)))
    statistics = _with_distances(statistics, np.column_stack(lengths), stratum)
    if statistics.shape[1]:
        inverses.append(lambda rows: _inverse(statistics[rows], DENSE_PENALTY))
    codes = np.unique(data.subgroup)
    subgroups = [np.flatnonzero(data.subgroup == code) for code in (codes if len(codes) > 1 else ())]
    testable = [rows for rows in subgroups if len(np.unique(stratum[rows])) >= MIN_STRATA]
    return [
        _View(number == 0, rows, _smoother(inverse(rows), data.fold_group[rows], seed))
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
    deviation = sparse.csr_matrix(text - _stratum_means(text, stratum)[stratum])
    deviation.data[np.abs(deviation.data) < EQUAL_ATOL] = 0.0
    deviation.eliminate_zeros()
    return deviation


def _stratum_means(values: RawMatrix, stratum: IntArray) -> RawMatrix:
    indicator = sparse.csr_matrix((np.ones(len(stratum)), (stratum, np.arange(len(stratum)))))
    return sparse.diags(1.0 / np.bincount(stratum)) @ (indicator @ values)


def _center_kernel(kernel: FloatArray, stratum: IntArray) -> FloatArray:
    """The kernel of rows minus their stratum's mean."""
    half = kernel - _stratum_means(kernel, stratum)[stratum]
    return np.asarray(half - _stratum_means(half.T, stratum)[stratum].T)


def _with_distances(statistics: FloatArray, lengths: FloatArray, stratum: IntArray) -> FloatArray:
    """Add each row's distance to its stratum's mean, which shows groups that differ in variance only."""
    deviation = lengths - _stratum_means(lengths, stratum)[stratum]
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


def _stratified_auc(data: TwoSampleData, view: _View, labels: FloatArray) -> float:
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


# --- permutations ---


def _p_values(
    data: TwoSampleData,
    views: list[_View],
    labels: FloatArray,
    rng: np.random.Generator,
    permutations: int,
    extra_permutations: int,
) -> list[float]:
    """p-value of each view against the best view of each permutation.

    The second round leaves the test valid: a p-value of REFINE_BELOW_P or more comes from the first round alone, and a
    smaller one has to be small in both rounds together.
    """
    observed = np.array([view.statistics(labels)[0] for view in views])
    null = _permutation_distribution(data, views, permutations, rng)
    p_values = _max_statistic_p_values(observed, null)
    if p_values.min() < REFINE_BELOW_P:
        null = np.hstack([null, _permutation_distribution(data, views, extra_permutations, rng)])
        p_values = np.where(p_values < REFINE_BELOW_P, _max_statistic_p_values(observed, null), p_values)
    return [float(p) for p in p_values]


def _permutation_distribution(
    data: TwoSampleData, views: list[_View], count: int, rng: np.random.Generator
) -> FloatArray:
    labels = _center_labels(data, permute_labels(data.group, data.stratum, count, rng))
    return np.array([view.statistics(labels) for view in views])


def _max_statistic_p_values(observed: FloatArray, null: FloatArray) -> FloatArray:
    """Each view's p-value against the largest standardized statistic of every permutation; null is (views, p)."""
    values = np.column_stack([observed, null])
    sd = values.std(axis=1, keepdims=True)
    standardized = (values - values.mean(axis=1, keepdims=True)) / np.where(sd > 0, sd, 1.0)
    largest = np.sort(standardized.max(axis=0))
    return np.asarray((len(largest) - np.searchsorted(largest, standardized[:, 0] - EQUAL_ATOL)) / len(largest))


def _center_labels(data: TwoSampleData, labels: FloatArray) -> FloatArray:
    """Labels minus the group's share of their stratum, which no permutation changes."""
    _, stratum = np.unique(data.stratum, return_inverse=True)
    return np.asarray(labels - _stratum_means(data.group[:, None].astype(np.float64), stratum)[stratum])


def permute_labels(group: Mask, stratum: IntArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Memberships (n, count) permuted within each stratum; strata of one size are permuted together."""
    _, code, sizes = np.unique(stratum, return_inverse=True, return_counts=True)
    order = np.argsort(code, kind="stable")
    size_of_row = sizes[code[order]]
    permuted = np.empty((len(group), count))
    for size in np.unique(sizes):
        rows = order[size_of_row == size].reshape(-1, size)
        membership = np.broadcast_to(group[rows], (count, *rows.shape))
        permuted[rows.ravel()] = rng.permuted(membership, axis=2).reshape(count, -1).T
    return permuted


# --- which rows to compare ---


def subsample_strata(group: Mask, stratum: IntArray, seed: int) -> IntArray:
    """Rows to compare, at most ``MAX_ROWS``: a random subsample of the strata that contain both groups."""
    rng = np.random.default_rng(seed)
    random_order = rng.random(len(group))
    _, stratum = np.unique(stratum, return_inverse=True)
    has_both = np.bincount(stratum, weights=group) * np.bincount(stratum, weights=~group) > 0
    selected = has_both[stratum]
    rank = _rank_within(2 * stratum + group, random_order)
    if np.count_nonzero(has_both) == 1:
        selected &= rank < _group_quota(group[selected])[group.astype(np.int64)]
    elif len(has_both):
        selected &= rank < MAX_GROUP_ROWS
        # Whole strata, in random order, for as long as there is room.
        turn = rng.permutation(len(has_both))
        fits = np.empty(len(has_both), dtype=np.bool_)
        fits[turn] = np.cumsum(np.bincount(stratum[selected], minlength=len(has_both))[turn]) <= MAX_ROWS
        selected &= fits[stratum]
    return np.flatnonzero(selected)


def _group_quota(group: Mask) -> IntArray:
    """Rows to take of (second, first) group: all where they fit, else the smaller group before the larger."""
    counts = np.array([np.count_nonzero(~group), np.count_nonzero(group)])
    return np.asarray(np.minimum(counts, max(MAX_ROWS // 2, MAX_ROWS - int(counts.min()))))


def _rank_within(code: IntArray, random_order: FloatArray) -> IntArray:
    """Rank of each row among those of its code, in random order."""
    order = np.lexsort((random_order, code))
    starts = np.flatnonzero(np.diff(code[order], prepend=-1) != 0)
    rank = np.empty(len(code), dtype=np.int64)
    rank[order] = np.arange(len(code)) - np.repeat(starts, np.diff(np.append(starts, len(code))))
    return rank
