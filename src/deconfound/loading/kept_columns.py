"""Columns that a reader has no use for, and that a table written from it keeps: topics, countries and the like."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import pyarrow as pa

from deconfound.findings import Finding, Notice
from deconfound.formatting import join_names
from deconfound.loading.canonical import CanonicalTable
from deconfound.loading.column_mapping import matching_columns, prefixed_name
from deconfound.loading.convert import is_string_type
from deconfound.loading.raw import NESTED, RawTable, python_value

OF_ANSWERS = ("model", "output", "outcome", "propensity", "draw")
PREFIXES_OF_ANSWERS = ("propensity_", "label_", "feature_")


def kept_columns(raw: RawTable, table: CanonicalTable, written: Iterable[str]) -> tuple[pa.Table, list[Finding]]:
    """The unused columns of a table; not those about earlier answers, nor those with a name that is ``written``.

    An experiment gets models, outputs and outcomes of its own: those of the file would be taken for them.
    """
    names = [name for name in table.unused_columns if name in raw.arrow.column_names]
    dropped = {*_of_answers(names), *(name for name in names if name in set(written))}
    kept = {name: _writable(raw.arrow[name]) for name in names if name not in dropped}
    if not dropped:
        return pa.table(kept), []
    listed = join_names([name for name in names if name in dropped])
    message = f"{raw.source}: {listed} left out: the experiment gets columns of its own for these."
    return pa.table(kept), [Finding("columns left out", "pass", Notice(message))]


def _of_answers(names: Sequence[str]) -> set[str]:
    found = {column for name in OF_ANSWERS for column in matching_columns(name, names, accept_id_alias=False)}
    return found | {name for name in names if prefixed_name(name, PREFIXES_OF_ANSWERS) is not None}


def _writable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column that every format has: text, numbers and truth values as they are, all others as text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _writable(column.cast(kind.value_type))
    if kind == NESTED:
        return pa.chunked_array([[None if cell is None else cell["json"] for cell in column.to_pylist()]], pa.string())
    simple = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    if is_string_type(kind) or any(is_kind(kind) for is_kind in simple):
        return column
    return pa.chunked_array([[_text(python_value(cell)) for cell in column]], pa.string())


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)
