"""Whatever a user may hand over as a table -> Raw."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from deconfound.data import RowNumbers
from deconfound.errors import DataError, Problem, UsageError
from deconfound.formatting import join_names, quote
from deconfound.loading.csv import read_csv
from deconfound.loading.files import File, find, read_text, refusal
from deconfound.loading.jsonl import read_jsonl
from deconfound.loading.raw import Raw
from deconfound.loading.values import column_from_values

Source = Any  # a path, an Arrow table, or a DataFrame of pandas, polars or anything else that exports Arrow


def label(source: Source, role: str) -> str:
    """Name a source in messages: the file's name, or what kind of object stands for which table."""
    if isinstance(source, str | os.PathLike):
        return Path(source).name or str(source)
    return f"{role} ({type(source).__name__})"


def read(source: Source, role: str, name: str) -> Raw:
    """Read a source whatever its form; a source that cannot be read raises with all that is wrong in it."""
    if isinstance(source, str | os.PathLike):
        raw = _read_path(Path(source), name)
    elif isinstance(source, pa.Table):
        raw = Raw(source, name, RowNumbers())
    elif type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        raw = Raw(_from_pandas(source, name), name, RowNumbers())
    elif hasattr(source, "__arrow_c_stream__"):
        raw = Raw(_from_arrow_stream(source, name), name, RowNumbers())
    else:
        raise UsageError(
            f"{role} must be a path, a pandas or polars DataFrame or an Arrow table, not {type(source).__name__}"
            + ("; collect() it first." if hasattr(source, "collect") else ".")
        )
    _refuse_shape(raw)
    return raw


def _read_path(path: Path, name: str) -> Raw:
    try:
        file = find(path, name)
        if file.format == "parquet":
            return Raw(_read_parquet(file), name, RowNumbers())
        data = read_text(file)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise refusal(name, f"the file cannot be opened: {reason}", "Check its permissions and its disk.") from None
    return (read_csv if file.format == "csv" else read_jsonl)(data, name)


def _read_parquet(file: File) -> pa.Table:
    from pyarrow import parquet

    with file.path.open("rb") as handle:
        start = handle.read(4)
    if start != b"PAR1":
        what = f"the content is not Parquet: it starts with {quote(start.decode(errors='replace'))}"
        raise refusal(file.source, what, "Give the file the ending of its format, or export it again.")
    try:
        return parquet.ParquetFile(file.path).read()
    except (pa.ArrowException, OSError, ValueError) as error:
        what = f"the Parquet data is damaged or cut off: {quote(error)}"
        raise refusal(file.source, what, "Write or copy the file again.") from None


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
        what = f"column {quote(column)} holds half of a surrogate pair, which is no character"
        raise refusal(f"{name} row {row}", what, "Write the text again as UTF-8.") from None


def _from_arrow_stream(frame: Any, name: str) -> pa.Table:  # noqa: ANN401
    try:
        return pa.table(frame)
    except Exception as error:
        raise refusal(name, f"it cannot be turned into Arrow: {quote(error)}", "Hand over plain columns.") from None


def _refuse_shape(raw: Raw) -> None:
    problems = []
    names = raw.table.column_names
    twice = sorted({name for name in names if name.strip() and names.count(name) > 1})
    if twice:
        what = f"two columns are called {join_names(twice)}"
        problems.append(Problem(raw.source, what, "Rename or remove one of the two."))
    if not names:
        what = "there are no columns: all its objects are empty"
        problems.append(Problem(raw.source, what, "Check the export: every row needs at least a model."))
    elif not raw.table.num_rows:
        fix = "Check the export: a table needs at least one row below its column names."
        problems.append(Problem(raw.source, f"there are no rows (columns: {join_names(names)})", fix))
    if problems:
        raise DataError(problems)
