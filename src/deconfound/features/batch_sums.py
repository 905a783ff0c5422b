"""Add rows of a log to sums over it, with all threads; their number never changes a bit of the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from deconfound.design import FloatArray, IntArray
from deconfound.linalg.log_sums import LogBatch, LogSums
from deconfound.threads import parallel_map

BLOCK_SHIFT = 9
"""Columns of a tile, as a power of two: 512 * 512 sums are 2 MB; 256 columns took a quarter longer (measured)."""

DENSE_SHARE = 0.22
"""Root mean square share of nonzero columns above which a product of dense matrices is faster (measured)."""

DENSE_ROWS = 2_048
"""Rows written out at once for that product."""


Entries: TypeAlias = tuple[IntArray, NDArray[np.int32], FloatArray]  # edges of blocks, columns, values


def add_batch(sums: LogSums, batch: LogBatch) -> None:
    """Add all rows of a batch."""
    add_slice(sums, PreparedBatch.from_batch(batch), 0, len(batch.model))


@dataclass(frozen=True, slots=True, eq=False)
class PreparedBatch:
    """A batch whose sparse rows are cut into blocks of columns."""

    batch: LogBatch
    shared: FloatArray  # (n, shared) dense features, one and targets
    own: FloatArray  # (n, 1 + modifiers) one and modifiers
    edges: IntArray | None  # (blocks + 1, n) where each block begins in each row; None without text

    @classmethod
    def from_batch(cls, batch: LogBatch) -> Self:
        """Cut the rows."""
        ones = np.ones((len(batch.model), 1))
        shared = np.hstack([batch.dense, ones, batch.targets])
        edges = None if batch.text is None else _find_edges(batch.text)
        return cls(batch, shared, np.hstack([ones, batch.modifiers]), edges)


def _find_edges(text: sparse.csr_matrix) -> IntArray:
    from deconfound.features.kernels.gram_kernels import find_edges

    blocks = -(-text.shape[1] // (1 << BLOCK_SHIFT))
    edges = np.empty((blocks + 1, text.shape[0]), dtype=np.int64)
    find_edges(text.indptr.astype(np.int64), text.indices, BLOCK_SHIFT, edges)
    return edges


def add_slice(sums: LogSums, prepared: PreparedBatch, first: int, last: int) -> None:
    """Add the rows ``first`` to ``last`` - 1."""
    batch, shared, own = prepared.batch, prepared.shared[first:last], prepared.own[first:last]
    sums.shared += shared.T @ shared
    model = batch.model[first:last]
    starts = np.flatnonzero(np.diff(model, prepend=model[0] - 1)) if len(model) else np.zeros(0, dtype=np.int64)
    ranges = list(zip(starts.tolist(), [*starts[1:].tolist(), len(model)], strict=True))
    for start, stop in ranges:
        of_model, mine = sums.of_model(batch.names[model[start]]), own[start:stop]
        of_model.shared += shared[start:stop].T @ mine
        of_model.modifiers += mine.T @ mine
    if batch.text is not None and prepared.edges is not None and len(model):
        entries = prepared.edges, batch.text.indices, batch.text.data
        _add_text(sums, prepared, entries, [(first + start, first + stop) for start, stop in ranges])
        _add_gram(sums.text, batch.text, prepared.edges, first, last)


def _add_text(sums: LogSums, prepared: PreparedBatch, entries: Entries, ranges: list[tuple[int, int]]) -> None:
    """Products of text with the dense columns; ``ranges`` are the rows of one model each."""
    from deconfound.features.kernels.gram_kernels import add_products

    batch = prepared.batch

    def add_block(block: int) -> None:
        for start, stop in ranges:
            of_model = sums.of_model(batch.names[batch.model[start]])
            add_products(*entries, start, stop, block, prepared.own, of_model.text)
            add_products(*entries, start, stop, block, prepared.shared, sums.text_by_shared)

    parallel_map(add_block, range(len(entries[0]) - 1))


def _add_gram(total: FloatArray, text: sparse.csr_matrix, edges: IntArray, first: int, last: int) -> None:
    """Add X'X to the upper triangle of ``total``; what is below is undefined."""
    entries = (edges[-1, first:last] - edges[0, first:last]).astype(np.float64)
    if np.sqrt((entries**2).mean()) > DENSE_SHARE * text.shape[1]:
        for start in range(first, last, DENSE_ROWS):
            _add_dense_gram(total, text[start : min(start + DENSE_ROWS, last)].toarray())
        return
    from deconfound.features.kernels.gram_kernels import add_tile

    size, blocks, columns = 1 << BLOCK_SHIFT, len(edges) - 1, text.indices.view(np.uint32)

    def add_block(tile: tuple[int, int]) -> None:
        left, right = tile
        sums = np.zeros((size, size))
        add_tile(edges, columns, text.data, first, last, left, right, BLOCK_SHIFT, sums)
        place = total[left * size : (left + 1) * size, right * size : (right + 1) * size]
        place += sums[: place.shape[0], : place.shape[1]]

    parallel_map(add_block, [(left, right) for left in range(blocks) for right in range(left, blocks)])


def _add_dense_gram(total: FloatArray, rows: FloatArray) -> None:
    size = 1 << BLOCK_SHIFT

    def add_block(start: int) -> None:
        total[start : start + size, start:] += rows[:, start : start + size].T @ rows[:, start:]

    parallel_map(add_block, range(0, rows.shape[1], size))
