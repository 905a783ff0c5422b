"""An assigned table as the bytes of a Parquet, CSV or JSON Lines file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import PurePath

import pyarrow as pa

from deconfound.errors import UsageError
from deconfound.escaping import escape_formulas, escape_json
from deconfound.formatting import quote

FORMATS = (".parquet", ".csv", ".jsonl")
ROWS_AT_ONCE = 10_000  # turned into Python objects


def require_table_format(path: PurePath) -> None:
    """Refuse a file whose extension names no format, before any work is done."""
    if path.suffix not in FORMATS:
        raise UsageError(f"-o: assigned contexts are a file ending in {', '.join(FORMATS)}, not {quote(path.name)}.")


def table_bytes(table: pa.Table, path: PurePath, exact: Sequence[str]) -> bytes:
    """The content of a file in the format of its extension; cells of ``exact`` columns are never changed.

    In a CSV, an apostrophe stands before text that a spreadsheet would run as a formula.
    """
    if path.suffix == ".parquet":
        return _parquet(table)
    return (_jsonl(table) if path.suffix == ".jsonl" else _csv(table, exact)).encode()


def _parquet(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _jsonl(table: pa.Table) -> str:
    rows = (row for batch in table.to_batches(ROWS_AT_ONCE) for row in batch.to_pylist())
    finite = ({name: None if value != value else value for name, value in row.items()} for row in rows)  # noqa: PLR0124
    return "".join(f"{escape_json(json.dumps(row, ensure_ascii=False, allow_nan=False))}\n" for row in finite)


def _csv_cell(value: object) -> str:
    if isinstance(value, str):
        return escape_formulas(value)
    return "" if value is None else repr(value)


def _csv(table: pa.Table, exact: Sequence[str]) -> str:
    for name in exact:
        changed = next((text for text in table[name].unique().to_pylist() if escape_formulas(text) != text), None)
        if changed is not None:
            raise UsageError(
                f"-o: {quote(changed)} in {quote(name)} is a formula to spreadsheets, and in a CSV it would be "
                "changed. Write .parquet or .jsonl."
            )
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches(ROWS_AT_ONCE):
        columns = [list(map(_csv_cell, column.to_pylist())) for column in batch.columns]
        writer.writerows(zip(*columns, strict=True))
    return text.getvalue()
