"""Break the long lines of a report at word boundaries."""

from __future__ import annotations

import re
import textwrap

MAX_COLUMNS = 100  # of text printed to a terminal
COLUMN_GAP = re.compile(r"\S {2,}\S")  # two spaces in a row separate the cells of a table


def wrap_lines(text: str, columns: int = MAX_COLUMNS) -> str:
    """Wrap every line that is too long; table rows stay as they are.

    Continuation lines of an indented line are indented by two more spaces.
    """
    return "\n".join(_wrap_line(line, columns) for line in text.split("\n"))


def _wrap_line(line: str, columns: int) -> str:
    if len(line) <= columns or COLUMN_GAP.search(line):
        return line
    indent = len(line) - len(line.lstrip(" "))
    return textwrap.fill(
        line,
        columns,
        subsequent_indent=" " * (indent + 2 if indent else 0),
        break_long_words=False,
        break_on_hyphens=False,
    )
