"""Rows of two groups that a two-sample test compares, and which of them are compared where there are many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfound.design import FloatArray, IntArray, RawMatrix

Mask: TypeAlias = NDArray[np.bool_]

MAX_ROWS = 720  # the test's time grows with their cube; this many take a fifth of a second
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


def stratum_means(values: RawMatrix, stratum: IntArray) -> RawMatrix:
    """Mean row of each stratum; strata are numbered from zero."""
    indicator = sparse.csr_matrix((np.ones(len(stratum)), (stratum, np.arange(len(stratum)))))
    return sparse.diags(1.0 / np.bincount(stratum)) @ (indicator @ values)
