"""Columns of number lists, such as embeddings -> one feature column per number."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pyarrow as pa

from deconfound.errors import DataError, Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import pluralize, quote
from deconfound.loading.column_mapping import normalize_name
from deconfound.loading.convert import Floats, is_string_type
from deconfound.loading.input_limit import require_cells
from deconfound.loading.raw import NESTED, Column, RawTable, python_value

FEATURE = "feature_"
EMBEDDINGS = ("embedding", "embeddings", "vector", "output_embedding", "output_vector")
SAME_LENGTH = "Write lists of the same length, without missing numbers, in every row."


def embedding_names(raw: RawTable, ignored: Collection[str] = ()) -> frozenset[str]:
    """Normalized names of the columns that are embeddings by their name and type, without ignored ones."""
    names = ((name, normalize_name(name)) for name in raw.arrow.column_names if name not in ignored)
    return frozenset(normal for name, normal in names if normal in EMBEDDINGS and _has_lists(raw.arrow[name]))


def expand_lists(
    raw: RawTable, embeddings: Collection[str], ignored: Collection[str], problems: list[Problem]
) -> RawTable:
    """The table with one column per number instead of lists, for ``feature_*`` and for these embeddings."""
    for name in raw.arrow.column_names:
        normal = normalize_name(name)
        is_feature = normal.startswith(FEATURE) and _has_lists(raw.arrow[name])
        if name in ignored or not (normal in embeddings or is_feature):
            continue
        try:
            raw = _expand(raw, name, normal)
        except DataError as error:
            problems += error.problems
    return raw


def _has_lists(values: pa.ChunkedArray) -> bool:
    """Whether the first cell with a value is a list, nested or as JSON in a text."""
    kind = values.type
    if _is_list(kind) or kind == NESTED:
        return True
    first = next((python_value(value) for value in values[:1000] if value.is_valid), None)
    return is_string_type(kind) and isinstance(first, str) and first.lstrip().startswith("[")


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _expand(raw: RawTable, name: str, normal: str) -> RawTable:
    numbers = _numbers(raw.column(name))
    width = numbers.shape[1]
    require_cells(raw.source, len(numbers), raw.arrow.num_columns + width)
    stem = normal if normal.startswith(FEATURE) else FEATURE + normal
    digits = len(str(width - 1))
    features = {f"{stem}_{at:0{digits}d}": pa.array(numbers[:, at]) for at in range(width)}
    clash = next((feature for feature in features if feature in raw.arrow.column_names), None)
    if clash is not None:
        what = f"column {quote(name)} has lists, and there is already a column {quote(clash)}"
        raise DataError([Problem(raw.source, what, "Rename one of them.")])
    arrow = raw.arrow.drop_columns([name])
    arrow = pa.Table.from_arrays([*arrow.columns, *features.values()], names=[*arrow.column_names, *features])
    message = f"{raw.source}: {name} has lists, which are read as {pluralize(width, 'feature')} ({stem}_*)."
    return replace(raw, arrow=arrow, findings=(*raw.findings, Finding("features", "pass", Notice(message))))


def _numbers(column: Column) -> Floats:
    """The lists as a matrix; a missing list or number, or another length, raises with its row."""
    if _is_list(column.values.type):
        fast = _from_arrow(column.values)
        if fast is not None:
            return fast
    rows = [_parse(value) for value in column.values]
    width = len(next((row for row in rows if row), ()))
    bad = np.array([row is None or len(row) != width or width == 0 for row in rows])
    if bad.any():
        description = f"is not a list of {width:,} numbers" if width else "is not a list of numbers"
        raise DataError([column.row_problem(bad, description, SAME_LENGTH)])
    return np.array(rows, dtype=np.float64)


def _from_arrow(values: pa.ChunkedArray) -> Floats | None:
    """The matrix without a detour through Python; None where a row or a number is missing or a length differs."""
    flat = pa.concat_arrays([chunk.flatten() for chunk in values.chunks]) if values.num_chunks else pa.array([])
    numeric = pa.types.is_floating(flat.type) or pa.types.is_integer(flat.type)
    if not numeric or values.null_count or flat.null_count or not len(flat) or len(flat) % len(values):
        return None
    width = len(flat) // len(values)
    lengths = pa.compute.list_value_length(values).to_numpy()
    return flat.cast(pa.float64()).to_numpy().reshape(-1, width) if (lengths == width).all() else None


def _parse(value: pa.Scalar) -> list[float] | None:
    cell = python_value(value)
    if value.type == NESTED and isinstance(cell, dict):
        cell = cell["json"]
    try:
        numbers = json.loads(cell) if isinstance(cell, str) else cell
        if isinstance(numbers, list) and all(type(number) in (int, float) for number in numbers):
            return [float(number) for number in numbers]
    except (ValueError, RecursionError, OverflowError):
        pass
    return None
