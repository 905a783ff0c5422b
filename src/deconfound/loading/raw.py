"""A user's table as it was read, and problems that point at its rows and columns."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from deconfound.data import Mask, RowNumbers
from deconfound.errors import Problem
from deconfound.findings import Finding
from deconfound.formatting import join_names, pluralize, quote, shorten

MAX_EXAMPLES = 3  # rows and values listed in one message
NESTED = pa.struct([("json", pa.string())])  # type of a column in which some cell is a list or an object


@dataclass(frozen=True, slots=True)
class JoinedColumn:
    """How a column was joined that files store in different types, and why this may be wrong where it is a name."""

    notice: str
    doubt: Problem | None = None


@dataclass(frozen=True, slots=True)
class PartialColumn:
    """A column that only some files of a table have: the files without it, and one that has it.

    ``columns`` are those of each file without it, under the names that they have there.
    """

    lacking: tuple[str, ...]
    present: str
    columns: tuple[tuple[str, ...], ...]

    def problems(self, what: str, fix: str) -> list[Problem]:
        """One problem for all files with the same columns, which it lists."""
        files: dict[tuple[str, ...], list[str]] = {}
        for file, columns in zip(self.lacking, self.columns, strict=True):
            files.setdefault(columns, []).append(file)
        return [
            Problem(join_names(named), f"{what}, which {self.present} has; the columns are {join_names(columns)}", fix)
            for columns, named in files.items()
        ]


@dataclass(frozen=True, slots=True, eq=False)
class RawTable:
    """The columns of one source under the user's own names.

    ``partial``, ``joined`` and ``renamed`` are about tables in several files: columns that only some of them have, that
    they store in different types, and that some of them name differently (the other name -> the column here).
    ``is_part``: these are some rows of a longer table, and what none of them has, others may have.
    """

    arrow: pa.Table
    source: str
    row_numbers: RowNumbers
    findings: tuple[Finding, ...] = ()
    partial: Mapping[str, PartialColumn] = field(default_factory=dict)
    joined: Mapping[str, JoinedColumn] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    is_part: bool = False

    def column(self, name: str) -> Column:
        """One column, with what is needed to name the place of its values."""
        return Column(name, self.arrow[name], self.source, self.row_numbers)

    def texts(self, name: str) -> list[str]:
        """One column as text without surrounding space; a missing value is empty."""
        return ["" if value is None else str(value).strip() for value in map(python_value, self.arrow[name])]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column of a user's table, under the user's name for it."""

    name: str
    values: pa.ChunkedArray
    source: str
    row_numbers: RowNumbers

    def row_problem(self, bad: Mask, description: str, fix: str, *, show_value: bool = True) -> Problem:
        """One problem for all rows with the same fault: the first row and its value, a few more, and the count.

        ``description`` completes the sentence: "outcome 1.7 is outside 0 to 1", or "outcome has no value" without
        ``show_value``.
        """
        rows = np.flatnonzero(bad)
        values = list(dict.fromkeys(self._format_value(int(row)) for row in rows[:MAX_EXAMPLES])) if show_value else []
        also = f"; also {', '.join(values[1:])}" if values[1:] else ""
        subject = " ".join([self._format_name(), *values[:1]])
        what = f"{subject} {description}{row_examples(self.row_numbers, rows, also)}"
        return Problem(self.row_numbers.locate(self.source, int(rows[0])), what, fix)

    def column_problem(self, description: str, fix: str) -> Problem:
        """A fault of the whole column, without a row."""
        return Problem(self.source, f"{self._format_name()} {description}", fix)

    def _format_name(self) -> str:
        return self.name if self.name.isidentifier() else quote(self.name)

    def _format_value(self, row: int) -> str:
        """A value as it appears in a message: text in quotes, unless it is a number."""
        value = python_value(self.values[row])
        if self.values.type == NESTED and isinstance(value, dict):
            return shorten(value["json"])
        return quote(value) if isinstance(value, str) and not _is_number(value) else shorten(str(value))


def python_value(scalar: pa.Scalar) -> object:
    """A value as Python has it; the stored number and its type where it is beyond Python's range, as of some dates."""
    try:
        return scalar.as_py()
    except (OverflowError, ValueError, LookupError):  # the last from an unknown time zone
        return f"{getattr(scalar, 'value', '?')} ({scalar.type})"


def row_examples(row_numbers: RowNumbers, rows: Iterable[int], note: str = "") -> str:
    """Count the rows with one fault and list the first few, in parentheses; nothing for a single row."""
    at = [int(row) for row in rows]
    if len(at) <= 1:
        return ""
    listed = ", ".join(map(row_numbers.label, at[:MAX_EXAMPLES])) + (", …" if len(at) > MAX_EXAMPLES else "")
    return f" ({pluralize(len(at), row_numbers.unit)}: {listed}{note})"


def column_from_values(values: Sequence[object]) -> pa.Array:
    """Build one Arrow column from Python values of any type.

    Values of mixed types become the text that was written. A column with a list or an object somewhere becomes
    ``NESTED``: it can be left unused, or refused with the row at fault.
    """
    if any(isinstance(value, dict | list | tuple | set) for value in values):
        return pa.array([{"json": _as_text(v)} if isinstance(v, dict | list) else None for v in values], NESTED)
    types = {type(value) for value in values if value is not None}
    try:
        if len(types) <= 1 or types == {int, float}:
            return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError):
        pass  # integers beyond 64 bits, or objects of a foreign class: their text is exact
    return pa.array([None if _is_missing(value) else _as_text(value) for value in values], pa.string())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
