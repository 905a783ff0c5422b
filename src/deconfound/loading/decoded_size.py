"""How large rows are once every text is written out: a dictionary has each of its texts once, rows use them often."""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)
LARGE_TEXT_BYTES = 1 << 30  # Arrow's plain strings count up to 2 GB in one piece


def decoded_bytes(rows: pa.RecordBatch | pa.Table) -> int:
    """Bytes of all columns without dictionaries."""
    return sum(column_bytes(column) for column in rows.columns)


def column_bytes(column: pa.Array | pa.ChunkedArray) -> int:
    """The same for one column."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return sum(map(_array_bytes, chunks))


def fitting_pieces(rows: Rows, max_bytes: int) -> list[Rows]:
    """Consecutive rows, halved until each piece fits or is one row."""
    if rows.num_rows <= 1 or decoded_bytes(rows) <= max_bytes:
        return [rows]
    half: int = rows.num_rows // 2
    return [*fitting_pieces(rows.slice(0, half), max_bytes), *fitting_pieces(rows.slice(half), max_bytes)]


def without_dictionaries(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows that fit into memory, with columns of values instead of dictionaries."""
    if not any(pa.types.is_dictionary(column.type) for column in rows.columns):
        return rows
    columns = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in rows.columns]
    fields = [field.with_type(column.type) for field, column in zip(rows.schema, columns, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, rows.schema.metadata))


def decode_dictionary(values: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.DataType]:
    """The values of a dictionary-encoded column, and their type: one for long texts where they are long together."""
    kind = values.type
    if not pa.types.is_dictionary(kind):
        return values, kind
    kind = kind.value_type
    if pa.types.is_string(kind) and column_bytes(values) > LARGE_TEXT_BYTES:
        kind = pa.large_string()
        chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in values.chunks]
        return pa.chunked_array(chunks, kind), kind
    return values.cast(kind), kind


def _array_bytes(values: pa.Array) -> int:
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _dictionary_bytes(values)
    if pa.types.is_struct(kind):
        return sum(map(_array_bytes, values.flatten()))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return 8 * len(values) + _array_bytes(values.flatten())
    return int(values.nbytes)


def _dictionary_bytes(values: pa.DictionaryArray) -> int:
    kind = values.type.value_type
    if not (_has_lengths(kind) and len(values)):
        return len(values) * _width(kind)
    lengths = pc.cast(pc.binary_length(values.dictionary), pa.int64())
    return 4 * len(values) + int(pc.sum(lengths.take(values.indices)).as_py() or 0)


def _has_lengths(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    )


def _width(kind: pa.DataType) -> int:
    try:
        return max(int(kind.bit_width) // 8, 1)
    except ValueError:  # of no fixed width
        return 8
