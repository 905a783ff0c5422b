"""The files or the table of a long log, and its first rows, by which every later one is read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from deconfound.data import RowNumbers
from deconfound.errors import DataError, Problem
from deconfound.escaping import escape_line, readable_path
from deconfound.loading.decoded_size import decoded_bytes
from deconfound.loading.file_columns import name_findings, with_common_names
from deconfound.loading.files import file_error, resolve_file
from deconfound.loading.joined_files import join_files
from deconfound.loading.log_size import LongLog, expansion
from deconfound.loading.memory_rows import MemoryRows, memory_parts
from deconfound.loading.parquet_rows import ParquetRows, parquet_parts
from deconfound.loading.partitions import with_partitions
from deconfound.loading.raw import RawTable
from deconfound.loading.sources import TableLike, refuse_repeated_names
from deconfound.loading.table_files import TableFile, find_table, is_path
from deconfound.loading.text_rows import TextRows

RawRows: TypeAlias = ParquetRows | TextRows | MemoryRows
MIN_HEAD_ROWS = 20  # of every file, however many there are
MIN_HEAD_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class LogFile:
    """One file of a log, or a table in memory: its rows in parts, and what is added or renamed in all of them.

    ``names`` are the files of the log if there are several, and ``at`` is the place of this one.
    """

    rows: RawRows
    below: tuple[str, ...] = ()
    renamed: Mapping[str, str] | None = None
    names: tuple[str, ...] = ()
    at: int = 0

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return self.rows.source

    def batches(self, batch_rows: int) -> Iterator[tuple[RawTable, LogFile | None]]:
        """The rows in batches, and what follows after each, where the file can be cut there."""
        for raw, rest in self.rows.batches():
            refuse_repeated_names(raw)
            starts = range(0, raw.arrow.num_rows, batch_rows)
            for start in starts:
                after = replace(self, rows=rest) if rest.can_be_cut and start == starts[-1] else None
                rows = slice_raw(raw, start, batch_rows)
                yield self._prepare(replace(rows, findings=() if start else raw.findings)), after

    def _prepare(self, raw: RawTable) -> RawTable:
        raw = with_partitions(raw, self.below)
        if self.renamed:
            names = [self.renamed.get(name, name) for name in raw.arrow.column_names]
            raw = replace(raw, arrow=raw.arrow.rename_columns(names))
        if not self.names:
            return raw
        numbers = _numbers(raw)
        file = np.full(raw.arrow.num_rows, self.at)
        return replace(raw, row_numbers=RowNumbers(raw.row_numbers.unit, numbers, self.names, file))


def until(part: LogFile, after: LogFile) -> LogFile:
    """The rows of a part that come before others of the same file."""
    rows, rest = part.rows, after.rows
    if not (isinstance(rows, TextRows) and isinstance(rest, TextRows)):
        raise TypeError("only texts are cut between row groups or slices")
    return replace(part, rows=replace(rows, stop=rest.start))


def slice_raw(raw: RawTable, start: int, rows: int) -> RawTable:
    """Consecutive rows of a table."""
    at = np.arange(start, min(start + rows, raw.arrow.num_rows))
    return replace(raw, arrow=raw.arrow.slice(start, rows), row_numbers=raw.row_numbers.take(at))


def _numbers(raw: RawTable) -> np.ndarray:
    numbers = raw.row_numbers.numbers
    return np.arange(1, raw.arrow.num_rows + 1) if numbers is None else numbers


@dataclass(frozen=True, slots=True, eq=False)
class LogFiles:
    """All files of a log, and its first rows as one table."""

    files: tuple[LogFile, ...]
    head: RawTable

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.rows.size for file in self.files)


def open_log(source: TableLike, name: str, mapping: Mapping[str, str], sizes: LongLog) -> LogFiles:
    """Find the files, and read the first rows of each; ``mapping`` is what --map says for the log."""
    if not is_path(source):
        parts = memory_parts(source, name, sizes.batch_rows, sizes.batch_bytes, 16 * sizes.batch_rows)
        files = tuple(LogFile(part) for part in parts)
        return LogFiles(files, replace(_head(files[0], sizes.head_rows, sizes.head_bytes), is_part=True))
    found = find_table(source)
    names = _names(found.tables, name)
    opened = _open_files(found.tables, names, sizes)
    names = tuple(parts[0].name for parts in opened)
    rows = max(MIN_HEAD_ROWS, sizes.head_rows // len(opened))
    heads = with_common_names([_file_head(parts, rows, sizes, len(opened)) for parts in opened], "log", mapping)
    numbered = names if len(names) > 1 else ()
    files = tuple(
        LogFile(part.rows, part.below, dict(head.renamed), numbered, at)
        for at, (parts, head) in enumerate(zip(opened, heads, strict=True))
        for part in parts
    )
    joined = join_files(_with_all_keys(opened, heads), name)
    findings = (*found.findings(name), *joined.findings, *name_findings(heads, name))
    return LogFiles(files, replace(joined, findings=findings, is_part=True))


def _names(tables: Sequence[TableFile], name: str) -> tuple[str, ...]:
    if len(tables) == 1:
        return (name,)
    folder = Path(os.path.commonpath([file.path.parent for file in tables]))
    return tuple(escape_line(readable_path(os.path.relpath(file.path, folder))) for file in tables)


def _open_files(tables: Sequence[TableFile], names: Sequence[str], sizes: LongLog) -> list[list[LogFile]]:
    """The parts of each file; all that cannot be opened are reported at once."""
    opened, problems = [], list[Problem]()
    for table, name in zip(tables, names, strict=True):
        try:
            file = resolve_file(table.path, name)
            rows: Sequence[RawRows] = (
                parquet_parts(file, sizes.batch_rows, sizes.batch_bytes, sizes.part_bytes)
                if file.format == "parquet"
                else [TextRows.of(file, sizes.batch_bytes, expansion(file))]
            )
            opened.append([LogFile(part, table.below) for part in rows])
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(problems)
    opened = [parts for parts in opened if parts]
    if not opened:
        raise file_error(names[0], "there are no rows", "Check the export: a table needs at least one row.")
    return opened


def _file_head(parts: Sequence[LogFile], rows: int, sizes: LongLog, files: int) -> RawTable:
    """The first rows of a file; less of each if there are many."""
    first = parts[0]
    if isinstance(first.rows, TextRows):
        few = max(MIN_HEAD_BYTES, sizes.batch_bytes // files)
        first = replace(first, rows=replace(first.rows, batch_bytes=min(sizes.batch_bytes, few)))
    return _head(first, rows, sizes.head_bytes // files)


def _head(file: LogFile, rows: int, max_bytes: int) -> RawTable:
    """The first rows; fewer where they are long, but some in any case."""
    pieces, count, size = [], 0, 0
    for raw, _ in file.batches(rows):
        piece = slice_raw(raw, 0, rows - count)
        more = decoded_bytes(piece.arrow)
        if size + more > max_bytes:
            fitting = int(piece.arrow.num_rows * (max_bytes - size) / more)
            rows = min(rows, max(count + fitting, MIN_HEAD_ROWS))
            piece = slice_raw(piece, 0, rows - count)
            more = decoded_bytes(piece.arrow)
        pieces.append(piece)
        count, size = count + piece.arrow.num_rows, size + more
        if count >= rows:
            break
    if not pieces:  # a CSV may have names without rows
        first = next(iter(file.rows.batches()), None)
        return RawTable(pa.table({}), file.name, RowNumbers()) if first is None else first[0]
    joined = join_files(pieces, file.name) if len(pieces) > 1 else pieces[0]
    numbers = RowNumbers(pieces[0].row_numbers.unit, np.concatenate([_numbers(piece) for piece in pieces]))
    return replace(joined, row_numbers=numbers, findings=pieces[0].findings, partial={}, joined={})


def _with_all_keys(opened: Sequence[Sequence[LogFile]], heads: Sequence[RawTable]) -> list[RawTable]:
    """Heads of JSONL files with the keys of all such files: their later lines may have what the first ones lack."""
    lines = [isinstance(parts[0].rows, TextRows) and parts[0].rows.format == "jsonl" for parts in opened]
    keys = list(dict.fromkeys(n for head in heads for n in head.arrow.column_names))
    return [with_columns(head, keys) if is_lines else head for head, is_lines in zip(heads, lines, strict=True)]


def with_columns(raw: RawTable, names: Sequence[str]) -> RawTable:
    """The table with an empty column for each name that it lacks."""
    arrow = raw.arrow
    present = set(arrow.column_names)
    for name in names:
        if name not in present:
            arrow = arrow.append_column(name, pa.nulls(arrow.num_rows))
    return replace(raw, arrow=arrow)
