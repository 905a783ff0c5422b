"""A table as data, its three renderings, and writing them to files."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from deconfound.atomic import write_bytes
from deconfound.errors import UsageError
from deconfound.escaping import escape_formulas, escape_line
from deconfound_bench.score_tables.score_cube import Estimate

Entry: TypeAlias = str | int | float | Estimate

NOTE_CHARACTERS = 100  # per line of a note on a terminal
MARKDOWN_SPECIAL = "\\`*[]<>|"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns, with a title and an explanatory note."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title}: a row has {len(row)} entries for {len(self.columns)} columns")


def to_text(table: Table) -> str:
    """For terminals: text is left-aligned, numbers are right-aligned."""
    rows = [[escape_line(entry) for entry in row] for row in _format_cells(table)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(table.columns))]
    is_text = _text_columns(table)
    lines = [
        "  ".join(e.ljust(w) if left else e.rjust(w) for e, w, left in zip(row, widths, is_text, strict=True)).rstrip()
        for row in rows
    ]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    note = ["", *textwrap.wrap(escape_line(table.note), NOTE_CHARACTERS)] if table.note else []
    return "\n".join([escape_line(table.title), "", lines[0], rule, *lines[1:], *note]) + "\n"


def to_markdown(table: Table) -> str:
    """For documents: a bold title, a pipe table, the note below."""
    rule = [":--" if left else "--:" for left in _text_columns(table)]
    rows = [[_escape_markdown(entry) for entry in row] for row in _format_cells(table)]
    body = [f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:])]
    note = ["", _escape_markdown(table.note)] if table.note else []
    return "\n".join([f"**{_escape_markdown(table.title)}**", "", *body, *note]) + "\n"


def to_csv(table: Table) -> str:
    """For programs: full precision, standard errors in their own columns, undefined values empty.

    A text that a spreadsheet would interpret as a formula is prefixed with an apostrophe. Title and note are omitted.
    """
    has_error = [any(isinstance(row[at], Estimate) for row in table.rows) for at in range(len(table.columns))]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    heads = [
        [name, f"{name} standard error"] if error else [name]
        for name, error in zip(table.columns, has_error, strict=True)
    ]
    writer.writerow([_escape_formula(name) for names in heads for name in names])
    for row in table.rows:
        parts = [_csv_parts(entry, error) for entry, error in zip(row, has_error, strict=True)]
        writer.writerow([_escape_formula(part) for entry_parts in parts for part in entry_parts])
    return buffer.getvalue()


def write_table(directory: Path, name: str, table: Table, data: Table | None = None) -> list[Path]:
    """Write a table as .txt and .md for reading and as .csv for computing; ``data`` is the .csv if that differs."""
    texts = {".txt": to_text(table), ".md": to_markdown(table), ".csv": to_csv(table if data is None else data)}
    return [write_file(directory, name + suffix, text.encode()) for suffix, text in texts.items()]


def write_file(directory: Path, name: str, data: bytes) -> Path:
    """Write one file, creating its folder."""
    path = directory / name
    try:
        directory.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}). Choose another folder.") from error
    return path


def _text_columns(table: Table) -> list[bool]:
    """Which columns contain text only."""
    return [all(isinstance(row[at], str) for row in table.rows) for at in range(len(table.columns))]


def _format_cells(table: Table) -> list[list[str]]:
    """Head and rows as text; the estimates of a column share their decimals if those differ by at most one."""
    columns = []
    for at, name in enumerate(table.columns):
        entries = [row[at] for row in table.rows]
        decimals = [e.decimals for e in entries if isinstance(e, Estimate) and e.decimals is not None]
        shared = max(decimals) if decimals and max(decimals) - min(decimals) <= 1 else None
        columns.append([name, *(_format_entry(entry, shared) for entry in entries)])
    return [list(row) for row in zip(*columns, strict=True)]


def _format_entry(entry: Entry, decimals: int | None) -> str:
    if isinstance(entry, Estimate):
        return entry.format(decimals)
    if isinstance(entry, float):
        return "–" if math.isnan(entry) else f"{entry:.4g}"
    return f"{entry:,}" if isinstance(entry, int) else entry


def _escape_markdown(text: str) -> str:
    return "".join(f"\\{c}" if c in MARKDOWN_SPECIAL else c for c in escape_line(text))


def _csv_parts(entry: Entry, has_error: bool) -> Sequence[str | int | float]:
    parts = (
        (entry.mean, entry.standard_error) if isinstance(entry, Estimate) else (entry, "") if has_error else (entry,)
    )
    return ["" if isinstance(part, float) and math.isnan(part) else part for part in parts]


def _escape_formula(value: str | int | float) -> str | int | float:
    return escape_formulas(value) if isinstance(value, str) else value
