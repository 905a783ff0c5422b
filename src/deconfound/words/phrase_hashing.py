"""The columns of hashed words and word pairs.

Every word and every pair of adjacent words of a text adds +1 or -1 to one of ``buckets`` columns. Column and sign
come from a 64-bit key made of the namespace and the words' CRC-32, mixed by the splitmix64 finalizer; both are fixed
by public standards, so a saved featurizer or policy gives the same columns on every machine.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Namespace: TypeAlias = Literal["context", "output"]
Hashes: TypeAlias = NDArray[np.uint64]

# One odd constant per namespace and number of words: the same word gets unrelated columns in each.
NAMESPACE_KEYS: dict[tuple[Namespace, int], np.uint64] = {
    ("context", 1): np.uint64(0x9E3779B97F4A7C15),
    ("context", 2): np.uint64(0xC2B2AE3D27D4EB4F),
    ("output", 1): np.uint64(0x165667B19E3779F9),
    ("output", 2): np.uint64(0xD6E8FEB86659FD93),
}


def phrase_keys(hashes: Hashes, namespace: Namespace) -> Hashes:
    """Keys (words, 2) of each word and of the pair that it starts, from CRC-32s; the last word starts no pair."""
    # Each word is followed by its pair, which keeps a text's entries together.
    keys = np.empty((len(hashes), 2), dtype=np.uint64)
    keys[:, 0] = _mix(hashes ^ NAMESPACE_KEYS[namespace, 1])
    keys[:, 1] = _mix((hashes << np.uint64(32) | np.roll(hashes, -1)) ^ NAMESPACE_KEYS[namespace, 2])
    return keys


def columns_and_signs(keys: Hashes, buckets: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The column of each key, and +1 or -1."""
    columns = ((keys >> np.uint64(1)) % np.uint64(buckets)).astype(np.int64)
    return columns, 1.0 - 2.0 * (keys & np.uint64(1)).astype(np.float64)


def hash_words(words: Sequence[bytes], namespace: Namespace, buckets: int) -> NDArray[np.float64]:
    """One text as a vector (buckets,) of unit length; zeros for a text without words."""
    if not words:
        return np.zeros(buckets)
    crc = np.fromiter(map(zlib.crc32, words), np.uint64, len(words))
    columns, signs = columns_and_signs(phrase_keys(crc, namespace).ravel()[:-1], buckets)
    sums = np.bincount(columns, weights=signs, minlength=buckets).astype(np.float64)
    norm = float(np.sqrt(sums @ sums))
    return np.asarray(sums / norm) if norm else sums


def _mix(keys: Hashes) -> Hashes:
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
