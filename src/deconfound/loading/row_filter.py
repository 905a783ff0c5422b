"""Conditions on rows, such as "country=DE" or "log.time>=2026-05-01": which rows of a table are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from deconfound.data import Mask
from deconfound.data.encode import encode_by_appearance
from deconfound.errors import DataError, Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import did_you_mean, join_names, pluralize, quote
from deconfound.loading.column_mapping import ALIASES, matching_columns, normalize_name
from deconfound.loading.no_row import SeenValues, no_row_problem
from deconfound.loading.raw import Column, RawTable, python_value
from deconfound.loading.row_condition import RowFilter
from deconfound.loading.table_scope import in_scope, scoped_to

AFTER_ASSIGNMENT = ("model", "output", "outcome")


def filter_tables(
    raws: Mapping[str, RawTable], filters: Sequence[RowFilter], columns: Mapping[str, str], problems: list[Problem]
) -> dict[str, RawTable]:
    """The tables with the rows that fulfill every condition; ``columns`` is what --map says."""
    chosen = dict(raws)
    for condition in filters:
        at = {
            role: column
            for role, raw in raws.items()
            if in_scope(condition.scope, role)
            and (column := _find_column(condition.column, raw, scoped_to(columns, role))) is not None
        }
        if not at:
            problems.append(_no_such_column(condition, raws))
        for role, column in at.items():
            try:
                is_first = chosen[role].arrow is raws[role].arrow
                chosen[role] = _filter(chosen[role], role, column, condition, is_first=is_first)
                chosen[role] = _note_whole_tables(chosen[role], condition, [raws[r] for r in raws if r not in at])
            except DataError as error:
                problems += error.problems
    return chosen


def choose_rows(
    raw: RawTable,
    role: str,
    filters: Sequence[RowFilter],
    columns: Mapping[str, str],
    seen: Sequence[SeenValues] = (),
) -> tuple[RawTable, tuple[int, ...]]:
    """Those of some rows of a table that fulfill every condition, and how many are left after each of them.

    A condition on a column that the table lacks leaves all. What each condition could choose from is added to ``seen``.
    """
    left = []
    for number, condition in enumerate(filters):
        at = _find_column(condition.column, raw, scoped_to(columns, role)) if in_scope(condition.scope, role) else None
        if at is not None:
            mask = _mask(raw.column(at), condition)
            if seen:
                seen[number].add(at, raw.arrow[at])
            raw = replace(raw, arrow=raw.arrow.filter(pa.array(mask)), row_numbers=raw.row_numbers.filter(mask))
        left.append(raw.arrow.num_rows)
    return raw, tuple(left)


def filtered_columns(
    raw: RawTable, role: str, filters: Sequence[RowFilter], columns: Mapping[str, str]
) -> frozenset[str]:
    """The columns of a table that conditions look at."""
    own = [each for each in filters if in_scope(each.scope, role)]
    found = (_find_column(each.column, raw, scoped_to(columns, role)) for each in own)
    return frozenset(column for column in found if column is not None)


def where_finding(source: str, condition: RowFilter, rows: int, total: int) -> Finding:
    """How many rows fulfill a condition."""
    count = f"{rows:,} of {pluralize(total, 'row')}"
    message = f"{source}: {count} fulfill --where {condition.text}; the others are not read."
    return Finding("rows left out", "pass", Notice(message))


def _find_column(name: str, raw: RawTable, columns: Mapping[str, str]) -> str | None:
    """A column by the user's name for it, else by its canonical name."""
    present: list[str] = raw.arrow.column_names
    if name in present or name in raw.renamed:
        return raw.renamed.get(name, name)
    same = [column for column in present if normalize_name(column) == normalize_name(name)]
    if len(same) == 1:
        return same[0]
    if columns.get(name) in present:
        return columns[name]
    matches = matching_columns(name, present, accept_id_alias=True) if name in ALIASES else []
    return matches[0] if len(matches) == 1 else None


def _no_such_column(condition: RowFilter, raws: Mapping[str, RawTable]) -> Problem:
    tables = [raw for role, raw in raws.items() if in_scope(condition.scope, role)]
    names = list(dict.fromkeys(name for raw in tables for name in raw.arrow.column_names))
    suggestion = did_you_mean(condition.column, names) or "."
    what = f"there is no column {quote(condition.column)} for --where; the columns are {join_names(names)}"
    return Problem(join_names([raw.source for raw in tables]), what, f"Correct the name{suggestion}")


def _filter(raw: RawTable, role: str, name: str, condition: RowFilter, *, is_first: bool) -> RawTable:
    column = raw.column(name)
    if name in raw.partial:
        what = f"there is no column {quote(name)} for --where"
        raise DataError(raw.partial[name].problems(what, "Add it, or leave these files out."))
    mask = _mask(column, condition)
    rows = int(mask.sum())
    if not rows:
        seen = SeenValues()
        seen.add(name, column.values)
        raise DataError([no_row_problem(raw.source, condition, seen, is_first=is_first)])
    findings = [where_finding(raw.source, condition, rows, len(mask))]
    if role == "experiment" and rows < len(mask):
        findings += _after_assignment(raw, name, condition)
    return replace(
        raw,
        arrow=raw.arrow.filter(pa.array(mask)),
        row_numbers=raw.row_numbers.filter(mask),
        findings=(*raw.findings, *findings),
    )


def _note_whole_tables(raw: RawTable, condition: RowFilter, others: Sequence[RawTable]) -> RawTable:
    """Name the tables that a condition for all tables does not concern, since they lack the column."""
    if condition.scope is not None or not others:
        return raw
    sources = join_names([other.source for other in others])
    message = f"--where {condition.text}: there is no such column in {sources}; all rows are read there."
    return replace(raw, findings=(*raw.findings, Finding("rows left out", "pass", Notice(message))))


def _after_assignment(raw: RawTable, name: str, condition: RowFilter) -> list[Finding]:
    """Warn of a choice among randomized rows by something that came after the draw."""
    for canonical in AFTER_ASSIGNMENT:
        if name in matching_columns(canonical, raw.arrow.column_names, accept_id_alias=False):
            message = f"{raw.source}: --where {condition.text} chooses randomized rows by their {canonical}."
            fix = "Compare fewer models with --models instead." if canonical == "model" else "Choose by the context."
            why = " Rows that are chosen by what came after the draw are no longer randomized."
            return [Finding("rows left out", "warn", Notice(message + why, fix))]
    return []


def _mask(column: Column, condition: RowFilter) -> Mask:
    values = column.values
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_nested(values.type):
        raise DataError([column.column_problem("has lists or objects, which --where cannot compare", "Leave it out.")])
    distinct, code = encode_by_appearance(values)
    cells = [*map(python_value, distinct), None]  # the last is that of missing cells
    held = [condition.holds(cell) for cell in cells]
    undecided = np.array([one is None for one in held])[code]
    if undecided.any():
        fix = f"Write numbers or times such as 2026-05-01 there, or correct --where {condition.text}."
        raise DataError([column.row_problem(undecided, "cannot be compared", fix)])
    mask: Mask = np.array([bool(one) for one in held])[code]
    return mask
