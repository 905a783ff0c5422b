"""Paths -> calls and scores: recognize the format of every file, and read all files of a format together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import IO

from deconfound.chat.trailing_answer import ends_with_answer, without_answer
from deconfound.errors import DataError, Problem
from deconfound.formatting import join_names
from deconfound.traces.call import Call, Score
from deconfound.traces.call_table import CallTable, collect_calls
from deconfound.traces.read_meter import ReadMeter, Report, no_report
from deconfound.traces.reader import Reader, Record, Remarks
from deconfound.traces.records import records_of
from deconfound.traces.score_authors import with_likely_author
from deconfound.traces.trace_files import TraceFile, files_of
from deconfound.traces.trace_readers import READERS, recognize

SNIFFED_RECORDS = 50  # of a file; the first one that a reader knows decides
UNKNOWN_FORMAT = "files are in no known format"
MAX_ATTRIBUTE = 1_000  # characters of a value
LONG_ATTRIBUTE = f"attributes are longer than {MAX_ATTRIBUTE:,} characters and were cut"


@dataclass(frozen=True, slots=True, eq=False)
class Traces:
    """Everything that was read from some files, and the remarks of reading them."""

    table: CallTable
    files: dict[str, list[str]]  # by reader
    others: tuple[Path, ...]  # in no known format
    paths: tuple[Path, ...]  # of all files, in any format
    remarks: Remarks


def read_traces(paths: Iterable[str | Path], texts: IO[bytes], report: Report = no_report) -> Traces:
    """Read files, folders and patterns; ``texts`` is a temporary file for the texts, which the caller closes."""
    remarks = Remarks()
    found = files_of(paths, remarks)
    by_reader = _group_by_reader(found, remarks)
    if not by_reader:
        raise _nothing_recognized(found)
    meter = ReadMeter(report)
    meter.expect(file for _, files in by_reader for file in files)
    items = chain.from_iterable(_read(reader, files, remarks, meter) for reader, files in by_reader)
    table = collect_calls(items, texts)
    for reader, _ in by_reader:
        _require_content(reader, table)
    names = {reader.name: [file.source for file in files] for reader, files in by_reader}
    read = {file.path for _, files in by_reader for file in files}
    every = tuple(file.path for file in found)
    return Traces(table, names, tuple(path for path in every if path not in read), every, remarks)


def _group_by_reader(files: Sequence[TraceFile], remarks: Remarks) -> list[tuple[Reader, list[TraceFile]]]:
    groups: dict[str, tuple[Reader, list[TraceFile]]] = {}
    for file in files:
        sniffed = islice(records_of(file, Remarks()), SNIFFED_RECORDS)
        reader = next((reader for record in sniffed if (reader := recognize(record.value)) is not None), None)
        if reader is None:
            remarks.add(UNKNOWN_FORMAT, file.source)
        else:
            groups.setdefault(reader.name, (reader, []))[1].append(file)
    return list(groups.values())


def _read(
    reader: Reader, files: Sequence[TraceFile], remarks: Remarks, meter: ReadMeter
) -> Iterator[tuple[str, Call | Score]]:
    records: Iterator[Record] = chain.from_iterable(
        meter.records(file, records_of(file, remarks, meter.follow)) for file in files
    )
    for item in reader.read(records, remarks):
        meter.calls += isinstance(item, Call)
        yield reader.name, _cleaned(item, remarks) if isinstance(item, Call) else with_likely_author(item)
    meter.tick()


def _cleaned(call: Call, remarks: Remarks) -> Call:
    """The call with the messages that it answered: some programs record the conversation with the answer."""
    asked = without_answer(call.messages, call.outputs)
    if len(asked) < len(call.messages):
        remarks.add("calls have their answer at the end of their messages, where it was removed", call.origin)
        call = replace(call, messages=asked)
    elif call.outputs and ends_with_answer(call.messages):
        remarks.add("calls have messages that end with another answer than theirs", call.origin)
    return _with_short_attributes(call, remarks)


def _with_short_attributes(call: Call, remarks: Remarks) -> Call:
    """The call without the rest of long values: attributes stay in memory, and a value that marks a call is short."""
    if all(len(value) <= MAX_ATTRIBUTE for value in call.attributes.values()):
        return call
    remarks.add(LONG_ATTRIBUTE, call.origin)
    return replace(call, attributes={name: value[:MAX_ATTRIBUTE] for name, value in call.attributes.items()})


def _nothing_recognized(files: Sequence[TraceFile]) -> DataError:
    what = "there is no file of a known format" if not files else "no file is in a known trace format"
    fix = f"Formats: {join_names([reader.name for reader in READERS])}. Tables of a study go to `deconfound evaluate`."
    return DataError([Problem(join_names([file.source for file in files]) or "traces", what, fix)])


def _require_content(reader: Reader, table: CallTable) -> None:
    """Refuse traces in which no call has its messages: reading them as empty texts would be wrong."""
    calls = [call for call in table.calls if call.reader == reader.name and "error" not in call.flags]
    if calls and all("no content" in call.flags for call in calls):
        what = f"none of the {len(calls):,} calls has its messages and answer recorded"
        raise DataError([Problem(calls[0].origin, what, reader.content_switch or "Export the traces with content.")])
