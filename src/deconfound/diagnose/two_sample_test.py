"""Classifier two-sample test: are two groups of rows drawn from the same distribution?

Group membership is regressed on features by ridge, each fold predicted from the others. The same is done for
memberships permuted among rows that are exchangeable under the null hypothesis, so the p-value is exact for any number
of features. All permutations together are one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray, feature_matrix
from deconfound.diagnose.thresholds import EXTRA_PERMUTATIONS, MIN_STRATA, PERMUTATIONS, REFINE_BELOW_P
from deconfound.diagnose.two_sample_classifier import EQUAL_ATOL, ClassifierView, classifier_views, stratified_auc
from deconfound.diagnose.two_sample_data import Mask, TwoSampleData, stratum_means


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
    views = classifier_views(data, seed)
    labels = _center_labels(data, data.group[:, None].astype(np.float64))
    p_values = _p_values(data, views, labels, np.random.default_rng(seed + 1), permutations, extra_permutations)
    results = [_result(data, view, labels, p) for view, p in zip(views, p_values, strict=True)]
    overall = _most_significant([each for view, each in zip(views, results, strict=True) if view.all_rows])
    by_subgroup = [each for view, each in zip(views, results, strict=True) if not view.all_rows]
    codes = sorted({each.code for each in by_subgroup})
    subgroups = tuple(_most_significant([each for each in by_subgroup if each.code == code]) for code in codes)
    return TwoSampleResult(overall.auc, min(p_values), rows, strata, subgroups)


def _result(data: TwoSampleData, view: ClassifierView, labels: FloatArray, p_value: float) -> Subgroup:
    code = int(data.subgroup[view.index[0]])
    return Subgroup(code, stratified_auc(data, view, labels), p_value, len(np.unique(data.stratum[view.index])))


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


# --- permutations ---


def _p_values(
    data: TwoSampleData,
    views: list[ClassifierView],
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
    data: TwoSampleData, views: list[ClassifierView], count: int, rng: np.random.Generator
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
    return np.asarray(labels - stratum_means(data.group[:, None].astype(np.float64), stratum)[stratum])


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
