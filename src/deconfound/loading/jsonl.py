"""JSON Lines -> RawTable: by Arrow's parser where it is exact, otherwise line by line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deconfound.data import RowNumbers
from deconfound.errors import DataError, Problem
from deconfound.formatting import quote
from deconfound.loading.convert import MAX_EXACT_INTEGER
from deconfound.loading.files import BLOCK_BYTES, MAX_BLOCK_BYTES, byte_positions
from deconfound.loading.raw import RawTable, column_from_values, row_examples

MAX_NESTING = 500  # Arrow's parser overflows the stack, and ends the process, near 20,000 levels
MAX_BLANK_BYTES = 8  # a line this long or longer is not searched for being blank
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?')

ONE_OBJECT = 'Write one object per line, such as {"model": "ant", "outcome": 1}.'
NOT_JSON, CUT_OFF = "is not JSON", "is cut off"
NOT_AN_OBJECT, DUPLICATE_KEY = "is not an object", "has a key twice"
HALF_SURROGATE, TOO_DEEP = "has half of a surrogate pair, which is not a character", "is nested too deeply"
FIXES = {
    NOT_JSON: ONE_OBJECT,
    CUT_OFF: "The file was probably not written to its end: export it again, or delete that line.",
    NOT_AN_OBJECT: ONE_OBJECT,
    DUPLICATE_KEY: "Remove one of the two.",
    HALF_SURROGATE: "Write the text again as UTF-8.",
    TOO_DEEP: ONE_OBJECT,
}


def read_jsonl(data: bytes, source: str) -> RawTable:
    """Read one object per line; a key that a line lacks is a missing value."""
    lines = _Lines(data)
    table = _read_with_arrow(data, lines)
    if table is None:
        table = _read_line_by_line(lines, source)
    return RawTable(table, source, RowNumbers("line", lines.numbers))


class _Lines:
    """Starts and ends of the lines of a file; blank lines are skipped."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        ends = byte_positions(data, b"\n")
        self.ends: NDArray[np.int64] = ends if data.endswith(b"\n") else np.append(ends, len(data))
        self.starts: NDArray[np.int64] = np.concatenate([[0], self.ends[:-1] + 1])
        short = np.flatnonzero(self.ends - self.starts < MAX_BLANK_BYTES)
        blank = [row for row in short if not data[self.starts[row] : self.ends[row]].strip()]
        numbers = np.delete(np.arange(1, len(self.ends) + 1), blank)
        self.numbers: NDArray[np.int64] | None = numbers if blank else None
        self.count = len(numbers)

    @property
    def longest(self) -> int:
        return int((self.ends - self.starts).max())

    def non_blank(self) -> Iterable[bytes]:
        rows = range(len(self.ends)) if self.numbers is None else (number - 1 for number in self.numbers)
        return (self.data[self.starts[row] : self.ends[row]] for row in rows)

    def too_deep(self) -> bool:
        """Whether some line nests deeper than ``MAX_NESTING``; brackets inside strings do not count."""
        if self.data.count(b"[") + self.data.count(b"{") <= self.count + MAX_NESTING:
            return False
        suspects = (line for line in self.non_blank() if line.count(b"[") + line.count(b"{") > MAX_NESTING)
        return any(_depth(line) > MAX_NESTING for line in suspects)


def _depth(line: bytes) -> int:
    marks = np.frombuffer(STRING.sub(b"", line), np.uint8)
    steps = np.isin(marks, list(b"[{")).astype(int) - np.isin(marks, list(b"]}")).astype(int)
    return int(np.cumsum(steps).max(initial=0))


def _read_with_arrow(data: bytes, lines: _Lines) -> pa.Table | None:
    """Read with Arrow; None where its result might differ from what was written."""
    from pyarrow import json as arrow_json

    if lines.longest >= MAX_BLOCK_BYTES or lines.too_deep():
        return None
    reading = arrow_json.ReadOptions(block_size=max(BLOCK_BYTES, lines.longest + 2))
    # Without a schema, Arrow reads text that looks like a date as a date.
    schema = pa.schema([(name, pa.string()) for name in _text_keys(next(iter(lines.non_blank())))])
    parsing = arrow_json.ParseOptions(explicit_schema=schema)
    try:
        table = arrow_json.read_json(pa.BufferReader(data), read_options=reading, parse_options=parsing)
    except MemoryError:
        raise
    except pa.ArrowException:
        return None
    exact = table.num_rows == lines.count and not (_lost_integer_precision(table) or _has_times(table))
    return table if exact else None


def _text_keys(line: bytes) -> list[str]:
    """The keys whose values are text in a line; none if the line cannot be parsed, which is reported later."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return [name for name, part in value.items() if isinstance(part, str)] if isinstance(value, dict) else []


def _lost_integer_precision(table: pa.Table) -> bool:
    """Integers beyond 64 bits arrive as floats: an identifier would lose its last digits."""
    floats = [column for column in table.columns if pa.types.is_floating(column.type)]
    return any(pc.any(pc.greater_equal(pc.abs(column), MAX_EXACT_INTEGER)).as_py() for column in floats)


def _has_times(table: pa.Table) -> bool:
    """JSON has no times: such a column was text that looks like one, in keys that the first line lacks."""
    return any(pa.types.is_temporal(column.type) for column in table.columns)


def _read_line_by_line(lines: _Lines, source: str) -> pa.Table:
    """Parse each line by itself, so that every fault can be reported with its line."""
    rows_by_fault: dict[str, list[int]] = {}
    rows: list[dict[str, object]] = []
    for index, line in enumerate(lines.non_blank()):
        fault = _parse_line(line, rows)
        if fault:
            fault = CUT_OFF if fault == NOT_JSON and _is_cut_off(line, index == lines.count - 1) else fault
            rows_by_fault.setdefault(fault, []).append(index)
    if rows_by_fault:
        raise DataError([_line_problem(lines, source, fault, at) for fault, at in rows_by_fault.items()])
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: column_from_values([row.get(name) for row in rows]) for name in names})


class _DuplicateKeyError(ValueError):
    """A key occurs twice in one object, and only one of its values could be used."""


def _refuse_duplicate_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise _DuplicateKeyError
    return result


def _parse_line(line: bytes, rows: list[dict[str, object]]) -> str:
    """Append the line's object to ``rows``, or return its fault."""
    try:
        value = json.loads(line, object_pairs_hook=_refuse_duplicate_keys)
        if b"\\ud" in line.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except _DuplicateKeyError:
        return DUPLICATE_KEY
    except UnicodeEncodeError:
        return HALF_SURROGATE
    except RecursionError:
        return TOO_DEEP
    except ValueError:
        return NOT_JSON
    if not isinstance(value, dict):
        return NOT_AN_OBJECT
    rows.append(value)
    return ""


def _is_cut_off(line: bytes, is_last: bool) -> bool:
    return is_last and line.lstrip().startswith(b"{") and not line.rstrip().endswith(b"}")


def _line_problem(lines: _Lines, source: str, fault: str, rows: list[int]) -> Problem:
    row_numbers = RowNumbers("line", lines.numbers)
    start = next(line for index, line in enumerate(lines.non_blank()) if index == rows[0])
    what = f"the line {fault}: {quote(start[:200].decode(errors='replace'))}{row_examples(row_numbers, rows)}"
    return Problem(row_numbers.locate(source, rows[0]), what, FIXES[fault])
