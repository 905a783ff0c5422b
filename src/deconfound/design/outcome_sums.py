"""Outcomes summed by model and cluster: all that a mean outcome and its clustered variance need of a log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deconfound.design.arrays import FloatArray, IntArray

Hashes = NDArray[np.uint64]

MAX_CLUSTERS = 65_536
"""Clusters with sums of their own; of more, those whose hashes begin alike are added up."""

MAX_CELLS = 1 << 20
"""Clusters times models: 16 MB for one way of clustering. Up to 16 models this allows ``MAX_CLUSTERS``."""

MIN_CLUSTERS = 256
"""Clusters that are allowed for any number of models: a variance from half of them has a standard error of 12 %."""

HASH_BITS = 64
_GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(slots=True, eq=False)
class ClusterSums:
    """Counts and sums of outcomes by cluster and model, for one way of clustering.

    A cluster is known by the 64-bit hash of its id. Beyond ``max_clusters``, hashes are shortened until few enough
    differ. The clusters are then unions of the original ones, which are chosen by hash and not by outcome: the
    variance is as valid as before, from fewer, larger clusters. How short the hashes become depends on the ids and on
    the number of models alone, not on the order of rows or on how the log was cut.
    """

    keys: Hashes  # (g,) ascending, after dropping the lowest bits
    counts: FloatArray  # (g, k)
    totals: FloatArray  # (g, k) sums of outcomes
    dropped_bits: int = 0

    @classmethod
    def zero(cls, n_models: int) -> Self:
        """No rows."""
        return cls(np.zeros(0, dtype=np.uint64), np.zeros((0, n_models)), np.zeros((0, n_models)))

    @classmethod
    def from_rows(cls, keys: Hashes, model: IntArray, outcome: FloatArray, n_models: int) -> Self:
        """Rows of models beyond ``n_models`` have a cluster and no sums."""
        distinct, code = np.unique(keys, return_inverse=True)
        bits = 0
        while len(distinct) > max_clusters(n_models):
            bits += 1
            distinct, code = np.unique(keys >> np.uint64(bits), return_inverse=True)
        known = np.flatnonzero((model >= 0) & (model < n_models))
        cell, size = code[known] * n_models + model[known], len(distinct) * n_models
        counts, totals = (
            np.bincount(cell, weight, size).astype(np.float64).reshape(len(distinct), n_models)
            for weight in (None, outcome[known])
        )
        return cls(distinct, counts, totals, bits)

    @property
    def is_folded(self) -> bool:
        """Whether some clusters were added up."""
        return self.dropped_bits > 0

    def add(self, other: ClusterSums) -> None:
        """Add the rows of another part of the log."""
        bits = max(self.dropped_bits, other.dropped_bits)
        parts = [part.folded(bits) for part in (self, other)]
        keys = np.union1d(parts[0].keys, parts[1].keys)
        counts, totals = (np.zeros((len(keys), self.counts.shape[1])) for _ in range(2))
        for part in parts:
            at = np.searchsorted(keys, part.keys)
            counts[at] += part.counts
            totals[at] += part.totals
        self.keys, self.counts, self.totals, self.dropped_bits = keys, counts, totals, bits
        self._limit()

    def folded(self, bits: int) -> ClusterSums:
        """The sums with ``bits`` dropped from every hash in all."""
        if bits == self.dropped_bits or not len(self.keys):
            return ClusterSums(self.keys, self.counts, self.totals, bits)
        keys = self.keys >> np.uint64(bits - self.dropped_bits)
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        counts, totals = (np.add.reduceat(sums, starts, axis=0) for sums in (self.counts, self.totals))
        return ClusterSums(keys[starts], counts, totals, bits)

    def _limit(self) -> None:
        while len(self.keys) > max_clusters(self.counts.shape[1]):
            short = self.folded(self.dropped_bits + 1)
            self.keys, self.counts, self.totals = short.keys, short.counts, short.totals
            self.dropped_bits = short.dropped_bits


@dataclass(slots=True, eq=False)
class OutcomeSums:
    """Outcomes by model and by each way of clustering: users, contexts and both together.

    Without users there is one way, contexts. ``lowest`` are the smallest hashes of contexts, at most ``MAX_CLUSTERS``:
    their density says how many contexts there are. ``squares`` are sums of squared outcomes over all rows.
    """

    ways: tuple[ClusterSums, ...]  # contexts; or users, contexts and their intersections
    lowest: Hashes
    squares: FloatArray  # (k,)

    @classmethod
    def zero(cls, n_models: int, *, has_clusters: bool) -> Self:
        """No rows."""
        ways = tuple(ClusterSums.zero(n_models) for _ in range(3 if has_clusters else 1))
        return cls(ways, np.zeros(0, dtype=np.uint64), np.zeros(n_models))

    @classmethod
    def from_rows(
        cls, cluster: Hashes | None, context: Hashes, model: IntArray, outcome: FloatArray, n_models: int
    ) -> Self:
        """Sum rows, whose clusters and contexts are hashes; ``model`` counts into the models and may be beyond."""
        keys = (context,) if cluster is None else (cluster, context, combine_hashes(cluster, context))
        ways = tuple(ClusterSums.from_rows(key, model, outcome, n_models) for key in keys)
        known = np.flatnonzero((model >= 0) & (model < n_models))
        squares = np.bincount(model[known], outcome[known] ** 2, n_models).astype(np.float64)
        return cls(ways, np.unique(context)[:MAX_CLUSTERS], squares)

    @property
    def rows_per_model(self) -> IntArray:
        """Number of rows of each model (k,)."""
        return np.asarray(self.ways[0].counts.sum(axis=0), dtype=np.int64)

    @property
    def contexts(self) -> int:
        """Number of contexts; above ``MAX_CLUSTERS`` an estimate, with a standard error of 0.4 %."""
        if len(self.lowest) < MAX_CLUSTERS:
            return len(self.lowest)
        return round((MAX_CLUSTERS - 1) / (float(self.lowest[-1]) / 2.0**HASH_BITS))

    def add(self, other: OutcomeSums) -> None:
        """Add the rows of another part of the log."""
        for mine, theirs in zip(self.ways, other.ways, strict=True):
            mine.add(theirs)
        self.lowest = np.union1d(self.lowest, other.lowest)[:MAX_CLUSTERS]
        self.squares = self.squares + other.squares


def max_clusters(n_models: int) -> int:
    """Clusters of one way that have sums of their own: the fewer, the more models there are."""
    return min(MAX_CLUSTERS, max(MIN_CLUSTERS, MAX_CELLS // max(n_models, 1)))


def combine_hashes(one: Hashes, other: Hashes) -> Hashes:
    """A hash of each pair."""
    values = mix_hashes(one + _GOLDEN_RATIO) + other
    return mix_hashes(values)


def mix_hashes(values: Hashes) -> Hashes:
    """The finalizer of SplitMix64: close inputs get unrelated outputs."""
    for multiplier, shift in zip(_MIX, (np.uint64(30), np.uint64(27)), strict=True):
        values = (values ^ (values >> shift)) * multiplier
    return values ^ (values >> np.uint64(31))
