"""Ways to split experiment rows into folds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from deconfound.design.arrays import IntArray

MAX_GROUP_SHARE = 0.5  # share of the rows above which a connected group is split by context


@dataclass(frozen=True, slots=True)
class Fold:
    """One split of the experiment's rows."""

    train: IntArray
    held_out: IntArray


def group_folds(group: IntArray, folds: int, seed: int) -> tuple[Fold, ...]:
    """Split rows into folds without splitting a group; groups are assigned in a seeded random order.

    There are never more folds than groups, and none at all with fewer than two groups.
    """
    names, code = np.unique(group, return_inverse=True)
    count = min(folds, len(names))
    if count < 2:
        return ()
    fold_of_group = np.empty(len(names), dtype=np.int64)
    fold_of_group[np.random.default_rng(seed).permutation(len(names))] = np.arange(len(names)) % count
    fold = fold_of_group[code]
    return tuple(Fold(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(count))


def connected_groups(context: IntArray, cluster: IntArray) -> IntArray:
    """Number the groups of rows that a context or a cluster connects, directly or through other rows.

    Where models are randomized by user, rows of one user in both training and held-out data would leak that user's
    noise into the reward. A group with more than ``MAX_GROUP_SHARE`` of the rows would leave too little to hold out,
    so its rows are grouped by context alone.
    """
    edges = sparse.coo_array((np.ones(len(context)), (context, cluster)))
    graph = sparse.block_array([[None, edges], [edges.T, None]])
    group = csgraph.connected_components(graph, directed=False)[1][context]
    large = np.bincount(group)[group] > MAX_GROUP_SHARE * len(group)
    return np.asarray(np.where(large, group.max() + 1 + context, group))
