"""Table -> features before scaling; every distinct text of a table is read once, in batches that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from deconfound.data import TEXT_COLUMNS
from deconfound.data.encode import encode_by_appearance
from deconfound.design import FloatArray, IntArray
from deconfound.errors import DataError, Problem, UsageError
from deconfound.features.csr_builder import CsrBuilder
from deconfound.features.hashing import add_rows, batch_edges, hash_words
from deconfound.features.modifiers import WORD_BUCKETS, context_modifiers
from deconfound.features.surface import SURFACE_STATISTICS, surface_statistics
from deconfound.features.text_arrays import read_texts
from deconfound.features.tokenize import TokenizedPairs, tokenize_pairs
from deconfound.formatting import join_names
from deconfound.threads import parallel_map, thread_count
from deconfound.words.prompt_style import STATISTICS
from deconfound.words.word_splitting import MAX_CHARACTERS

BATCH_BYTES = 1_000_000
"""Text processed at once: enough for vectorized counting to pay off, and small next to the features."""

BYTES_PER_TEXT = 64
"""Added to the size of every text; it bounds the number of texts in a batch, however short they are."""

BATCHES_PER_THREAD = 4
"""Batches read before their features are collected: enough for the threads to end at about the same time."""


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
    text, statistics = CsrBuilder(len(rows.first_row), layout.buckets), [np.empty((0, len(SURFACE_STATISTICS)))]
    modifiers = [np.empty((0, WORD_BUCKETS + STATISTICS))]
    for features in _batch_features(rows, layout) if layout.reads_text else ():
        if features.text is not None and features.modifiers is not None:
            text.append(features.text)
            modifiers.append(features.modifiers)
        if features.statistics is not None:
            statistics.append(features.statistics)
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


@dataclass(frozen=True, slots=True)
class _BatchFeatures:
    """Features of consecutive distinct rows; None for blocks that the layout leaves out."""

    text: sparse.csr_matrix | None
    modifiers: FloatArray | None
    statistics: FloatArray | None


def _batch_features(rows: DistinctRows, layout: BlockLayout) -> Iterator[_BatchFeatures]:
    """The features of the distinct rows, in their order, about ``BATCH_BYTES`` of text at a time and thread."""
    contexts, outputs = read_texts(rows.contexts), read_texts(rows.outputs)

    def read(batch: slice) -> _BatchFeatures:
        context = rows.context[batch]
        output, output_index = np.unique(rows.output[batch], return_inverse=True)
        these = contexts.take(slice(context[0], context[-1] + 1))
        return _read_batch(tokenize_pairs(these, outputs.take(output), context - context[0], output_index), layout)

    sizes = outputs.sizes[rows.output] + BYTES_PER_TEXT
    new_context = np.diff(rows.context, prepend=-1) != 0
    sizes[new_context] += contexts.sizes[rows.context[new_context]] + BYTES_PER_TEXT
    edges = batch_edges(sizes, BATCH_BYTES)
    batches = [slice(start, stop) for start, stop in pairwise(edges)]
    at_once = BATCHES_PER_THREAD * thread_count()
    for first in range(0, len(batches), at_once):
        yield from parallel_map(read, batches[first : first + at_once])


def _read_batch(pairs: TokenizedPairs, layout: BlockLayout) -> _BatchFeatures:
    text, modifiers = None, None
    if layout.buckets:
        contexts = hash_words(pairs.context_words, "context", layout.buckets)
        outputs = hash_words(pairs.output_words, "output", layout.buckets)
        text = add_rows(contexts, outputs, pairs.context, pairs.output)
        modifiers = context_modifiers(pairs, contexts)
    return _BatchFeatures(text, modifiers, surface_statistics(pairs) if layout.surface else None)


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
