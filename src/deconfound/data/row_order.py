"""An order of rows that depends on what they contain and never on their order in the file.

Every later step that samples, permutes or splits rows counts them in this order, so that a shuffled file gives the same
numbers. The order is that of a 64-bit hash: sorting by the values themselves would make the first row of a context or
a cluster a special one.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deconfound.data.encode import Codes, encode_by_appearance

Hashes = NDArray[np.uint64]

ASSIGNMENT_COLUMNS = ("model", "assigned_model", "unit")
"""What only says how the model was chosen, like ``propensity_*``."""

SEGMENT_PREFIX = "segment_"  # and the name of a column that divides rows; text, or null where it is missing

TEXTS_AT_ONCE = 10_000  # turned into Python objects
LARGE_COLUMN_BYTES = 1 << 30  # Arrow's plain strings count up to 2 GB in one piece
ROWS_AT_ONCE = 1 << 16  # of such a column, in one piece

_GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def content_order(table: pa.Table) -> Codes:
    """Row numbers in the order of their content.

    The names of models decide only between rows that agree in everything else, so that renaming a model changes no
    sample, nor does a declared assignment. Segments come after them: to ask for segments changes no value. Draw numbers
    come last of all: where the user gave none, they count the rows of the file.
    """
    first = row_hashes(table)
    by_model = sorted(name for name in table.column_names if _describes_choice(name))
    second = _mix(first + _hash_columns(table, by_model))
    segments = sorted(name for name in table.column_names if name.startswith(SEGMENT_PREFIX))
    third = _hash_columns(table, segments)
    draw = table["draw"].to_numpy() if "draw" in table.column_names else np.zeros(table.num_rows)
    return np.lexsort((draw, third, second, first))


def row_hashes(table: pa.Table) -> Hashes:
    """A hash of what each row contains besides the model, segments and draw numbers: the first key of the order."""
    return _hash_columns(table, [name for name in sorted(table.column_names) if _describes_row(name, table)])


def uniform_ranks(hashes: Hashes) -> Hashes:
    """The hash of a content where it occurs first, and a hash of it and of the number of the occurrence later on.

    The rows with the smallest ranks are a simple random sample, however often contents recur.
    """
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])
    number = np.empty(len(hashes), dtype=np.uint64)
    number[order] = np.arange(len(hashes)) - np.repeat(starts, np.diff(np.r_[starts, len(hashes)]))
    return np.where(number > 0, mixed_hashes(hashes + number), hashes)


def take_rows(table: pa.Table, order: Codes) -> pa.Table:
    """The rows in another order, for texts of any total size."""
    index = pa.array(order)
    return pa.table(
        [_take_large(column, order) if _is_large(column) else column.take(index) for column in table.columns],
        schema=table.schema,
    )


def content_hashes(columns: Sequence[pa.ChunkedArray]) -> Hashes:
    """A hash of each row over these columns of text or numbers, in their order."""
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        total = _mix(total + _GOLDEN_RATIO + _hash_column(column))
    return total


def _describes_row(name: str, table: pa.Table) -> bool:
    """Whether a column says something other than who wrote the output; an id stands for the text of its context."""
    if name == "context":
        return "context_id" not in table.column_names
    return name != "draw" and not name.startswith(SEGMENT_PREFIX) and not _describes_choice(name)


def _describes_choice(name: str) -> bool:
    return name in ASSIGNMENT_COLUMNS or name.startswith("propensity_")


def _hash_columns(table: pa.Table, names: list[str]) -> Hashes:
    return content_hashes([table[name] for name in names]) if names else np.zeros(table.num_rows, dtype=np.uint64)


def _hash_column(column: pa.ChunkedArray) -> Hashes:
    if pa.types.is_string(column.type):
        distinct, codes = encode_by_appearance(column)
        starts = range(0, len(distinct), TEXTS_AT_ONCE)
        digests = [_hash_texts(distinct.slice(start, TEXTS_AT_ONCE)) for start in starts]
        return np.asarray(np.concatenate([*digests, np.zeros(1, dtype=np.uint64)])[codes])  # the last is for missing
    numbers = column.to_numpy().astype(np.float64) + 0.0  # -0.0 and 0.0 become the same bits
    return np.asarray(numbers.view(np.uint64))


def _hash_texts(texts: pa.Array) -> Hashes:
    values = texts.cast(pa.large_binary()).to_pylist()
    return np.frombuffer(b"".join(blake2b(text, digest_size=8).digest() for text in values), dtype="<u8")


def mixed_hashes(values: Hashes) -> Hashes:
    """Unrelated numbers for close ones."""
    return _mix(values)


def _mix(values: Hashes) -> Hashes:
    """The finalizer of SplitMix64: close inputs get unrelated outputs."""
    for multiplier, shift in zip(_MIX, (np.uint64(30), np.uint64(27)), strict=True):
        values = (values ^ (values >> shift)) * multiplier
    return values ^ (values >> np.uint64(31))


def _is_large(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type)) and column.nbytes > LARGE_COLUMN_BYTES


def _take_large(column: pa.ChunkedArray, order: Codes) -> pa.ChunkedArray:
    wide = column.cast(pa.large_string()).combine_chunks()
    starts = range(0, len(order), ROWS_AT_ONCE)
    parts = [wide.take(pa.array(order[start : start + ROWS_AT_ONCE])).cast(pa.string()) for start in starts]
    return pa.chunked_array(parts, pa.string())
