"""Names, numbers, tables and paragraphs as they appear in messages, on terminals and in JSON."""

from __future__ import annotations

import difflib
import math
import re
import shlex
import textwrap
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from deconfound.escaping import escape_line, escape_name, escape_text

MAX_QUOTED_CHARACTERS = 60  # a longer value would hide the rest of the message
NAME_END_CHARACTERS = 20  # of a long name that stay when its middle is cut: versions are at the end
MAX_LISTED_NAMES = 8
ELLIPSIS = "…"
QUOTE, ESCAPED_QUOTE = '"', '\\"'
TERMINAL_WIDTH = 100
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
COLUMN_GAP = re.compile(r"\S {2,}\S")  # two spaces in a row separate the cells of a table


def quote(value: object, *, whole: bool = False) -> str:
    """Put a user's value in quotes, on one line and without terminal control codes; cut unless ``whole``."""
    text = str(value)
    shown = escape_text(text) if whole else shorten(text)
    return f'"{shown.replace(QUOTE, ESCAPED_QUOTE)}"'


def shorten(text: str) -> str:
    """The first ``MAX_QUOTED_CHARACTERS`` of a text, escaped, with an ellipsis for the rest."""
    return escape_text(text[:MAX_QUOTED_CHARACTERS]) + ELLIPSIS * (len(text) > MAX_QUOTED_CHARACTERS)


def join_names(names: Iterable[object]) -> str:
    """List the first ``MAX_LISTED_NAMES`` names and count the others."""
    return join_noted_names((name, "") for name in names)


def join_choices(names: Sequence[str]) -> str:
    """Few names as a choice: "a, b or c"; long ones are cut, all of them are named."""
    *first, last = _short_names(names)
    return f"{', '.join(first)} or {last}" if first else last


def join_noted_names(pairs: Iterable[tuple[object, str]]) -> str:
    """The same for names with a note each, such as a count: a long name is cut, its note never."""
    names, notes = [], []
    for name, note in pairs:
        names.append(str(name))
        notes.append(note)
    listed = [f"{name}{note}" for name, note in zip(_short_names(names[:MAX_LISTED_NAMES]), notes, strict=False)]
    rest = len(names) - MAX_LISTED_NAMES
    return ", ".join(listed) + (f" and {rest} more" if rest > 0 else "")


def _short_names(names: Sequence[str]) -> list[str]:
    """Cut long names in the middle, escaped; names that would then look alike stay whole."""
    short = [_cut_middle(name) for name in names]
    whole = {cut for cut in short if len({name for name, other in zip(names, short, strict=True) if other == cut}) > 1}
    return [escape_name(name if cut in whole else cut) for name, cut in zip(names, short, strict=True)]


def _cut_middle(name: str) -> str:
    if len(name) <= MAX_QUOTED_CHARACTERS:
        return name
    return name[: MAX_QUOTED_CHARACTERS - NAME_END_CHARACTERS] + ELLIPSIS + name[-NAME_END_CHARACTERS:]


def shell_argument(text: str) -> str:
    """A user's text as one argument of a suggested command, safe to copy into a shell."""
    return shlex.quote(escape_line(text))


def pluralize(number: int, noun: str) -> str:
    """Write a count with its noun: "1 row", "1,200 rows"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_percent(share: float, decimals: int | None = None) -> str:
    """Write 0.5 as "50 %", rounded to ``decimals`` or as exact as it is."""
    number = 100 * share
    return f"{number:g} %" if decimals is None else f"{number:z.{decimals}f} %"  # no "-0"


def similar_name(name: str, names: Iterable[str]) -> str | None:
    """Find the most similar of the existing names, ignoring case; None if none is similar."""
    existing = list(names)
    near = difflib.get_close_matches(name.lower(), [other.lower() for other in existing], n=1)
    return next(other for other in existing if other.lower() == near[0]) if near else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Suggest the most similar existing name, as the end of a sentence; empty if none is similar."""
    similar = similar_name(name, names)
    return "" if similar is None else f"; did you mean {quote(similar)}?"


def display_width(text: str) -> int:
    """Columns of a terminal: letters of East Asia take two, accents that combine with a letter none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def text_table(rows: Sequence[Sequence[str]], *, left: Collection[int] = (), rule: bool = False) -> str:
    """Pad cells to columns of equal width, two spaces apart.

    Columns whose index is in ``left`` are left-aligned, all others right-aligned. ``rule`` draws a line below the
    first row.
    """
    if not rows:
        return ""
    widths = [max(display_width(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = []
    for row in rows:
        gaps = [" " * (width - display_width(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [cell + gap if at in left else gap + cell for at, (cell, gap) in enumerate(zip(row, gaps, strict=True))]
        lines.append("  ".join(cells).rstrip())
    if rule:
        lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)


def wrap(text: str, width: int = TERMINAL_WIDTH) -> str:
    """Break lines longer than ``width`` at spaces, but not before a percent sign; rows of a table stay as they are.

    The rest of an indented line is indented by two more spaces.
    """
    return "\n".join(_wrap_line(line, width) for line in text.split("\n"))


def _wrap_line(line: str, width: int) -> str:
    if len(line) <= width or COLUMN_GAP.search(line):
        return line
    indent = len(line) - len(line.lstrip(" "))
    filled = textwrap.fill(
        line.replace(" %", f"{NO_BREAK_SPACE}%"),
        width,
        subsequent_indent=" " * (indent + 2 if indent else 0),
        break_long_words=False,
        break_on_hyphens=False,
        expand_tabs=False,
        replace_whitespace=False,
    )
    return filled.replace(f"{NO_BREAK_SPACE}%", " %")


def to_jsonable(value: Any) -> Any:  # noqa: ANN401  (any nesting of dicts, sequences, arrays and scalars)
    """Convert arrays and tuples to lists and every number that is not finite to None, at any depth."""
    if hasattr(value, "tolist"):  # an array or a scalar of NumPy, which this module does not import: start-up is light
        return to_jsonable(value.tolist())
    if isinstance(value, dict):
        return {name: to_jsonable(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_jsonable(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
