"""Find the distinct rows of a table, and read their texts in batches small enough for memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.design import FloatArray, IntArray
from deconfound.errors import DataError, Problem, UsageError
from deconfound.features.texts import Texts, read_texts
from deconfound.features.tokenize import MAX_TEXT

BATCH_BYTES = 1_000_000
"""Text worked on at once: enough for vectorised counting to pay, little enough to go unnoticed in memory."""

TEXT_OVERHEAD = 64
"""Bytes a text counts for beyond its own; it bounds the texts in a batch however short they are."""


@dataclass(frozen=True, slots=True)
class Distinct:
    """The distinct rows of a table, contexts in order of appearance and, within a context, rows likewise."""

    pair: IntArray  # (n,) which distinct row each table row is
    counts: IntArray  # (u,) table rows that each stands for
    first: IntArray  # (u,) the first of them
    context: IntArray  # (u,) into contexts
    output: IntArray  # (u,) into outputs
    contexts: pa.Array  # distinct, in order of appearance; empty without text
    outputs: pa.Array


def distinct_rows(table: pa.Table, text: bool, columns: tuple[str, ...]) -> Distinct:
    """Tell rows apart by context and output, if ``text``, and by the given columns."""
    asked = (*(("context", "output") if text else ()), *columns)
    missing = [name for name in asked if name not in table.column_names]
    if missing:
        raise UsageError(f"The table has no column {', '.join(missing)}; the features were fitted on it. Add it.")
    blank = np.zeros(table.num_rows, dtype=np.int64)
    nothing = pa.array([], pa.large_string())
    contexts, context = _encoded(table, "context") if text else (nothing, blank)
    outputs, output = _encoded(table, "output") if text else (nothing, blank)
    values = _row_codes(read_columns(table, columns)) if columns else blank
    order = np.lexsort((values, output, context))
    change = np.zeros(len(order), dtype=np.bool_)
    for codes in (context, output, values):
        change |= np.diff(codes[order], prepend=-1) != 0
    # The sort is stable, so the row that opens a group is the first of it in the table.
    first = order[change]
    number = np.empty(len(first), dtype=np.int64)
    ranked = np.lexsort((first, context[first]))
    number[ranked] = np.arange(len(first))
    pair = np.empty(len(order), dtype=np.int64)
    pair[order] = number[np.cumsum(change) - 1]
    first = first[ranked]
    counts = np.bincount(pair, minlength=len(first))
    return Distinct(pair, counts, first, context[first], output[first], contexts, outputs)


def read_columns(table: pa.Table, names: tuple[str, ...]) -> FloatArray:
    """Numeric columns side by side; every entry must be a finite number."""
    values = np.empty((table.num_rows, len(names)))
    for at, name in enumerate(names):
        values[:, at] = table[name].to_numpy()
        if not np.isfinite(values[:, at]).all():
            row = int(np.flatnonzero(~np.isfinite(values[:, at]))[0]) + 1
            raise DataError([Problem(f"row {row}", f"{name} is not a finite number", "Fill it in or leave it out.")])
    return values


def batches(rows: Distinct) -> Iterator[Texts]:
    """The texts of the distinct rows, in their order, some ``BATCH_BYTES`` at a time."""
    sizes = _sizes(rows.outputs)[rows.output]
    opens = np.diff(rows.context, prepend=-1) != 0
    sizes[opens] += _sizes(rows.contexts)[rows.context[opens]]
    batch = np.cumsum(sizes) // BATCH_BYTES
    edges = np.flatnonzero(np.diff(batch, prepend=-1, append=-1))
    for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        context = rows.context[start:stop]
        output, place = np.unique(rows.output[start:stop], return_inverse=True)
        contexts = rows.contexts.slice(context[0], context[-1] - context[0] + 1).to_pylist()
        yield read_texts(contexts, rows.outputs.take(pa.array(output)).to_pylist(), context - context[0], place)


def longer_texts(table: pa.Table) -> int:
    """How many distinct contexts and outputs of a table are cut at ``MAX_TEXT``."""
    columns = [table[name] for name in ("context", "output")]
    return sum(len(pc.unique(column.filter(pc.greater(pc.utf8_length(column), MAX_TEXT)))) for column in columns)


def _encoded(table: pa.Table, name: str) -> tuple[pa.Array, IntArray]:
    column = table[name]
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0]) + 1
        raise DataError([Problem(f"row {row}", f"there is no {name}", "Fill it in or leave the row out.")])
    if not len(column):  # older Arrow cannot join no chunks at all
        return pa.array([], pa.large_string()), np.zeros(0, dtype=np.int64)
    # Wide offsets: the distinct texts of a long log may exceed the 2 GB of Arrow's plain strings.
    encoded = column.cast(pa.large_string()).dictionary_encode().combine_chunks()
    return encoded.dictionary, encoded.indices.to_numpy().astype(np.int64)


def _row_codes(values: FloatArray) -> IntArray:
    """Number rows by first appearance; rows are told apart by a 128-bit digest of their numbers."""
    codes: dict[bytes, int] = {}
    rows = values + 0.0  # makes -0.0 and 0.0 the same bytes
    digests = (blake2b(row, digest_size=16).digest() for row in rows)
    return np.fromiter((codes.setdefault(digest, len(codes)) for digest in digests), np.int64, len(rows))


def _sizes(texts: pa.Array) -> IntArray:
    lengths: IntArray = pc.binary_length(texts).to_numpy().astype(np.int64)
    return np.minimum(lengths, MAX_TEXT) + TEXT_OVERHEAD
