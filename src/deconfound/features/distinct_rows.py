"""Table -> features before scaling; every distinct text of a table is read once, in batches that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from deconfound.data import TEXT_COLUMNS
from deconfound.data.encode import encode_by_appearance
from deconfound.design import FloatArray, IntArray
from deconfound.errors import DataError, Problem, UsageError
from deconfound.features.hashing import hash_texts, word_hashes
from deconfound.features.modifiers import WORD_BUCKETS, context_modifiers
from deconfound.features.surface import SURFACE_STATISTICS, surface_statistics
from deconfound.features.tokenize import TokenizedPairs, tokenize_pairs
from deconfound.formatting import join_names
from deconfound.words.prompt_style import STATISTICS
from deconfound.words.word_splitting import MAX_CHARACTERS

BATCH_BYTES = 1_000_000
"""Text processed at once: enough for vectorized counting to pay off, and small next to the features."""

BYTES_PER_TEXT = 64
"""Added to the size of every text; it bounds the number of texts in a batch, however short they are."""

GROWTH = 1.1
"""Spare room of the sparse matrix over what the rows so far suggest."""


@dataclass(frozen=True, slots=True)
class BlockLayout:
    """Which blocks of features a table is turned into."""

    buckets: int  # 0 without hashed text
    surface: bool
    columns: tuple[str, ...]

    @property
    def reads_text(self) -> bool:
        """Whether contexts and outputs are needed."""
        return self.buckets > 0 or self.surface

    @property
    def block_widths(self) -> tuple[int, ...]:
        """Widths of the parts of the dense block: surface statistics, then columns."""
        return tuple(width for width in (len(SURFACE_STATISTICS) * self.surface, len(self.columns)) if width)

    @property
    def dense_names(self) -> tuple[str, ...]:
        """Names of the columns of the dense block."""
        return (*(name for name, _ in SURFACE_STATISTICS if self.surface), *self.columns)

    @property
    def modifier_widths(self) -> tuple[int, ...]:
        """Widths of the parts of the effect modifiers: words and statistics of the context, then columns."""
        of_text = (WORD_BUCKETS, STATISTICS) if self.buckets else ()
        return (*of_text, len(self.columns)) if self.columns else of_text


@dataclass(frozen=True, slots=True)
class DistinctRows:
    """The distinct rows of a table: contexts in order of appearance and, within a context, rows likewise."""

    row_index: IntArray  # (n,) the distinct row of each table row
    counts: IntArray  # (u,) table rows per distinct row
    first_row: IntArray  # (u,) the first table row of each
    context: IntArray  # (u,) into contexts
    output: IntArray  # (u,) into outputs
    contexts: pa.Array  # distinct, in order of appearance; empty without text
    outputs: pa.Array


@dataclass(frozen=True, slots=True)
class ExtractedFeatures:
    """The features of a table's distinct rows, statistics and columns in their own units."""

    rows: DistinctRows
    text: sparse.csr_matrix | None  # (u, buckets)
    values: FloatArray  # (u, s), in the order of ``BlockLayout.block_widths``
    modifiers: FloatArray  # (u, c), in the order of ``BlockLayout.modifier_widths``


def extract_features(table: pa.Table, layout: BlockLayout) -> ExtractedFeatures:
    """Hash and measure every distinct text of a table, batch by batch."""
    rows = distinct_rows(table, layout.reads_text, layout.columns)
    text, statistics = _CsrBuilder(len(rows.first_row), layout.buckets), [np.empty((0, len(SURFACE_STATISTICS)))]
    modifiers = [np.empty((0, WORD_BUCKETS + STATISTICS))]
    for pairs in text_batches(rows) if layout.reads_text else ():
        if layout.buckets:
            hashes = word_hashes(pairs.vocabulary)
            contexts = hash_texts(pairs.context_tokens, hashes, "context", layout.buckets)
            outputs = hash_texts(pairs.output_tokens, hashes, "output", layout.buckets)
            text.append(contexts[pairs.context] + outputs[pairs.output])
            modifiers.append(context_modifiers(pairs, contexts))
        if layout.surface:
            statistics.append(surface_statistics(pairs))
    columns = read_numeric_columns(table, layout.columns)[rows.first_row]
    return ExtractedFeatures(
        rows,
        text.to_matrix() if layout.buckets else None,
        np.hstack([np.vstack(statistics), columns]) if layout.surface else columns,
        np.hstack([np.vstack(modifiers), columns]) if layout.buckets else columns,
    )


def distinct_rows(table: pa.Table, text: bool, columns: tuple[str, ...]) -> DistinctRows:
    """Group the rows with equal context and output, if ``text``, and equal values in the given columns."""
    required = (*(TEXT_COLUMNS if text else ()), *columns)
    present = set(table.column_names)
    missing = [name for name in required if name not in present]
    if missing:
        raise UsageError(f"The table has no column {join_names(missing)}, which the features were fitted on. Add it.")
    zeros = np.zeros(table.num_rows, dtype=np.int64)
    no_text = pa.array([], pa.large_string())
    contexts, context = _encode_text(table, "context") if text else (no_text, zeros)
    outputs, output = _encode_text(table, "output") if text else (no_text, zeros)
    values = _row_codes(read_numeric_columns(table, columns)) if columns else zeros
    order = np.lexsort((values, output, context))
    is_new = np.zeros(len(order), dtype=np.bool_)
    for codes in (context, output, values):
        is_new |= np.diff(codes[order], prepend=-1) != 0
    # The sort is stable, so the first row of a group in this order is also its first in the table.
    first = order[is_new]
    number = np.empty(len(first), dtype=np.int64)
    ranked = np.lexsort((first, context[first]))
    number[ranked] = np.arange(len(first))
    row_index = np.empty(len(order), dtype=np.int64)
    row_index[order] = number[np.cumsum(is_new) - 1]
    first = first[ranked]
    counts = np.bincount(row_index, minlength=len(first))
    return DistinctRows(row_index, counts, first, context[first], output[first], contexts, outputs)


def read_numeric_columns(table: pa.Table, names: tuple[str, ...]) -> FloatArray:
    """Numeric columns side by side; every entry must be a finite number."""
    values = np.empty((table.num_rows, len(names)))
    for at, name in enumerate(names):
        values[:, at] = table[name].to_numpy()
        if not np.isfinite(values[:, at]).all():
            row = int(np.flatnonzero(~np.isfinite(values[:, at]))[0]) + 1
            raise DataError([Problem(f"row {row}", f"{name} is not a finite number", "Fill it in or leave it out.")])
    return values


def text_batches(rows: DistinctRows) -> Iterator[TokenizedPairs]:
    """The tokenized texts of the distinct rows, in their order, about ``BATCH_BYTES`` at a time."""
    sizes = _text_sizes(rows.outputs)[rows.output]
    new_context = np.diff(rows.context, prepend=-1) != 0
    sizes[new_context] += _text_sizes(rows.contexts)[rows.context[new_context]]
    batch = np.cumsum(sizes) // BATCH_BYTES
    edges = np.flatnonzero(np.diff(batch, prepend=-1, append=-1))
    for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        context = rows.context[start:stop]
        output, output_index = np.unique(rows.output[start:stop], return_inverse=True)
        contexts = rows.contexts.slice(context[0], context[-1] - context[0] + 1).to_pylist()
        outputs = rows.outputs.take(pa.array(output)).to_pylist()
        yield tokenize_pairs(contexts, outputs, context - context[0], output_index)


def count_truncated_texts(table: pa.Table) -> int:
    """Number of distinct contexts and outputs longer than ``MAX_CHARACTERS``."""
    columns = [table[name] for name in TEXT_COLUMNS]
    return sum(len(pc.unique(column.filter(pc.greater(pc.utf8_length(column), MAX_CHARACTERS)))) for column in columns)


def _encode_text(table: pa.Table, name: str) -> tuple[pa.Array, IntArray]:
    column = table[name]
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0]) + 1
        raise DataError([Problem(f"row {row}", f"there is no {name}", "Fill it in or leave the row out.")])
    return encode_by_appearance(column.cast(pa.large_string()))


def _row_codes(values: FloatArray) -> IntArray:
    """Number rows by first appearance; rows are equal if a 128-bit digest of their numbers is."""
    codes: dict[bytes, int] = {}
    rows = values + 0.0  # -0.0 and 0.0 become the same bytes
    digests = (blake2b(row, digest_size=16).digest() for row in rows)
    return np.fromiter((codes.setdefault(digest, len(codes)) for digest in digests), np.int64, len(rows))


def _text_sizes(texts: pa.Array) -> IntArray:
    lengths: IntArray = pc.binary_length(texts).to_numpy().astype(np.int64)
    return np.minimum(lengths, MAX_CHARACTERS) + BYTES_PER_TEXT


class _CsrBuilder:
    """A sparse matrix built from blocks of rows, without a second copy of its entries."""

    def __init__(self, rows: int, buckets: int) -> None:
        self.shape = (rows, buckets)
        self.indptr = np.zeros(rows + 1, dtype=np.int64)
        self.rows = 0
        self.data = np.empty(0)
        self.indices = np.empty(0, dtype=np.int32)

    def append(self, part: sparse.csr_matrix) -> None:
        used, rows = int(self.indptr[self.rows]), self.rows + part.shape[0]
        if used + part.nnz > len(self.data):
            # Room for all rows, if the rest are like those so far; memory that is not written to costs nothing.
            self._resize(int(GROWTH * (used + part.nnz) * self.shape[0] / rows) + 1)
        self.data[used : used + part.nnz] = part.data
        self.indices[used : used + part.nnz] = part.indices
        self.indptr[self.rows : rows + 1] = used + part.indptr
        self.rows = rows

    def to_matrix(self) -> sparse.csr_matrix:
        self._resize(int(self.indptr[-1]))
        return sparse.csr_matrix((self.data, self.indices, self.indptr), shape=self.shape)

    def _resize(self, size: int) -> None:
        if len(self.data):
            self.data.resize(size, refcheck=False)
            self.indices.resize(size, refcheck=False)
        else:
            self.data, self.indices = np.empty(size), np.empty(size, dtype=np.int32)
