"""Read what models are to be drawn for: contexts, or the users or sessions of a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from deconfound.assignment.manifest import CONTEXT_UNITS
from deconfound.errors import DataError, Problem, UsageError
from deconfound.findings import Finding
from deconfound.formatting import quote
from deconfound.loading.canonical import CanonicalTable
from deconfound.loading.column_mapping import check_mapping
from deconfound.loading.context_rows import two_texts
from deconfound.loading.kept_columns import kept_columns
from deconfound.loading.read_tables import read_canonical_tables
from deconfound.loading.reading_rules import ReadingRules
from deconfound.loading.sources import TableLike, read_table

COLUMNS = ("context_id", "context", "cluster")
RESERVED = ("model", "propensity", "assigned_model", "unit")


@dataclass(frozen=True, slots=True, eq=False)
class UnitTable:
    """One row per context or use; ``unit`` is the column whose values models are drawn for."""

    arrow: pa.Table
    unit: str
    source: str
    findings: tuple[Finding, ...]

    @property
    def units(self) -> pa.ChunkedArray:
        """The id of each row's unit."""
        return self.arrow[self.unit]


def load_units(source: TableLike, unit: str | None, *, columns: Mapping[str, str] | None = None) -> UnitTable:
    """Read contexts with the unit of each: its id, else its text, unless ``unit`` names another column.

    Other columns stay as they are, so that rows can be chosen by them later.
    """
    check_mapping(columns or {})
    if unit in RESERVED or (unit or "").startswith("propensity_"):
        raise UsageError(f"--unit {unit}: this is the name of a column that will be written; rename yours.")
    mapping = dict(columns or {})
    if unit is not None and unit not in CONTEXT_UNITS:
        mapping["unit"] = unit
    problems: list[Problem] = []
    tables = read_canonical_tables({"target": source}, ReadingRules(columns=mapping), problems)
    if problems:
        raise DataError([replace(one, fix=one.fix.replace("--map unit=", "--unit ")) for one in problems])
    _require_one_text(tables["target"])
    found = _with_unit(tables["target"], unit)
    return _with_kept_columns(found, tables["target"], source) if tables["target"].unused_columns else found


def _require_one_text(table: CanonicalTable) -> None:
    """Refuse an id with two texts: an evaluation and a replay of the experiment would refuse it later."""
    if not (table.has("context_id") and table.has("context")):
        return
    pairs = table.arrow.select(["context_id", "context"])
    if len(pairs.group_by(["context_id", "context"]).aggregate([])) == len(pairs["context_id"].unique()):
        return
    first: dict[str, tuple[int, str]] = {}
    ids, texts = (pairs[name].to_pylist() for name in ("context_id", "context"))
    for at, (context_id, text) in enumerate(zip(ids, texts, strict=True)):
        earlier, known = first.setdefault(context_id, (at, text))
        if known != text:
            raise DataError([two_texts(context_id, table.locate(at), table.locate(earlier))])


def _with_kept_columns(found: UnitTable, table: CanonicalTable, source: TableLike) -> UnitTable:
    """The file is read again: other commands have no use for these columns, and do not keep them in memory."""
    raw = read_table(source, "target", table.source)
    kept, findings = kept_columns(raw, table, [*RESERVED, *COLUMNS, *found.arrow.column_names])
    arrow = found.arrow
    for name in kept.column_names:
        arrow = arrow.append_column(name, kept[name])
    return replace(found, arrow=arrow, findings=(*found.findings, *findings))


def _with_unit(table: CanonicalTable, unit: str | None) -> UnitTable:
    """The columns that an experiment needs; the unit's column has the user's name."""
    name = unit or next(each for each in CONTEXT_UNITS if table.has(each))
    arrow = table.arrow
    if name in CONTEXT_UNITS and not table.has(name):
        what = f"there is no column for the {name}, which --unit {quote(name)} names"
        raise DataError([Problem(table.source, what, f"Name it with --map {name}=COLUMN, or leave --unit out.")])
    names = [each for each in COLUMNS if table.has(each)]
    if name in CONTEXT_UNITS:
        return UnitTable(arrow.select(names), name, table.source, table.findings)
    same = next((each for each in names if arrow[each].equals(arrow["unit"])), None)
    if same == CONTEXT_UNITS[0]:
        return UnitTable(arrow.select(names), same, table.source, table.findings)
    columns = {each: arrow[each] for each in names if each not in (same, name)}
    return UnitTable(pa.table({**columns, name: arrow["unit"]}), name, table.source, table.findings)
