"""A table as contents, and the three ways it is written down."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from deconfound.formatting import escape_control_characters, text_table
from deconfound.report.recommendations_io import FORMULA_PREFIXES
from deconfound_bench.tables.estimate import Estimate

Entry: TypeAlias = str | int | float | Estimate

WIDTH = 100  # of a note on a terminal
MARKUP = "\\`*[]<>|"  # what Markdown would read as something else


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns, what they are about, and what a reader must know to read them right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title}: a row has {len(row)} entries for {len(self.columns)} columns")


def to_text(table: Table) -> str:
    """For terminals: words to the left, numbers to the right."""
    rows = [[escape_control_characters(entry) for entry in row] for row in _shown(table)]
    body = text_table(rows, left=[at for at, words in enumerate(_words(table)) if words], rule=True)
    note = ["", *textwrap.wrap(escape_control_characters(table.note), WIDTH)] if table.note else []
    return "\n".join([escape_control_characters(table.title), "", body, *note]) + "\n"


def to_markdown(table: Table) -> str:
    """For documents: a bold title, a pipe table, the note below."""
    rule = [":--" if left else "--:" for left in _words(table)]
    rows = [[_plain(entry) for entry in row] for row in _shown(table)]
    body = [f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:])]
    note = ["", _plain(table.note)] if table.note else []
    return "\n".join([f"**{_plain(table.title)}**", "", *body, *note]) + "\n"


def to_csv(table: Table) -> str:
    """For machines: numbers in full, an error in a column of its own, unknown ones left empty.

    A text that a spreadsheet would take for a formula gets an apostrophe in front. Title and note are not written.
    """
    double = [any(isinstance(row[at], Estimate) for row in table.rows) for at in range(len(table.columns))]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    heads = [[name, f"{name} error"] if two else [name] for name, two in zip(table.columns, double, strict=True)]
    writer.writerow([_harmless(name) for names in heads for name in names])
    for row in table.rows:
        parts = [_parts(entry, two) for entry, two in zip(row, double, strict=True)]
        writer.writerow([_harmless(part) for both in parts for part in both])
    return buffer.getvalue()


def _words(table: Table) -> list[bool]:
    """Columns that hold words only."""
    return [all(isinstance(row[at], str) for row in table.rows) for at in range(len(table.columns))]


def _shown(table: Table) -> list[list[str]]:
    """Head and rows as people read them; the estimates of a column share their decimals where theirs nearly agree."""
    columns = []
    for at, name in enumerate(table.columns):
        entries = [row[at] for row in table.rows]
        wanted = [e.decimals for e in entries if isinstance(e, Estimate) and e.decimals is not None]
        shared = max(wanted) if wanted and max(wanted) - min(wanted) <= 1 else None
        columns.append([name, *(_one(entry, shared) for entry in entries)])
    return [list(row) for row in zip(*columns, strict=True)]


def _one(entry: Entry, decimals: int | None) -> str:
    if isinstance(entry, Estimate):
        return entry.shown(decimals)
    if isinstance(entry, float):
        return "–" if math.isnan(entry) else f"{entry:.4g}"
    return f"{entry:,}" if isinstance(entry, int) else entry


def _plain(text: str) -> str:
    return "".join(f"\\{c}" if c in MARKUP else c for c in escape_control_characters(text))


def _parts(entry: Entry, double: bool) -> Sequence[str | int | float]:
    both = (entry.mean, entry.error) if isinstance(entry, Estimate) else (entry, "") if double else (entry,)
    return ["" if isinstance(part, float) and math.isnan(part) else part for part in both]


def _harmless(value: str | int | float) -> str | int | float:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_PREFIXES) else value
