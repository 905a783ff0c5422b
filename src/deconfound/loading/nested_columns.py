"""Fields of objects as columns of their own: "feedback.rating" of a column "feedback", where the user names it so."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa

from deconfound.loading.raw import NESTED, RawTable, column_from_values, python_value

SEPARATOR = "."


def with_nested_columns(raw: RawTable, names: Iterable[str]) -> RawTable:
    """The table with a column for every name that leads into the objects of another; other names change nothing."""
    arrow = raw.arrow
    for name in dict.fromkeys(names):
        root = None if name in arrow.column_names else _root(name, arrow.column_names)
        if root is None:
            continue
        path = name.removeprefix(root + SEPARATOR).split(SEPARATOR)
        cells = [_at(object_in(value), path) for value in arrow[root]]
        if any(cell is not None for cell in cells):
            arrow = arrow.append_column(name, pa.chunked_array([column_from_values(cells)]))
    return replace(raw, arrow=arrow)


def _root(name: str, columns: Sequence[str]) -> str | None:
    """The longest column whose name begins a dotted name."""
    found = [column for column in columns if column and name.startswith(column + SEPARATOR)]
    return max(found, key=len, default=None)


def object_in(value: pa.Scalar) -> object:
    """The object in a cell, nested or as JSON in a text; the cell itself if there is none."""
    cell = python_value(value)
    text = cell["json"] if value.type == NESTED and isinstance(cell, dict) else cell
    if not (isinstance(text, str) and text.lstrip().startswith("{")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _at(value: object, path: Sequence[str]) -> object:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def field_names(values: pa.ChunkedArray) -> list[str]:
    """The fields of the first object of a column; none if it has no objects, or only some among other values."""
    if values.type == NESTED and 2 * values.null_count >= len(values):
        return []
    first = next((object_in(value) for value in values if value.is_valid), None)
    return [key for key, part in first.items() if part is not None] if isinstance(first, dict) else []
