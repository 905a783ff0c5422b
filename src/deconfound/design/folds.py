"""Ways to split experiment rows into folds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from deconfound.design.rows import IntArray

LARGEST_GROUP = 0.5  # of the rows that one side of a cut may have to hold


@dataclass(frozen=True, slots=True)
class Fold:
    """One split of the experiment's rows."""

    train: IntArray
    held_out: IntArray


def group_folds(group: IntArray, folds: int, seed: int) -> tuple[Fold, ...]:
    """Cut rows into folds that keep every group whole, groups dealt round in a seeded random order.

    There are never more folds than groups; with fewer than two groups there is no fold at all.
    """
    names, code = np.unique(group, return_inverse=True)
    count = min(folds, len(names))
    if count < 2:
        return ()
    dealt = np.empty(len(names), dtype=np.int64)
    dealt[np.random.default_rng(seed).permutation(len(names))] = np.arange(len(names)) % count
    fold = dealt[code]
    return tuple(Fold(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(count))


def connected_groups(context: IntArray, cluster: IntArray) -> IntArray:
    """Number the groups of rows that are connected_groups by a context or a cluster.

    Where a model is drawn for a person and not for a message, a person's rows in both halves of a cut would let the
    reward know their luck. A group of more than half of the rows, where people share many contexts or one person
    asked most, leaves nothing to hold out; of its rows contexts alone are kept whole.
    """
    edges = sparse.coo_array((np.ones(len(context)), (context, cluster)))
    graph = sparse.block_array([[None, edges], [edges.T, None]])
    group = csgraph.connected_components(graph, directed=False)[1][context]
    large = np.bincount(group)[group] > LARGEST_GROUP * len(group)
    return np.asarray(np.where(large, group.max() + 1 + context, group))
