"""Columns that divide rows into segments, such as a language or a task: which they are, and one value per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import SEGMENT_PREFIX
from deconfound.errors import Problem, UsageError
from deconfound.formatting import quote
from deconfound.loading.convert import as_strings
from deconfound.loading.raw import Column

MAX_COLUMNS = 20  # all segments of all columns share one confidence level: more of them show less


def is_segment(name: str) -> bool:
    """Whether a canonical column divides rows into segments."""
    return name.startswith(SEGMENT_PREFIX)


def segment_mapping(names: Sequence[str] | str, columns: Mapping[str, str]) -> dict[str, str]:
    """``columns`` and, for each column of segments, what --map would say; a name in ``columns`` goes first."""
    chosen = [names] if isinstance(names, str) else list(names)
    if len(set(chosen)) < len(chosen):
        raise UsageError("segments (--segments) names a column more than once; name each once.")
    if not all(isinstance(name, str) and name.strip() for name in chosen):
        raise UsageError("segments (--segments) has an empty name; name columns, separated by commas.")
    if len(chosen) > MAX_COLUMNS:
        raise UsageError(f"segments (--segments) names {len(chosen)} columns; name at most {MAX_COLUMNS}.")
    return {**{f"{SEGMENT_PREFIX}{name}": name for name in chosen}, **columns}


def to_segments(column: Column, problems: list[Problem]) -> pa.ChunkedArray | None:
    """Text without spaces around it, null where it is missing or blank; None if the column cannot be read as text.

    Words such as NA are no missing values here: it may be a country.
    """
    values = pa.chunked_array([pa.nulls(len(column.values), pa.string())])
    if not pa.types.is_null(column.values.type):
        read = as_strings(column, problems)
        if read is None:
            return None
        values = read
    trimmed = pc.utf8_trim_whitespace(values)
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


def without_segments(table: pa.Table) -> pa.Table:
    """The table without columns of segments."""
    return table.drop_columns([name for name in table.column_names if is_segment(name)])


def describe_value(column: str, value: str) -> str:
    """A value of a canonical column in a message: language "de"."""
    return f"{quote(column.removeprefix(SEGMENT_PREFIX))} {quote(value)}"
