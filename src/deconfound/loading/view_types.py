"""Texts as views into shared buffers, for which Arrow has few functions yet, become ordinary texts."""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)


def without_views(rows: Rows) -> Rows:
    """The same rows, with columns of string_view and binary_view as large_string and large_binary."""
    for at, field in enumerate(rows.schema):
        kind = _plain_type(field.type)
        if kind is not None:
            rows = rows.set_column(at, field.name, rows.column(at).cast(kind))
    return rows


def _plain_type(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(kind) else None
