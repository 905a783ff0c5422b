"""Tables of traces -> one record per row: Parquet in batches, CSV as text."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from deconfound.formatting import quote
from deconfound.loading.csv import sniff_delimiter
from deconfound.loading.files import RENAME_OR_EXPORT, file_error
from deconfound.loading.input_limit import max_input_bytes, require_size
from deconfound.loading.raw import python_value
from deconfound.traces.reader import Record, Remarks
from deconfound.traces.trace_files import Follow, TraceFile, not_followed, open_trace, unreadable

MAX_BATCH_ROWS = 512
MAX_CELL_CHARACTERS = (1 << 31) - 1  # Python's reader counts in 32 bits on some systems
CSV_BATCH_ROWS = 64
HEADER_BYTES = 1 << 20  # searched for the separator
Convert = Callable[[Any], Any]

if TYPE_CHECKING:
    from _csv import Reader as _CsvReader


def parquet_records(file: TraceFile, remarks: Remarks, follow: Follow = not_followed) -> Iterator[Record]:
    """One record per row. Maps become objects, times ISO text, decimals floats, bytes text."""
    number = 0
    try:
        with file.path.open("rb") as handle:
            for row in _parquet_rows(handle, file.source, follow):
                number += 1
                yield Record(row, f"{file.source} row {number}", file.path)
    except OSError as error:
        raise unreadable(file, error) from None
    if not number:
        remarks.add("files are empty", file.source)


def _parquet_rows(handle: BinaryIO, source: str, follow: Follow) -> Iterator[dict[str, Any]]:
    from pyarrow import parquet

    if handle.read(4) != b"PAR1":
        raise file_error(source, "the content is not Parquet", RENAME_OR_EXPORT)
    try:
        table = parquet.ParquetFile(handle)
        size, number, unpacked = handle.seek(0, io.SEEK_END), 0, 0
        for batch in table.iter_batches(_batch_rows(table.metadata)):
            number, unpacked = number + batch.num_rows, unpacked + batch.nbytes
            require_size(source, unpacked)
            follow(partial(int, size * number / table.metadata.num_rows))
            yield from _rows(batch)
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        what = f"the Parquet data is damaged or cut off: {quote(error)}"
        raise file_error(source, what, "Write or copy the file again.") from None


def _batch_rows(metadata: Any) -> int:  # noqa: ANN401  (Arrow carries no types)
    """Rows per batch: one text may be as long as its whole row group, and be stored once for many rows."""
    sizes = [metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups)]
    return int(min(MAX_BATCH_ROWS, max(1, max_input_bytes() // max([1, *sizes]))))


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    columns = [_values(column) for column in batch.columns]
    for cells in zip(*columns, strict=True):
        yield dict(zip(batch.schema.names, cells, strict=True))


def _values(column: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":  # beyond the precision of Python's times
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    convert = _converter(column.type)
    try:
        values = column.to_pylist()
    except (OverflowError, ValueError, LookupError):  # years beyond 9999, an unknown time zone
        values = [python_value(scalar) for scalar in column]
    return values if convert is None else [convert(value) for value in values]


def _converter(kind: pa.DataType) -> Convert | None:
    """What turns Arrow's Python values of a type into values of JSON; None where they are the same."""
    if pa.types.is_map(kind):
        inner = _converter(kind.item_type) or _same
        return lambda pairs: {str(key): inner(value) for key, value in pairs} if isinstance(pairs, list) else pairs
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        element = _converter(kind.value_type)
        return None if element is None else lambda items: [element(i) for i in items] if items is not None else None
    if pa.types.is_struct(kind):
        parts = {kind.field(at).name: _converter(kind.field(at).type) or _same for at in range(kind.num_fields)}
        return lambda fields: _fields(fields, parts)
    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string)
    return None if any(is_kind(kind) for is_kind in plain) else _plain


def _fields(fields: Any, parts: dict[str, Convert]) -> Any:  # noqa: ANN401  (a cell of any type)
    if not isinstance(fields, dict):
        return fields
    return {name: parts.get(name, _same)(value) for name, value in fields.items()}


def _same(value: Any) -> Any:  # noqa: ANN401
    return value


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def csv_records(file: TraceFile, remarks: Remarks, follow: Follow = not_followed) -> Iterator[Record]:
    """One record per row, every cell as text; of two columns with the same name the first is used."""
    number = 0
    with open_trace(file, follow) as stream:
        rows = _cells(file, stream)
        names = next(rows, [])
        for number, cells in enumerate(rows, start=1):
            place = f"{file.source} row {number}"
            if len(cells) != len(names):
                remarks.add("rows have another number of cells than the header", place)
            elif not all(map(_is_text, cells)):
                remarks.add("rows are not UTF-8", place)
            else:
                yield Record(dict(zip(reversed(names), reversed(cells), strict=True)), place, file.path)
    if not number:
        remarks.add("files are empty", file.source)


def _cells(file: TraceFile, stream: io.BufferedReader) -> Iterator[list[str]]:
    """The cells of each row that is not blank, the header first."""
    delimiter = sniff_delimiter(stream.peek(HEADER_BYTES).removeprefix(codecs.BOM_UTF8))
    with io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        while batch := _next_rows(reader, file):
            yield from (row for row in batch if row)


def _next_rows(reader: _CsvReader, file: TraceFile) -> list[list[str]]:
    try:
        with _any_cell_size():
            return list(islice(reader, CSV_BATCH_ROWS))
    except csv.Error as error:
        fix = "Close every quote, and double quotes inside a quoted cell. The file may be cut off."
        raise file_error(f"{file.source} line {reader.line_num}", f"this is no CSV: {quote(error)}", fix) from None
    except (OSError, pa.ArrowException) as error:
        raise unreadable(file, error) from None


@contextmanager
def _any_cell_size() -> Iterator[None]:
    """Let Python's reader accept long cells while rows are read; its limit is one for the whole process."""
    limit = csv.field_size_limit(min(MAX_CELL_CHARACTERS, max_input_bytes()))
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _is_text(cell: str) -> bool:
    if cell.isascii():
        return True
    try:
        cell.encode()
    except UnicodeEncodeError:
        return False
    return True
