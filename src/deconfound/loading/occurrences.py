"""How often the content of a row occurred before: exact for the first million contents, then for those that recur."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deconfound.data.row_order import Hashes, mixed_hashes

Counts = NDArray[np.int64]
MAX_CONTENTS = 1 << 20  # 16 bytes each
MAX_RECENT = 1 << 14  # counted apart, so that a batch of a few rows does not copy all counts


class Occurrences:
    """Counts of contents by their hashes.

    Where there are more than ``size`` different ones, the half that recurs most is retained. One that was dropped
    begins again at zero. What is dropped depends on the order of the rows, and never on the hash that ranks them.
    """

    def __init__(self, size: int = MAX_CONTENTS) -> None:
        self._size = size
        self._all = _Counter()
        self._recent = _Counter()

    def __len__(self) -> int:
        return len(self._all) + len(self._recent)

    def count(self, hashes: Hashes) -> Counts:
        """Of each row, how many with the same content came before, these rows included."""
        distinct, row, counts = np.unique(hashes, return_inverse=True, return_counts=True)
        order = np.argsort(row, kind="stable")
        within = np.empty(len(hashes), dtype=np.int64)
        within[order] = np.arange(len(hashes)) - np.repeat(np.cumsum(counts) - counts, counts)
        before = self._all.of(distinct) + self._recent.of(distinct)
        self._recent.add(distinct, counts)
        if len(self._recent) > min(MAX_RECENT, self._size // 2):
            self._all.add(self._recent.hashes, self._recent.counts)
            self._recent = _Counter()
            if len(self._all) > self._size:
                self._all = self._all.largest(self._size // 2)
        return before[row] + within


class _Counter:
    """Counts of hashes, which are sorted."""

    def __init__(self, hashes: Hashes | None = None, counts: Counts | None = None) -> None:
        self.hashes: Hashes = np.zeros(0, dtype=np.uint64) if hashes is None else hashes
        self.counts: Counts = np.zeros(0, dtype=np.int64) if counts is None else counts

    def __len__(self) -> int:
        return len(self.hashes)

    def of(self, hashes: Hashes) -> Counts:
        """The counts of some hashes; zero for those that were not counted."""
        at, is_known = self._find(hashes)
        found = np.zeros(len(hashes), dtype=np.int64)
        found[is_known] = self.counts[at[is_known]]
        return found

    def add(self, hashes: Hashes, counts: Counts) -> None:
        """Add counts of different hashes, which are sorted."""
        at, is_known = self._find(hashes)
        self.counts[at[is_known]] += counts[is_known]
        self.hashes = np.insert(self.hashes, at[~is_known], hashes[~is_known])
        self.counts = np.insert(self.counts, at[~is_known], counts[~is_known])

    def largest(self, size: int) -> _Counter:
        """The largest counts; equal ones in an order that has nothing to do with that of the hashes."""
        order = np.lexsort((mixed_hashes(self.hashes), -self.counts))[:size]
        order.sort()
        return _Counter(self.hashes[order], self.counts[order])

    def _find(self, hashes: Hashes) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        at = np.searchsorted(self.hashes, hashes)
        is_known = at < len(self.hashes)
        is_known[is_known] = self.hashes[at[is_known]] == hashes[is_known]
        return at, is_known
