"""The message where no row fulfills a condition: which column, which value, and the values that there are."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from deconfound.errors import Problem
from deconfound.formatting import MAX_LISTED_NAMES, did_you_mean, join_names, pluralize, quote
from deconfound.loading.raw import python_value
from deconfound.loading.row_condition import RowFilter

MAX_VALUES = 1_000  # of a column; further ones are not counted
MISSING = "(none)"


@dataclass(slots=True)
class SeenValues:
    """The values of a column in the rows that a condition could choose from; batches may be added one by one."""

    column: str = ""
    rows: int = 0
    values: dict[str, None] = field(default_factory=dict)

    def add(self, column: str, cells: pa.ChunkedArray) -> None:
        """Further rows."""
        self.column = column
        self.rows += len(cells)
        for cell in cells.unique():
            if len(self.values) > MAX_VALUES:
                return
            self.values[str(python_value(cell)) if cell.is_valid else MISSING] = None

    def describe(self) -> str:
        """How many rows there are, and the first values."""
        names = list(self.values)
        listed = f"{join_names(names[:MAX_LISTED_NAMES])} and more" if len(names) > MAX_VALUES else join_names(names)
        values = "the only value is" if len(names) == 1 else "the values are"
        return f"Among {pluralize(self.rows, 'row')} {values} {listed}"


def no_row_problem(source: str, condition: RowFilter, seen: SeenValues, *, is_first: bool) -> Problem:
    """No row of a table fulfills a condition; ``is_first``: no other one was applied before."""
    others = "" if is_first else " and fulfills the conditions before it"
    what = f"no row has {_sought(condition)} in column {quote(seen.column)} (--where {condition.text}){others}"
    suggestion = did_you_mean(condition.values[0], seen.values) if condition.operator == "=" else ""
    return Problem(source, what, seen.describe() + (suggestion or "."))


def _sought(condition: RowFilter) -> str:
    """What a condition asks for, in words."""
    values = condition.values
    if condition.operator not in ("=", "!="):
        return f"a value {condition.operator} {values[0]}"
    is_equal = condition.operator == "="
    if values == ("",):
        return "an empty cell" if is_equal else "a value"
    if len(values) == 1:
        return f"{'the value' if is_equal else 'another value than'} {quote(values[0])}"
    return f"{'one of the values' if is_equal else 'another value than'} {join_names(values)}"
