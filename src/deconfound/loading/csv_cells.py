"""Cells and rows of a CSV that stand for nothing: the null of databases, and rows that a spreadsheet left empty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.findings import Finding, Notice
from deconfound.loading.raw import RawTable, row_examples

NULL = "\\N"
"""How PostgreSQL, MySQL and Hive write a missing value in text; no text is only this."""


def with_nulls(raw: RawTable) -> RawTable:
    """The table with a missing value for every cell that is the null of a database."""
    columns = [pc.if_else(pc.equal(column, NULL), None, column) for column in raw.arrow.columns]
    return replace(raw, arrow=pa.table(columns, names=raw.arrow.column_names))


def without_blank_rows(raw: RawTable) -> RawTable:
    """The table without rows of nothing but separators, and a note that counts them."""
    blank = np.ones(raw.arrow.num_rows, dtype=bool)
    for column in raw.arrow.columns:
        blank &= pc.fill_null(pc.equal(column, ""), False).to_numpy()
        if not blank.any():
            return raw
    rows = np.flatnonzero(blank)
    where = raw.row_numbers.locate(raw.source, int(rows[0]))
    message = f"{where}: the row has no text in any cell and is left out{row_examples(raw.row_numbers, rows)}."
    return replace(
        raw,
        arrow=raw.arrow.filter(pa.array(~blank)),
        row_numbers=raw.row_numbers.filter(~blank),
        findings=(*raw.findings, Finding("blank rows", "pass", Notice(message))),
    )
