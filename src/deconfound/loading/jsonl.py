"""JSON Lines -> Raw: Arrow's parser where it is exact, line by line where it is not or where a line is at fault."""

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
from deconfound.loading.files import positions
from deconfound.loading.numbers import EXACT
from deconfound.loading.raw import Raw, others
from deconfound.loading.values import column_from_values

BLOCK = 1 << 24
LARGEST_BLOCK = (1 << 31) - 1  # Arrow counts a block's bytes in 32 bits
DEEPEST = 500  # Arrow's parser overflows the stack, and ends the process, near 20,000 levels
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?')

ONE_OBJECT = 'Write one object on each line, such as {"model": "ant", "outcome": 1}.'
CUT_OFF = "The file was probably not written to its end: write it again, or delete that line."
FAULTS = {
    "is not JSON": ONE_OBJECT,
    "is cut off": CUT_OFF,
    "is not an object": ONE_OBJECT,
    "names a key twice": "Keep one of the two.",
    "holds half of a surrogate pair, which is no character": "Write the text again as UTF-8.",
    "is nested too deeply": ONE_OBJECT,
}


def read_jsonl(data: bytes, source: str) -> Raw:
    """Read one object a line; a key that a line lacks is a missing value."""
    lines = _Lines(data)
    table = _fast(data, lines)
    if table is None:
        table = _careful(lines, source)
    return Raw(table, source, RowNumbers("line", lines.numbers))


class _Lines:
    """Where the lines of a file begin and end; lines of nothing but white space are skipped."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        ends = positions(data, b"\n")
        self.ends: NDArray[np.int64] = ends if data.endswith(b"\n") else np.append(ends, len(data))
        self.starts: NDArray[np.int64] = np.concatenate([[0], self.ends[:-1] + 1])
        short = np.flatnonzero(self.ends - self.starts < 8)
        blank = [row for row in short if not data[self.starts[row] : self.ends[row]].strip()]
        numbers = np.delete(np.arange(1, len(self.ends) + 1), blank)
        self.numbers: NDArray[np.int64] | None = numbers if blank else None
        self.count = len(numbers)

    @property
    def longest(self) -> int:
        return int((self.ends - self.starts).max())

    def each(self) -> Iterable[bytes]:
        rows = range(len(self.ends)) if self.numbers is None else (number - 1 for number in self.numbers)
        return (self.data[self.starts[row] : self.ends[row]] for row in rows)

    def too_deep(self) -> bool:
        """Whether some line nests deeper than any table would; text in quotes does not count."""
        if self.data.count(b"[") + self.data.count(b"{") <= self.count + DEEPEST:
            return False
        return any(_depth(line) > DEEPEST for line in self.each() if line.count(b"[") + line.count(b"{") > DEEPEST)


def _depth(line: bytes) -> int:
    marks = np.frombuffer(STRING.sub(b"", line), np.uint8)
    steps = np.isin(marks, list(b"[{")).astype(int) - np.isin(marks, list(b"]}")).astype(int)
    return int(np.cumsum(steps).max(initial=0))


def _fast(data: bytes, lines: _Lines) -> pa.Table | None:
    """Let Arrow read it; None where its reading is not certain to be what stands there."""
    from pyarrow import json as arrow_json

    if lines.longest >= LARGEST_BLOCK or lines.too_deep():
        return None
    reading = arrow_json.ReadOptions(block_size=max(BLOCK, lines.longest + 2))
    # Arrow takes text that looks like a date for a date, unless it is told that it is text.
    schema = pa.schema([(name, pa.string()) for name in _text_keys(next(iter(lines.each())))])
    parsing = arrow_json.ParseOptions(explicit_schema=schema)
    try:
        table = arrow_json.read_json(pa.BufferReader(data), read_options=reading, parse_options=parsing)
    except pa.ArrowException:
        return None
    return table if table.num_rows == lines.count and not _inexact(table) else None


def _text_keys(line: bytes) -> list[str]:
    """List the keys that hold text in a line; none where it cannot be read, which is for others to say."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return [name for name, held in value.items() if isinstance(held, str)] if isinstance(value, dict) else []


def _inexact(table: pa.Table) -> bool:
    """Integers beyond 64 bits arrive as floats: an identifier would lose its last digits."""
    floats = [column for column in table.columns if pa.types.is_floating(column.type)]
    return any(pc.any(pc.greater_equal(pc.abs(column), EXACT)).as_py() for column in floats)


def _careful(lines: _Lines, source: str) -> pa.Table:
    """Read each line by itself, so that a fault has its line; all faulty lines are told at once."""
    faults: dict[str, list[int]] = {}
    rows: list[dict[str, object]] = []
    for index, line in enumerate(lines.each()):
        fault = _parse(line, rows)
        if fault:
            fault = "is cut off" if fault == "is not JSON" and _is_cut(line, index == lines.count - 1) else fault
            faults.setdefault(fault, []).append(index)
    if faults:
        raise DataError([_fault(lines, source, fault, found) for fault, found in faults.items()])
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: column_from_values([row.get(name) for row in rows]) for name in names})


class _TwiceNamedError(ValueError):
    """A key stands twice in one object, and only one of its values could be used."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _TwiceNamedError
    return made


def _parse(line: bytes, rows: list[dict[str, object]]) -> str:
    """Append the line's object, or name its fault."""
    try:
        value = json.loads(line, object_pairs_hook=_object)
        if b"\\ud" in line.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except _TwiceNamedError:
        return "names a key twice"
    except UnicodeEncodeError:
        return "holds half of a surrogate pair, which is no character"
    except RecursionError:
        return "is nested too deeply"
    except ValueError:
        return "is not JSON"
    if not isinstance(value, dict):
        return "is not an object"
    rows.append(value)
    return ""


def _is_cut(line: bytes, last: bool) -> bool:
    return last and line.lstrip().startswith(b"{") and not line.rstrip().endswith(b"}")


def _fault(lines: _Lines, source: str, fault: str, rows: list[int]) -> Problem:
    places = RowNumbers("line", lines.numbers)
    start = next(line for index, line in enumerate(lines.each()) if index == rows[0])
    what = f"the line {fault}: {quote(start[:200].decode(errors='replace'))}{others(places, rows)}"
    return Problem(f"{source} line {places.number(rows[0])}", what, FAULTS[fault])
