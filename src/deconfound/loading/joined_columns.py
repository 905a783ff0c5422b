"""One column of several files that may store it in different types -> one array that loses nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from deconfound.errors import Problem
from deconfound.formatting import quote
from deconfound.loading.convert import MAX_EXACT_INTEGER, decimals_to_strings, is_string_type
from deconfound.loading.decoded_size import decode_dictionary
from deconfound.loading.raw import NESTED, JoinedColumn, python_value

TEXT, NUMBERS, TIMES, ZONED, LISTS, OTHER = "text", "numbers", "times", "times with a zone", "lists or objects", "other"
UTC = pa.timestamp("us", "UTC")
CODE = r"^\s*[+-]?0\d+\s*$"  # 007 is a name, and no way to write the number 7


@dataclass(frozen=True, slots=True, eq=False)
class FilePart:
    """The values of a column in one file; None if the file lacks it."""

    source: str
    rows: int
    values: pa.ChunkedArray | None

    @property
    def kind(self) -> str | None:
        """What the values are, in words; None where the file has none."""
        return None if self.values is None or self.values.null_count == self.rows else _kind(self.values.type)


def join_column(name: str, parts: Sequence[FilePart]) -> tuple[pa.ChunkedArray, JoinedColumn | None]:
    """The values of all files below each other, and what a reader should know if they had to become text.

    Numbers join as numbers and times as times. Otherwise all become text, in which every reader of columns finds the
    numbers, times and messages again, as in a CSV.
    """
    parts = [FilePart(part.source, part.rows, _plain(part.values)) for part in parts]
    kinds = {kind for part in parts if (kind := part.kind) is not None}
    joined = _concatenate(parts) if len(kinds) <= 1 and not _differ_in_nesting(parts) else None
    if joined is not None:
        return joined, None
    texts = [FilePart(part.source, part.rows, None if part.values is None else _as_text(part.values)) for part in parts]
    joined = _concatenate(texts)
    if joined is None:  # all are strings, or null
        raise TypeError(f"{name} did not become text")
    return joined, JoinedColumn(_description(name, parts), _doubt(name, parts))


def _plain(values: pa.ChunkedArray | None) -> pa.ChunkedArray | None:
    """Types that differ in storage only become the same: dictionaries, kinds of strings, zones, days."""
    if values is None:
        return None
    values, kind = decode_dictionary(values)
    if is_string_type(kind):
        return values.cast(pa.large_string())
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return values.cast(UTC, safe=False)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return values.cast(pa.timestamp("us"), safe=False)
    return values


def _differ_in_nesting(parts: Sequence[FilePart]) -> bool:
    """Whether some files have objects as such and others as JSON; Arrow would make one object of both."""
    nested = {part.values.type == NESTED for part in parts if part.kind == LISTS and part.values is not None}
    return len(nested) > 1


def _kind(kind: pa.DataType) -> str:
    if is_string_type(kind):
        return TEXT
    if pa.types.is_boolean(kind):
        return "true or false"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return NUMBERS
    if pa.types.is_timestamp(kind):
        return TIMES if kind.tz is None else ZONED
    return LISTS if pa.types.is_nested(kind) else OTHER


def _concatenate(parts: Sequence[FilePart]) -> pa.ChunkedArray | None:
    """The values below each other, nulls for a file without any; None if Arrow has no type for all of them."""
    tables = [pa.table({"": pa.nulls(part.rows) if part.kind is None else part.values}) for part in parts]
    try:
        return pa.concat_tables(tables, promote_options="permissive")[0]
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return None  # integers that a float cannot hold, among others


def _as_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Every value as a CSV would have it: digits, true and false, ISO times, JSON."""
    kind = _kind(values.type)
    if kind == NUMBERS and pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), None, values)
    if pa.types.is_decimal(values.type):
        return decimals_to_strings(values).cast(pa.large_string())
    if kind in (LISTS, OTHER):
        cells = [_cell_text(value) for value in values]
        return pa.chunked_array([pa.array(cells, pa.large_string())])
    return values.cast(pa.large_string())


def _cell_text(value: pa.Scalar) -> str | None:
    cell = python_value(value)
    if value.type == NESTED and isinstance(cell, dict):
        return str(cell["json"])
    return cell if cell is None or isinstance(cell, str) else json.dumps(cell, ensure_ascii=False, default=str)


def _description(name: str, parts: Sequence[FilePart]) -> str:
    examples = {kind: part.source for part in reversed(parts) if (kind := part.kind) is not None}
    found = " and ".join(f"{kind} in {source}" for kind, source in reversed(examples.items()))
    return f"column {quote(name)} has {found}; all are read as text" if len(examples) > 1 else ""


def _doubt(name: str, parts: Sequence[FilePart]) -> Problem | None:
    """Why the texts may not be what was meant: a number has lost zeros or digits that the text of another file has."""
    numbers = next((part for part in parts if part.kind == NUMBERS), None)
    if numbers is None:
        return None
    for part in parts:
        code = _first_code(part.values) if part.kind == TEXT else None
        if code is not None:
            what = f"column {quote(name)} has {quote(code)}, but numbers in {numbers.source}, without such zeros"
            return Problem(part.source, what, "Write it as text in all files, with its zeros.")
        if part.kind == NUMBERS and _is_inexact(part.values):
            other = next(each.source for each in parts if each is not part and each.kind is not None)
            what = f"column {quote(name)} has floats that are too large to be exact, unlike {other}"
            return Problem(part.source, what, "Write it as text in all files.")
    return None


def _first_code(texts: pa.ChunkedArray) -> str | None:
    """The first text that is a number with zeros in front."""
    codes = texts.filter(pc.fill_null(pc.match_substring_regex(texts, CODE), False))
    return str(codes[0]).strip() if len(codes) else None


def _is_inexact(values: pa.ChunkedArray) -> bool:
    is_float = pa.types.is_floating(values.type)
    return is_float and bool(pc.any(pc.greater_equal(pc.abs(values), MAX_EXACT_INTEGER)).as_py())
