"""CSV -> Raw. Every cell stays text here, so that "007" is not 7 and "NA" may be a model's answer."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from deconfound.data import RowNumbers
from deconfound.errors import DataError, Problem
from deconfound.formatting import join_names, pluralize, quote
from deconfound.loading.files import positions, refusal
from deconfound.loading.raw import Raw, others

DELIMITERS = ",;\t|"
BLOCK = 1 << 24
LARGEST_BLOCK = (1 << 31) - 1  # Arrow counts a block's bytes in 32 bits
HEADER_CHARACTERS = 1 << 17


def read_csv(data: bytes, source: str) -> Raw:
    """Read comma, semicolon, tab or bar separated text with a header; refuse what does not have its shape."""
    delimiter = sniff_delimiter(data)
    names = _header(data, delimiter, source)
    form = _Form(data, delimiter, names)
    row = None if _tidy_quotes(data, delimiter) else _misquoted(form)
    if row is not None:
        fix = 'Close it, and write a quote inside a quoted cell twice (""); in the last row, the file may be cut off.'
        raise refusal(f"{source} row {row}", "a quote is opened and never closed, or closed in mid-cell", fix)
    table = _parse(form)
    if table is None:
        raise _misshapen(form, source)
    return Raw(table, source, RowNumbers())


@dataclass(frozen=True, slots=True)
class _Form:
    data: bytes
    delimiter: str
    names: list[str]


def sniff_delimiter(data: bytes) -> str:
    """Take the separator that occurs most often in the header; a comma where none does."""
    text = data.lstrip()
    end = text.find(b"\n")
    header = text[: end if end >= 0 else None].decode()
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def _header(data: bytes, delimiter: str, source: str) -> list[str]:
    head = io.StringIO(data[:HEADER_CHARACTERS].decode(errors="ignore"), newline="")
    try:
        return next(row for row in csv.reader(head, delimiter=delimiter) if row)
    except (csv.Error, StopIteration):
        raise refusal(source, "the header cannot be read", "Write the column names in the first line.") from None


def _parse(form: _Form) -> pa.Table | None:
    """Try blocks that parse in parallel, then the largest: a row must fit into one block."""
    for block in (BLOCK, min(max(len(form.data) + 1, BLOCK), LARGEST_BLOCK)):
        try:
            return _arrow(form, block, None)
        except pa.ArrowInvalid:
            continue
    return None


def _arrow(form: _Form, block: int, misfits: list[tuple[int, int]] | None) -> pa.Table:
    """Parse with Arrow; given ``misfits``, collect rows of the wrong length there.

    Only a single thread counts rows, so that is how misfits are collected.
    """
    from pyarrow import csv as arrow_csv

    def collect(row: Any) -> str:  # noqa: ANN401
        if misfits is None:
            return "error"
        misfits.append((row.number - 1, row.actual_columns))  # the header is its row 1
        return "skip"

    return arrow_csv.read_csv(
        pa.BufferReader(form.data),
        read_options=arrow_csv.ReadOptions(block_size=block, use_threads=misfits is None),
        parse_options=arrow_csv.ParseOptions(
            delimiter=form.delimiter, newlines_in_values=True, invalid_row_handler=collect
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(form.names, pa.string()), strings_can_be_null=False, check_utf8=False
        ),
    )


def _tidy_quotes(data: bytes, delimiter: str) -> bool:
    """Whether every quote that opens a cell stands at its start, and every one that closes it at its end.

    Quotes open and close in turn (a doubled one does both); one that stands elsewhere may swallow whole rows.
    """
    quotes = positions(data, b'"')
    if len(quotes) % 2:
        return False
    letters = np.frombuffer(data, np.uint8)
    border = np.isin(np.arange(256), list(b'"\r\n' + delimiter.encode()))
    before, after = quotes[::2] - 1, quotes[1::2] + 1
    return bool(border[letters[before[before >= 0]]].all() and border[letters[after[after < len(data)]]].all())


def _misquoted(form: _Form) -> int | None:
    """Find the first row that no strict reader accepts; a quote in the midst of a bare cell is none."""
    limit = csv.field_size_limit(LARGEST_BLOCK)
    try:
        lines = io.StringIO(form.data.decode(), newline="")
        read = -1
        for cells in csv.reader(lines, delimiter=form.delimiter, strict=True):
            read += bool(cells)
    except csv.Error:
        return max(read + 1, 1)
    finally:
        csv.field_size_limit(limit)
    return None


def _misshapen(form: _Form, source: str) -> DataError:
    misfits: list[tuple[int, int]] = []
    try:
        _arrow(form, min(max(len(form.data) + 1, BLOCK), LARGEST_BLOCK), misfits)
    except pa.ArrowInvalid as error:
        return refusal(source, f"the CSV cannot be read: {quote(error)}", "Export it again, as CSV in UTF-8.")
    problems = []
    for saying, chosen in (
        ("more", [(row, cells) for row, cells in misfits if cells > len(form.names)]),
        ("fewer", [(row, cells) for row, cells in misfits if cells < len(form.names)]),
    ):
        if chosen:
            row, cells = chosen[0]
            header = f"the {len(form.names)} of the header ({join_names(form.names)})"
            what = f"{pluralize(cells, 'cell')}, {saying} than {header}"
            rows = others(RowNumbers(), [row - 1 for row, _ in chosen])
            fix = "Put cells that contain the separator, quotes or line breaks in quotes, or export the file again."
            problems.append(Problem(f"{source} row {row}", what + rows, fix))
    return DataError(problems)
