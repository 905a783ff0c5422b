"""Table -> hashed text and plain numbers, before anything is learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import sparse

from deconfound.design import FloatArray
from deconfound.features.hashing import hashed, word_hashes
from deconfound.features.rows import Distinct, batches, distinct_rows, read_columns
from deconfound.features.surface import SURFACE, surface
from deconfound.features.texts import Texts


@dataclass(frozen=True, slots=True)
class Shape:
    """Which blocks are made of a table."""

    buckets: int  # 0 without hashed text
    surface: bool
    columns: tuple[str, ...]

    @property
    def reads_text(self) -> bool:
        """Whether contexts and outputs are looked at."""
        return self.buckets > 0 or self.surface

    @property
    def groups(self) -> tuple[int, ...]:
        """Widths of the parts of the dense block: surface statistics, then columns."""
        return tuple(width for width in (len(SURFACE) * self.surface, len(self.columns)) if width)


@dataclass(frozen=True, slots=True)
class Raw:
    """The distinct rows of a table in numbers, surface statistics and columns in their own units."""

    rows: Distinct
    text: sparse.csr_matrix | None  # (u, buckets)
    values: FloatArray  # (u, s), in the order of ``Shape.groups``


def read_raw(table: pa.Table, shape: Shape) -> Raw:
    """Look at every distinct text of a table once, batch by batch."""
    rows = distinct_rows(table, shape.reads_text, shape.columns)
    hashes, statistics = _Stack(len(rows.first), shape.buckets), [np.empty((0, len(SURFACE)))]
    for texts in batches(rows) if shape.reads_text else ():
        if shape.buckets:
            hashes.add(_hashed_pairs(texts, shape.buckets))
        if shape.surface:
            statistics.append(surface(texts))
    values = [np.vstack(statistics)] if shape.surface else [np.empty((len(rows.first), 0))]
    if shape.columns:
        values.append(read_columns(table, shape.columns)[rows.first])
    return Raw(rows, hashes.matrix() if shape.buckets else None, np.hstack(values))


def _hashed_pairs(texts: Texts, buckets: int) -> sparse.csr_matrix:
    hashes = word_hashes(texts.vocabulary)
    contexts = hashed(texts.context_words, hashes, "context", buckets)
    outputs = hashed(texts.output_words, hashes, "output", buckets)
    return contexts[texts.context] + outputs[texts.output]


class _Stack:
    """Rows of a sparse matrix, collected batch by batch without ever holding them twice."""

    def __init__(self, rows: int, buckets: int) -> None:
        self.shape = (rows, buckets)
        self.start = np.zeros(rows + 1, dtype=np.int64)
        self.rows = 0
        self.data = np.empty(0)
        self.indices = np.empty(0, dtype=np.int32)

    def add(self, part: sparse.csr_matrix) -> None:
        filled, rows = int(self.start[self.rows]), self.rows + part.shape[0]
        if filled + part.nnz > len(self.data):
            # Room for all rows to come, if they are like those so far; memory not written to costs nothing yet.
            self._resize(int(1.1 * (filled + part.nnz) * self.shape[0] / rows) + 1)
        self.data[filled : filled + part.nnz] = part.data
        self.indices[filled : filled + part.nnz] = part.indices
        self.start[self.rows : rows + 1] = filled + part.indptr
        self.rows = rows

    def matrix(self) -> sparse.csr_matrix:
        self._resize(int(self.start[-1]))
        return sparse.csr_matrix((self.data, self.indices, self.start), shape=self.shape)

    def _resize(self, size: int) -> None:
        if len(self.data):
            self.data.resize(size, refcheck=False)
            self.indices.resize(size, refcheck=False)
        else:
            self.data, self.indices = np.empty(size), np.empty(size, dtype=np.int32)
