"""CSV -> RawTable. Every cell stays text here, so that "007" is not 7 and "NA" may be a model's answer."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from deconfound.data import RowNumbers
from deconfound.errors import DataError, Problem
from deconfound.formatting import join_names, pluralize, quote
from deconfound.loading.csv_cells import NULL, with_nulls, without_blank_rows
from deconfound.loading.files import BLOCK_BYTES, MAX_BLOCK_BYTES, byte_positions, file_error
from deconfound.loading.input_limit import require_columns
from deconfound.loading.merged_rows import merged_row_findings
from deconfound.loading.raw import RawTable, row_examples

DELIMITERS = ",;\t|"
HEADER_RECORD = re.compile(rb'(?:[^"\r\n]++|(?<![^,;\t|])"(?:[^"]++|"")*+"|")*+')
"""Up to the first line break outside quoted cells; a quote inside a cell opens nothing."""
SEPARATOR_LINE = re.compile(rb'"?sep=([,;\t|])"?\r?\n', re.IGNORECASE)
"""What Excel writes above the header to say which separator the file has."""
QUOTED = re.compile(rb'"[^"]*"')
MAX_TITLE_LINES = 10  # above the column names, where every row seems to have too many cells
NAMES_FIRST = "Write the column names in the first line, those with separators, quotes or line breaks in quotes."


def read_csv(data: bytes, source: str) -> RawTable:
    """Read text with a header, separated by comma, semicolon, tab or bar; rows of another length raise."""
    return without_blank_rows(parse_csv(data, source))


def parse_csv(data: bytes, source: str, first_row: int = 0) -> RawTable:
    """The same with blank rows; ``first_row`` is the number of rows before these in the file."""
    delimiter, declared = delimiter_of(data), SEPARATOR_LINE.match(data)
    data = data if declared is None else data[declared.end() :]
    file = _CsvFile(data, delimiter, _read_header(data, delimiter, source))
    require_columns(source, len(file.names))
    row = None if quotes_balanced(data, delimiter) else _first_misquoted_row(file)
    if row is not None:
        fix = 'Close it, and double quotes inside a quoted cell (""). If this is the last row, the file may be cut off.'
        raise file_error(
            f"{source} row {first_row + row}", "a quote is never closed, or closed in the middle of a cell", fix
        )
    table = _parse(file)
    if table is None:
        raise _shape_error(file, source, first_row)
    _refuse_other_names(table.column_names, file.names, source)
    numbers = RowNumbers(numbers=np.arange(first_row + 1, first_row + table.num_rows + 1) if first_row else None)
    findings = merged_row_findings(table, delimiter, source, numbers) if b'"' in data else ()
    raw = RawTable(table, source, numbers, findings)
    return with_nulls(raw) if NULL.encode() in data else raw


@dataclass(frozen=True, slots=True)
class _CsvFile:
    data: bytes
    delimiter: str
    names: list[str]

    @property
    def one_block(self) -> int:
        """Size of a block that contains the whole file, as far as Arrow allows."""
        return min(max(len(self.data) + 1, BLOCK_BYTES), MAX_BLOCK_BYTES)


def delimiter_of(data: bytes) -> str:
    """The separator that a line above the header names, else the most frequent one."""
    declared = SEPARATOR_LINE.match(data)
    return sniff_delimiter(data) if declared is None else declared[1].decode()


def sniff_delimiter(data: bytes) -> str:
    """The separator that occurs most often in the header outside quotes; a comma if none does."""
    header = HEADER_RECORD.match(data.lstrip())
    unquoted = b"" if header is None else QUOTED.sub(b"", header[0])
    return max(DELIMITERS, key=lambda delimiter: unquoted.count(delimiter.encode()))


def _read_header(data: bytes, delimiter: str, source: str) -> list[str]:
    """The names in the first record, however long it is and however many lines it has."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    try:
        with any_field_size():
            return next(row for row in csv.reader(lines, delimiter=delimiter) if row)
    except (csv.Error, StopIteration):
        raise file_error(source, "the header cannot be read", NAMES_FIRST) from None


@contextmanager
def any_field_size() -> Iterator[None]:
    """Let Python's reader accept cells of any length; its limit is one for the whole process."""
    limit = csv.field_size_limit(MAX_BLOCK_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _refuse_other_names(parsed: list[str], names: list[str], source: str) -> None:
    """Cells are read as text by the names of their columns: a column under another name would be typed by guess."""
    if parsed == names:
        return
    first = next((at for at, pair in enumerate(zip(parsed, names, strict=False)) if pair[0] != pair[1]), -1)
    seen = f"{quote(names[first])} or {quote(parsed[first])}" if first >= 0 else f"{len(names)} or {len(parsed)} names"
    raise file_error(source, f"the header can be read in two ways ({seen})", NAMES_FIRST)


def _parse(file: _CsvFile) -> pa.Table | None:
    """Try blocks that parse in parallel, then one block: a row must fit into a block. None if neither can be read."""
    for block in (BLOCK_BYTES, file.one_block):
        try:
            return _read_with_arrow(file, block, None)
        except pa.ArrowInvalid:
            continue
    return None


def _read_with_arrow(file: _CsvFile, block: int, ragged_rows: list[tuple[int, int]] | None) -> pa.Table:
    """Parse with Arrow; given ``ragged_rows``, collect row and length of those of the wrong length there.

    Arrow numbers rows only when it runs on one thread, hence the difference in ``use_threads``.
    """
    from pyarrow import csv as arrow_csv

    def collect(row: Any) -> str:  # noqa: ANN401
        if ragged_rows is None:
            return "error"
        ragged_rows.append((row.number - 1, row.actual_columns))  # the header is row 1 for Arrow
        return "skip"

    return arrow_csv.read_csv(
        pa.BufferReader(file.data),
        read_options=arrow_csv.ReadOptions(block_size=block, use_threads=ragged_rows is None),
        parse_options=arrow_csv.ParseOptions(
            delimiter=file.delimiter, newlines_in_values=True, invalid_row_handler=collect
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(file.names, pa.string()), strings_can_be_null=False, check_utf8=False
        ),
    )


def quotes_balanced(data: bytes, delimiter: str) -> bool:
    """Whether every opening quote is at the start of a cell and every closing one at its end.

    Quotes open and close in turn (a doubled one does both); a quote anywhere else may swallow whole rows.
    """
    quotes = byte_positions(data, b'"')
    if len(quotes) % 2:
        return False
    letters = np.frombuffer(data, np.uint8)
    border = np.isin(np.arange(256), list(b'"\r\n' + delimiter.encode()))
    before, after = quotes[::2] - 1, quotes[1::2] + 1
    return bool(border[letters[before[before >= 0]]].all() and border[letters[after[after < len(data)]]].all())


def _first_misquoted_row(file: _CsvFile) -> int | None:
    """The first row that a strict reader refuses; a quote inside an unquoted cell is allowed."""
    lines = io.StringIO(file.data.decode(), newline="")
    rows = -1
    try:
        with any_field_size():
            for cells in csv.reader(lines, delimiter=file.delimiter, strict=True):
                rows += bool(cells)
    except csv.Error:
        return max(rows + 1, 1)
    return None


def _shape_error(file: _CsvFile, source: str, first_row: int) -> DataError:
    ragged_rows: list[tuple[int, int]] = []
    try:
        _read_with_arrow(file, file.one_block, ragged_rows)
    except pa.ArrowInvalid as error:
        return file_error(source, f"the CSV cannot be read: {quote(error)}", "Export it again, as CSV in UTF-8.")
    ragged_rows = [(first_row + row, cells) for row, cells in ragged_rows]
    width = len(file.names)
    problems = []
    for comparison, selected in (
        ("more", [(row, cells) for row, cells in ragged_rows if cells > width]),
        ("fewer", [(row, cells) for row, cells in ragged_rows if cells < width]),
    ):
        if selected:
            row, cells = selected[0]
            header = f"the header's {width} ({join_names(file.names)})"
            what = f"the row has {pluralize(cells, 'cell')}, {comparison} than {header}"
            rows = row_examples(RowNumbers(), [row - 1 for row, _ in selected])
            fix = "Put cells with separators, quotes or line breaks in quotes, or export the file again."
            if comparison == "more" and row <= MAX_TITLE_LINES and len(selected) > 1:
                fix = f"If lines stand above the column names, remove them. Otherwise: {fix[0].lower()}{fix[1:]}"
            problems.append(Problem(f"{source} row {row}", what + rows, fix))
    return DataError(problems)
