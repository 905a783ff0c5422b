"""Hashed words and word pairs: the text block of phi.

Every word and every pair of adjacent words of a text adds +1 or -1 to one of ``buckets`` columns. Column and sign
come from a 64-bit key made of the namespace and the words' CRC-32, mixed by the splitmix64 finalizer; both are fixed
by public standards, so a saved featurizer gives the same columns on every machine. Each text is then scaled to unit
length.
"""

from __future__ import annotations

import zlib
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tests.support.plain_text.plain_words import TokenizedTexts, Vocabulary

Namespace: TypeAlias = Literal["context", "output"]
Hashes: TypeAlias = NDArray[np.uint64]

# One odd constant per namespace and number of words: the same word gets unrelated columns in each.
_KEYS: dict[tuple[Namespace, int], np.uint64] = {
    ("context", 1): np.uint64(0x9E3779B97F4A7C15),
    ("context", 2): np.uint64(0xC2B2AE3D27D4EB4F),
    ("output", 1): np.uint64(0x165667B19E3779F9),
    ("output", 2): np.uint64(0xD6E8FEB86659FD93),
}


def word_hashes(vocabulary: Vocabulary) -> Hashes:
    """CRC-32 of each word, by token id."""
    return np.fromiter(map(zlib.crc32, vocabulary), np.uint64, len(vocabulary))


def hash_texts(tokens: TokenizedTexts, hashes: Hashes, namespace: Namespace, buckets: int) -> sparse.csr_matrix:
    """One row of unit length per text; a text without words is a row of zeros."""
    single = hashes[tokens.token_ids]
    # Each word is followed by the pair it starts, which keeps a text's entries together; the last word starts none.
    keys = np.empty((len(single), 2), dtype=np.uint64)
    keys[:, 0] = _mix(single ^ _KEYS[namespace, 1])
    keys[:, 1] = _mix((single << np.uint64(32) | np.roll(single, -1)) ^ _KEYS[namespace, 2])
    exists = np.ones(keys.shape, dtype=np.bool_)
    exists[tokens.offsets[1:][tokens.counts > 0] - 1, 1] = False
    phrases = keys[exists]
    start = 2 * tokens.offsets - np.concatenate(([0], np.cumsum(tokens.counts > 0)))
    columns = ((phrases >> np.uint64(1)) % np.uint64(buckets)).astype(np.int32)
    signs = 1.0 - 2.0 * (phrases & np.uint64(1)).astype(np.float64)
    rows = sparse.csr_matrix((signs, columns, start), shape=(len(tokens.counts), buckets))
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return _scale_to_unit_length(rows)


def _mix(keys: Hashes) -> Hashes:
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _scale_to_unit_length(rows: sparse.csr_matrix) -> sparse.csr_matrix:
    counts = np.diff(rows.indptr)
    # Entries are small whole numbers, so the running sum of squares is exact and so is each difference of it.
    squares = np.concatenate(([0.0], np.cumsum(rows.data**2)))[rows.indptr]
    norms = np.sqrt(np.diff(squares))
    rows.data /= np.repeat(norms, counts)
    return rows
