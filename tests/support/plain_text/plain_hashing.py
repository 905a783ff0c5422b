"""Hashed words and word pairs: the text block of phi, with each text scaled to unit length."""

from __future__ import annotations

import zlib

import numpy as np
from scipy import sparse

from deconfound.words.phrase_hashing import Hashes, Namespace, columns_and_signs, phrase_keys
from tests.support.plain_text.plain_words import TokenizedTexts, Vocabulary


def word_hashes(vocabulary: Vocabulary) -> Hashes:
    """CRC-32 of each word, by token id."""
    return np.fromiter(map(zlib.crc32, vocabulary), np.uint64, len(vocabulary))


def hash_texts(tokens: TokenizedTexts, hashes: Hashes, namespace: Namespace, buckets: int) -> sparse.csr_matrix:
    """One row of unit length per text; a text without words is a row of zeros."""
    single = hashes[tokens.token_ids]
    keys = phrase_keys(single, namespace)
    exists = np.ones(keys.shape, dtype=np.bool_)
    exists[tokens.offsets[1:][tokens.counts > 0] - 1, 1] = False
    phrases = keys[exists]
    start = 2 * tokens.offsets - np.concatenate(([0], np.cumsum(tokens.counts > 0)))
    columns, signs = columns_and_signs(phrases, buckets)
    rows = sparse.csr_matrix((signs, columns.astype(np.int32), start), shape=(len(tokens.counts), buckets))
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return _scale_to_unit_length(rows)


def _scale_to_unit_length(rows: sparse.csr_matrix) -> sparse.csr_matrix:
    counts = np.diff(rows.indptr)
    # Entries are small whole numbers, so the running sum of squares is exact and so is each difference of it.
    squares = np.concatenate(([0.0], np.cumsum(rows.data**2)))[rows.indptr]
    norms = np.sqrt(np.diff(squares))
    rows.data /= np.repeat(norms, counts)
    return rows
