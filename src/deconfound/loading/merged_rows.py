"""Cells of a CSV that contain what looks like further rows: a quote that opens in one row and closes rows later."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import RowNumbers
from deconfound.findings import Finding, Notice
from deconfound.loading.raw import row_examples

MAX_SEARCHED_CELLS = 20_000  # with line breaks, per column


def merged_row_findings(table: pa.Table, delimiter: str, source: str, numbers: RowNumbers) -> tuple[Finding, ...]:
    """Warn of rows that were probably read as text of another row.

    After a line break, such a cell has as many separators as a row would have there, and a value that the same column
    has in another row, such as the name of a model. Text with line breaks and commas rarely has both.
    """
    rows = sorted({row for column in range(table.num_columns) for row in _suspects(table, column, delimiter)})
    if not rows:
        return ()
    message = (
        f"{numbers.locate(source, rows[0])}: a cell contains a line break followed by what looks like another row"
        f"{row_examples(numbers, rows)}. A quote that opens in one row and closes in a later one hides rows."
    )
    remedy = 'Look at these rows in a text editor; close the quote, and double quotes inside a quoted cell ("").'
    return (Finding("merged rows", "warn", Notice(message, remedy)),)


def _suspects(table: pa.Table, column: int, delimiter: str) -> Iterator[int]:
    values = table.column(column)
    rows = np.flatnonzero(pc.match_substring(values, "\n").to_numpy())[:MAX_SEARCHED_CELLS]
    if not len(rows):
        return
    known: dict[int, set[str]] = {}
    for row in map(int, rows):
        for cells in _hidden_cells(values[row].as_py(), column, table.num_columns, delimiter):
            if any(cell and cell in _values(table, at, known) for at, cell in enumerate(cells)):
                yield row
                break


def _hidden_cells(text: str, column: int, width: int, delimiter: str) -> Iterator[list[str]]:
    """The complete cells of each line that has the separators of a row; the last line ends in this column."""
    *middle, last = text.splitlines()[1:] or [""]
    for line in middle:
        if line.count(delimiter) == width - 1:
            yield line.split(delimiter)
    if column and last.count(delimiter) == column:
        yield last.split(delimiter)[:-1]


def _values(table: pa.Table, column: int, known: dict[int, set[str]]) -> set[str]:
    if column not in known:
        known[column] = set(table.column(column).unique().to_pylist())
    return known[column]
