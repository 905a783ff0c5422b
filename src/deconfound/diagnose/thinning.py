"""Which rows to compare when there are more than time allows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray, IntArray

MAX_ROWS = 720  # rows compared; the time grows with their cube, and these take a fifth of a second
MAX_SIDE = 2  # rows of one group taken from a stratum of several; more say little new about it


def thinned(group: NDArray[np.bool_], stratum: IntArray, seed: int) -> IntArray:
    """Rows to compare: none of strata with one group only, the rest thinned at random, which leaves it exchangeable."""
    rng = np.random.default_rng(seed)
    chance = rng.random(len(group))
    _, stratum = np.unique(stratum, return_inverse=True)
    both = np.bincount(stratum, weights=group) * np.bincount(stratum, weights=~group) > 0
    keep = both[stratum]
    rank = _rank(2 * stratum + group, chance)
    if np.count_nonzero(both) == 1:
        keep &= rank < _sides(group[keep])[group.astype(np.int64)]
    elif len(both):
        keep &= rank < MAX_SIDE
        # Whole strata, in random order, for as long as there is room.
        turn = rng.permutation(len(both))
        room = np.empty(len(both), dtype=np.bool_)
        room[turn] = np.cumsum(np.bincount(stratum[keep], minlength=len(both))[turn]) <= MAX_ROWS
        keep &= room[stratum]
    return np.flatnonzero(keep)


def _sides(group: NDArray[np.bool_]) -> IntArray:
    """Rows to keep of (others, group): all where they fit, or else the smaller group first."""
    counts = np.array([np.count_nonzero(~group), np.count_nonzero(group)])
    return np.asarray(np.minimum(counts, max(MAX_ROWS // 2, MAX_ROWS - int(counts.min()))))


def _rank(code: IntArray, chance: FloatArray) -> IntArray:
    """Place of each row among those of its code, by chance."""
    order = np.lexsort((chance, code))
    starts = np.flatnonzero(np.diff(code[order], prepend=-1) != 0)
    rank = np.empty(len(code), dtype=np.int64)
    rank[order] = np.arange(len(code)) - np.repeat(starts, np.diff(np.append(starts, len(code))))
    return rank
