"""A user's table as read, before anything is renamed or judged, and how to point at what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from deconfound.data import Mask, RowNumbers
from deconfound.errors import Problem
from deconfound.formatting import pluralize, quote
from deconfound.loading.values import NESTED

SHOWN_ROWS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """The columns of one source under the user's own names."""

    table: pa.Table
    source: str
    places: RowNumbers

    def column(self, name: str) -> Column:
        """Take one column together with its whereabouts."""
        return Column(name, self.table[name], self.source, self.places)


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column of a user's table, under the user's name for it."""

    name: str
    values: pa.ChunkedArray
    source: str
    places: RowNumbers

    def problem(self, bad: Mask, what: str, fix: str, *, show: bool = True) -> Problem:
        """Gather all rows with one kind of fault into one problem: the first row, a few examples, the count."""
        rows = np.flatnonzero(bad)
        examples = ": " + ", ".join(dict.fromkeys(self._shown(int(row)) for row in rows[:SHOWN_ROWS])) if show else ""
        said = f"column {quote(self.name)} {what}{examples}{others(self.places, rows)}"
        return Problem(f"{self.source} {self.places.unit} {self.places.number(int(rows[0]))}", said, fix)

    def _shown(self, row: int) -> str:
        value = self.values[row].as_py()
        if self.values.type == NESTED:
            value = value["json"]
        return quote(value) if isinstance(value, str) else quote(value)[1:-1]

    def whole(self, what: str, fix: str) -> Problem:
        """State a fault of the column itself, which no single row can show."""
        return Problem(self.source, f"column {quote(self.name)} {what}", fix)


def others(places: RowNumbers, rows: Iterable[int]) -> str:
    """Count the rows of one fault and name the first few; nothing for a single one."""
    found = [places.number(int(row)) for row in rows]
    if len(found) <= 1:
        return ""
    shown = ", ".join(map(str, found[:SHOWN_ROWS])) + (", …" if len(found) > SHOWN_ROWS else "")
    return f" ({pluralize(len(found), places.unit)}: {shown})"
