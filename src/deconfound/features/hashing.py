"""Hashed words and word pairs: the text block of phi, with each text scaled to unit length."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfound.design import FloatArray, IntArray
from deconfound.features.csr_builder import CsrBuilder
from deconfound.features.text_arrays import TextArray
from deconfound.features.tokenize import Words, split_texts
from deconfound.threads import parallel_map, thread_count
from deconfound.words.phrase_hashing import NAMESPACE_KEYS, Namespace

CHUNK_BYTES = 500_000
"""Text hashed at once by each thread: it stays in the processor's cache."""

CHUNKS_PER_THREAD = 4
"""Chunks hashed before their rows are collected: enough for the threads to end at about the same time."""


def hash_words(words: Words, namespace: Namespace, buckets: int) -> sparse.csr_matrix:
    """One row of unit length per text; a text without words is a row of zeros."""
    from deconfound.features.kernels.hash_kernels import hash_rows

    columns, values = np.empty(2 * len(words.ends), dtype=np.int32), np.empty(2 * len(words.ends))
    row_ends = np.zeros(len(words.offsets), dtype=np.int64)
    keys = NAMESPACE_KEYS[namespace, 1], NAMESPACE_KEYS[namespace, 2], np.uint64(buckets)
    used = hash_rows(words.crc32, words.offsets, *keys, columns, values, row_ends[1:])
    return _matrix(values[:used], columns[:used], row_ends, buckets)


def hash_texts(texts: TextArray, namespace: Namespace, buckets: int) -> sparse.csr_matrix:
    """The same for texts of any number, on several threads."""
    chunks = [texts.take(slice(start, stop)) for start, stop in pairwise(batch_edges(texts.sizes, CHUNK_BYTES))]
    rows, at_once = CsrBuilder(len(texts), buckets), CHUNKS_PER_THREAD * thread_count()
    for first in range(0, len(chunks), at_once):
        # Collected soon, so that the next chunks get the same memory: new pages cost as much as hashing.
        for part in parallel_map(
            lambda chunk: hash_words(split_texts(chunk), namespace, buckets), chunks[first : first + at_once]
        ):
            rows.append(part)
    return rows.to_matrix()


def add_rows(
    contexts: sparse.csr_matrix, outputs: sparse.csr_matrix, context: IntArray, output: IntArray
) -> sparse.csr_matrix:
    """``contexts[context] + outputs[output]``."""
    from deconfound.features.kernels.hash_kernels import merge_rows

    size = int(np.diff(contexts.indptr)[context].sum() + np.diff(outputs.indptr)[output].sum())
    columns, values = np.empty(size, dtype=np.int32), np.empty(size)
    row_ends = np.zeros(len(context) + 1, dtype=np.int64)
    parts = [part for rows in (contexts, outputs) for part in (rows.indptr.astype(np.int64), rows.indices, rows.data)]
    used = merge_rows(*parts, context, output, columns, values, row_ends[1:])
    return _matrix(values[:used], columns[:used], row_ends, contexts.shape[1])


def batch_edges(sizes: IntArray, limit: int) -> list[int]:
    """Where to cut a sequence so that parts have about ``limit`` each: first and last edge included."""
    batch = np.cumsum(sizes) // limit
    edges: list[int] = np.flatnonzero(np.diff(batch, prepend=-1, append=-1)).tolist()
    return edges


def _matrix(values: FloatArray, columns: NDArray[np.int32], row_ends: IntArray, buckets: int) -> sparse.csr_matrix:
    rows = sparse.csr_matrix((values, columns, row_ends), shape=(len(row_ends) - 1, buckets))
    rows.has_canonical_format = True
    return rows
