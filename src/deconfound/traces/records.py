"""A file of traces -> its records one after the other, in memory that does not grow with the file."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import BinaryIO

import pyarrow as pa

from deconfound.formatting import pluralize
from deconfound.loading.files import CHUNK_BYTES, file_error
from deconfound.loading.input_limit import max_input_bytes, require_size
from deconfound.traces.inspect_log import eval_records
from deconfound.traces.json_objects import NOT_UTF8, Parsed, objects_in, parse_json, parse_values
from deconfound.traces.reader import Record, Remarks
from deconfound.traces.table_rows import csv_records, parquet_records
from deconfound.traces.trace_files import Follow, TraceFile, TraceFormat, not_followed, open_trace, unreadable

SAMPLE_LINES = 100  # a file is refused if more than half of these are damaged
NOT_LINES = (
    "Check that it is a log in JSON, with one object per line or one list, and export it again if it is damaged."
)


def records_of(file: TraceFile, remarks: Remarks, follow: Follow = not_followed) -> Iterator[Record]:
    """The records of one file; a line that is damaged is left out and added to the remarks."""
    yield from OPENERS[file.format](file, remarks, follow)


def _line_records(file: TraceFile, remarks: Remarks, follow: Follow) -> Iterator[Record]:
    with open_trace(file, follow) as stream:
        yield from _records_from(file, _parsed_lines(file, stream), remarks)


def _document_records(file: TraceFile, remarks: Remarks, follow: Follow) -> Iterator[Record]:
    """Records of a .json file: lines, as soon as the first line is complete, or values over several lines each."""
    with open_trace(file, follow) as stream:
        lines = _parsed_lines(file, stream)
        first = next(lines, None)
        if first is None:
            remarks.add("files are empty", file.source)
        elif not first[1].fault:
            yield from _records_from(file, chain([first], lines), remarks)
        else:
            yield from _value_records(file, remarks, follow)


def _archive_records(file: TraceFile, remarks: Remarks, follow: Follow) -> Iterator[Record]:  # noqa: ARG001
    return eval_records(file.path)


def _value_records(file: TraceFile, remarks: Remarks, follow: Follow) -> Iterator[Record]:
    """Records of a file whose first line is no whole value; if no value begins there either, the other lines count."""
    with open_trace(file, follow) as stream:
        data = _read_whole(file, stream)
    try:
        values = parse_values(data.removeprefix(codecs.BOM_UTF8).decode())
    except UnicodeDecodeError:
        values = iter([Parsed({}, NOT_UTF8)])
    first = next(values, None)
    if first is None:
        remarks.add("files are empty", file.source)
        return
    if not first.fault:
        places = ((f" object {at}", one) for at, one in enumerate(chain([first], values), start=1))
        yield from _records_from(file, places, remarks)
        return
    lines = _parsed_lines(file, io.BytesIO(data))
    sample = list(islice(lines, SAMPLE_LINES))
    if _is_damaged(sample):
        raise file_error(file.source, f"the content is {first.fault}", NOT_LINES)
    yield from _records_from(file, chain(sample, lines), remarks)


def _records_from(file: TraceFile, places: Iterable[tuple[str, Parsed]], remarks: Remarks) -> Iterator[Record]:
    """Records of parsed values; those of the first lines wait until it is clear that the file has the format."""
    rest = iter(places)
    sample = list(islice(rest, SAMPLE_LINES))
    if not sample:
        remarks.add("files are empty", file.source)
    if _is_damaged(sample):
        faults = [(place, parsed.fault) for place, parsed in sample if parsed.fault]
        what = f"{len(faults)} of the first {pluralize(len(sample), 'line')} cannot be read; this one is {faults[0][1]}"
        raise file_error(f"{file.source}{faults[0][0]}", what, NOT_LINES)
    for place, parsed in _released(sample, rest):
        if parsed.fault:
            remarks.add(f"lines are damaged ({parsed.fault})", f"{file.source}{place}")
            continue
        for element, value in objects_in(parsed.value):
            yield Record(value, f"{file.source}{place}{element}", file.path)


def _released(sample: list[tuple[str, Parsed]], rest: Iterator[tuple[str, Parsed]]) -> Iterator[tuple[str, Parsed]]:
    """First the sample, which no longer fills the memory then, and the rest."""
    sample.reverse()
    while sample:
        yield sample.pop()
    yield from rest


def _is_damaged(sample: list[tuple[str, Parsed]]) -> bool:
    return 2 * sum(bool(parsed.fault) for _, parsed in sample) > len(sample)


def _parsed_lines(file: TraceFile, stream: BinaryIO) -> Iterator[tuple[str, Parsed]]:
    """Place and content of each line that is not blank; the limit of one file is that of one line here."""
    limit, number = max_input_bytes(), 0
    while True:
        try:
            line = stream.readline(limit + 1)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(file, error) from None
        if not line:
            return
        number += 1
        if len(line) > limit:
            require_size(f"{file.source} line {number}", len(line))
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line.isspace():
            yield f" line {number}", parse_json(line)


def _read_whole(file: TraceFile, stream: BinaryIO) -> bytes:
    data = io.BytesIO()
    try:
        while part := stream.read(CHUNK_BYTES):
            data.write(part)
            require_size(file.source, data.tell())
    except (OSError, pa.ArrowException) as error:
        raise unreadable(file, error) from None
    return data.getvalue()


OPENERS: dict[TraceFormat, Callable[[TraceFile, Remarks, Follow], Iterator[Record]]] = {
    "jsonl": _line_records,
    "json": _document_records,
    "parquet": parquet_records,
    "csv": csv_records,
    "eval": _archive_records,
}
"""How each format is read."""
