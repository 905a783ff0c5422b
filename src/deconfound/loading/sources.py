"""Any source of a table that a user may pass -> RawTable."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from deconfound.data import RowNumbers
from deconfound.errors import DataError, Problem, UsageError
from deconfound.escaping import escape_line, readable_path
from deconfound.formatting import join_names, quote
from deconfound.loading.csv import read_csv
from deconfound.loading.file_columns import name_findings, with_common_names
from deconfound.loading.files import file_error, read_text, resolve_file
from deconfound.loading.joined_files import join_files
from deconfound.loading.json_rows import read_json
from deconfound.loading.jsonl import read_jsonl
from deconfound.loading.parquet import read_parquet
from deconfound.loading.partitions import with_partitions
from deconfound.loading.raw import RawTable, column_from_values
from deconfound.loading.table_files import TableFile, find_table, is_path, path_name
from deconfound.loading.view_types import without_views

TableLike = Any  # a path, an Arrow table, or a DataFrame of pandas, polars or anything else that exports Arrow


def source_name(source: TableLike, role: str) -> str:
    """Name a source in messages: the file's name, or the role and type of an object in memory."""
    if isinstance(source, RawTable):
        return source.source
    return path_name(source) if is_path(source) else f"{role} ({type(source).__name__})"


def table_names(sources: Mapping[str, TableLike]) -> dict[str, str]:
    """Names of tables in messages, with their roles where two would be the same."""
    names = {role: source_name(source, role) for role, source in sources.items()}
    repeated = len(set(names.values())) < len(names)
    return {role: f"{role} {name}" for role, name in names.items()} if repeated else names


def read_table(source: TableLike, role: str, name: str, mapping: Mapping[str, str] = MappingProxyType({})) -> RawTable:
    """Read files or an object in memory; ``name`` is its name in messages, ``mapping`` what --map says about it."""
    if is_path(source):
        found = find_table(source)
        raw = _read_files(found.tables, role, name, mapping)
        raw = replace(raw, findings=(*found.findings(name), *raw.findings))
    elif isinstance(source, RawTable):
        raw = source
    elif isinstance(source, pa.Table):
        raw = RawTable(source, name, RowNumbers())
    elif type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        raw = RawTable(_from_pandas(source, name), name, RowNumbers())
    elif hasattr(source, "__arrow_c_stream__"):
        raw = RawTable(_from_arrow_stream(source, name), name, RowNumbers())
    else:
        raise UsageError(
            f"{role} must be a path, several, a pandas or polars DataFrame or an Arrow table, not "
            + type(source).__name__
            + ("; collect() it first." if hasattr(source, "collect") else ".")
        )
    refuse_repeated_names(raw)
    _refuse_empty(raw)
    return replace(raw, arrow=without_views(raw.arrow))


def _read_files(files: Sequence[TableFile], role: str, name: str, mapping: Mapping[str, str]) -> RawTable:
    if len(files) == 1:
        return with_partitions(_read_path(files[0].path, name), files[0].below)
    folder = Path(os.path.commonpath([file.path.parent for file in files]))
    parts: list[RawTable] = []
    problems: list[Problem] = []
    for file in files:
        try:
            raw = _read_path(file.path, escape_line(readable_path(os.path.relpath(file.path, folder))))
            refuse_repeated_names(raw)
            parts.append(with_partitions(raw, file.below))
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(problems)
    parts = with_common_names(parts, role, mapping)
    joined = join_files(parts, name)
    return replace(joined, findings=(*joined.findings, *name_findings(parts, name)))


def _read_path(path: Path, name: str) -> RawTable:
    try:
        file = resolve_file(path, name)
        if file.format == "parquet":
            return RawTable(read_parquet(file), name, RowNumbers())
        data = read_text(file)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise file_error(name, f"the file cannot be opened: {reason}", "Check its permissions and its disk.") from None
    except UnicodeEncodeError:
        what = "a compressed file whose name is not UTF-8 cannot be opened"
        raise file_error(name, what, "Rename it, or decompress it.") from None
    if file.format == "csv":
        return read_csv(data, name)
    return read_json(data, name) if file.format == "json" else read_jsonl(data, name)


def _from_pandas(frame: Any, name: str) -> pa.Table:  # noqa: ANN401
    arrays = []
    for position in range(frame.shape[1]):
        series = frame.iloc[:, position]
        try:
            arrays.append(pa.array(series, from_pandas=True))
        except (pa.ArrowException, OverflowError, TypeError, UnicodeEncodeError):
            arrays.append(_from_objects(series.tolist(), str(frame.columns[position]), name))
    columns = [array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array]) for array in arrays]
    return pa.table(columns, names=[str(name) for name in frame.columns])


def _from_objects(values: list[object], column: str, name: str) -> pa.Array:
    try:
        return column_from_values(values)
    except UnicodeEncodeError as error:
        row = next(i for i, value in enumerate(values, 1) if value == error.object)
        what = f"column {quote(column)} has half of a surrogate pair, which is not a character"
        raise file_error(f"{name} row {row}", what, "Write the text again as UTF-8.") from None


def _from_arrow_stream(frame: Any, name: str) -> pa.Table:  # noqa: ANN401
    try:
        return pa.table(frame)
    except Exception as error:
        what = f"the object cannot be converted to Arrow: {quote(error)}"
        raise file_error(name, what, "Pass a table with plain columns.") from None


def refuse_repeated_names(raw: RawTable) -> None:
    """Refuse a table in which two columns have one name."""
    counts = Counter(raw.arrow.column_names)
    duplicates = sorted(name for name, count in counts.items() if name.strip() and count > 1)
    if duplicates:
        what = f"more than one column is called {join_names(duplicates)}"
        raise file_error(raw.source, what, "Rename or remove one of them.")


def _refuse_empty(raw: RawTable) -> None:
    names = raw.arrow.column_names
    if not names:
        what = "there are no columns: all objects are empty"
        raise file_error(raw.source, what, "Check the export: every row needs at least a model.")
    if not raw.arrow.num_rows:
        fix = "Check the export: a table needs at least one row below its column names."
        raise file_error(raw.source, f"there are no rows (columns: {join_names(names)})", fix)
