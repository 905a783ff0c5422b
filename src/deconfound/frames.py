"""Rows of a result as data frames and as tables of a notebook."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, TypeAlias, TypeVar

from deconfound.errors import UsageError
from deconfound.escaping import escape_name

Scalar: TypeAlias = str | float | int | bool | None

LIBRARIES = ("pandas", "polars")
MAX_SHOWN_ROWS = 50  # in a notebook; a frame has all


class Row(Protocol):
    """Something with columns."""

    def record(self) -> dict[str, Scalar]:
        """Its columns by name."""


RowT_co = TypeVar("RowT_co", bound=Row, covariant=True)


class Records(tuple[RowT_co, ...]):
    """A tuple of rows that a notebook shows as a table."""

    __slots__ = ()

    def to_frame(self) -> Any:  # noqa: ANN401  (a frame of a library that may not be installed)
        """One line per row, as a pandas or polars data frame: of the library in use, or of the one installed."""
        return to_frame([row.record() for row in self])

    def _repr_html_(self) -> str:
        return html_table([row.record() for row in self])


def to_frame(records: Sequence[Mapping[str, Scalar]]) -> Any:  # noqa: ANN401  (as above)
    """A data frame of the library that is imported already, otherwise of pandas, otherwise of polars."""
    used = [name for name in LIBRARIES if name in sys.modules] or [name for name in LIBRARIES if find_spec(name)]
    if not used:
        raise UsageError("Data frames need pandas or polars. Install one of them: pip install pandas")
    columns = {name: [record[name] for record in records] for name in (records[0] if records else ())}
    return import_module(used[0]).DataFrame(columns)


def html_table(records: Sequence[Mapping[str, Scalar]]) -> str:
    """A plain table; every text is escaped."""
    if not records:
        return "<p>No rows.</p>"
    head = "".join(f"<th>{escape(name)}</th>" for name in records[0])
    shown = records[:MAX_SHOWN_ROWS]
    body = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in record.values())}</tr>" for record in shown)
    rest = f"<p>and {len(records) - len(shown):,} more</p>" if len(records) > len(shown) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _cell(cell: Scalar) -> str:
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return "" if cell is None else escape(escape_name(str(cell)))
