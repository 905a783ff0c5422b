"""JSON Lines -> RawTable: by Arrow's parser where it is exact, otherwise line by line."""

from __future__ import annotations

import codecs
import json
from typing import Literal

import pyarrow as pa

from deconfound.data import RowNumbers
from deconfound.errors import DataError, Problem
from deconfound.formatting import quote
from deconfound.loading.input_limit import require_cells
from deconfound.loading.jsonl_arrow import read_with_arrow
from deconfound.loading.jsonl_lines import Lines
from deconfound.loading.raw import RawTable, column_from_values, row_examples

ONE_OBJECT = 'Write one object per line, such as {"model": "ant", "outcome": 1}.'
NOT_JSON, CUT_OFF = "is not JSON", "is cut off"
NOT_AN_OBJECT, DUPLICATE_KEY = "is not an object", "has a key twice"
HALF_SURROGATE, TOO_DEEP = "has half of a surrogate pair, which is not a character", "is nested too deeply"
BYTE_ORDER_MARK = "starts with a byte-order mark, which only the first line may have"
FIXES = {
    NOT_JSON: ONE_OBJECT,
    CUT_OFF: "The file was probably not written to its end: export it again, or delete that line.",
    NOT_AN_OBJECT: ONE_OBJECT,
    DUPLICATE_KEY: "Remove one of the two.",
    HALF_SURROGATE: "Write the text again as UTF-8.",
    TOO_DEEP: ONE_OBJECT,
    BYTE_ORDER_MARK: "Remove it: several files were probably joined.",
}


def read_jsonl(data: bytes, source: str, unit: Literal["line", "row"] = "line", first_line: int = 0) -> RawTable:
    """Read one object per line; a key that a line lacks is a missing value. ``unit`` is what messages call a line.

    ``first_line`` is the number of lines before these in the file.
    """
    lines = Lines(data, first_line)
    table = read_with_arrow(lines)
    if table is None:
        table = _read_line_by_line(lines, source, unit)
    return RawTable(table, source, RowNumbers("line", lines.numbers))


def _read_line_by_line(lines: Lines, source: str, unit: Literal["line", "row"]) -> pa.Table:
    """Parse each line by itself, so that every fault can be reported with its line."""
    rows_by_fault: dict[str, list[int]] = {}
    rows: list[dict[str, object]] = []
    for index, line in enumerate(lines.non_blank()):
        fault = _parse_line(line, rows)
        if fault:
            fault = _why_not_json(line, index == lines.count - 1) if fault == NOT_JSON else fault
            rows_by_fault.setdefault(fault, []).append(index)
    if rows_by_fault:
        raise DataError([_line_problem(lines, source, fault, at, unit) for fault, at in rows_by_fault.items()])
    names = dict.fromkeys(name for row in rows for name in row)
    require_cells(source, len(rows), len(names))
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
        value = json.loads(line.decode(), object_pairs_hook=_refuse_duplicate_keys)
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


def _why_not_json(line: bytes, is_last: bool) -> str:
    if line.startswith(codecs.BOM_UTF8):
        return BYTE_ORDER_MARK
    cut_off = is_last and line.lstrip().startswith(b"{") and not line.rstrip().endswith(b"}")
    return CUT_OFF if cut_off else NOT_JSON


def _line_problem(lines: Lines, source: str, fault: str, rows: list[int], unit: Literal["line", "row"]) -> Problem:
    row_numbers = RowNumbers(unit, lines.numbers)
    start = lines.line(rows[0])[:200].decode(errors="replace")
    what = f"the {unit} {fault}: {quote(start)}{row_examples(row_numbers, rows)}"
    return Problem(row_numbers.locate(source, rows[0]), what, FIXES[fault])
