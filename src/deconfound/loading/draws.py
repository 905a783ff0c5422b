"""Numbers for the draws of a replay, and rows of a replay that was exported several times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deconfound.data import describe_context
from deconfound.data.encode import encode_by_appearance
from deconfound.errors import Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import pluralize, quote
from deconfound.loading.canonical import CanonicalTable
from deconfound.loading.raw import row_examples

CELL = ("context_id", "model")
DRAW_KEY = (*CELL, "draw")
MIN_COPIED_CELLS = 2  # the rows of a single cell may be equal by themselves


def number_draws(table: CanonicalTable, problems: list[Problem]) -> CanonicalTable:
    """Number the rows of each context and model in order of appearance, unless the user numbered them."""
    if table.has("draw"):
        _refuse_duplicate_draws(table, problems)
        return table
    table = _without_copies(table)
    draws = occurrence_index(_group_codes(table, CELL))
    return table.with_column("draw", pa.array(draws)).in_order()


def _without_copies(table: CanonicalTable) -> CanonicalTable:
    """Drop copies where every row of the table occurs equally often, twice or more.

    Such a table was exported several times, or its models answer the same each time; in both cases the copies carry no
    information, and as draws they would differ from an experiment's output together. Where only some rows are equal,
    models may have answered the same by chance, and all of them are draws.
    """
    rows_per_cell = np.bincount(_group_codes(table, CELL))
    if rows_per_cell.min() < 2 or len(rows_per_cell) < MIN_COPIED_CELLS:
        return table
    codes = _group_codes(table, (*CELL, "output") if table.has("output") else CELL)
    counts, copy = np.bincount(codes), occurrence_index(codes) > 0
    if counts.min() < 2 or counts.min() != counts.max() or not _features_equal(table, codes):
        return table
    message = (
        f"{table.source}: every row occurs {counts[0]} times; the others are copies, which carry no information, and "
        f"are dropped ({pluralize(int(copy.sum()), 'row')})."
    )
    remedy = "Export each row once. If models answered the same in every draw, number the draws in a draw column."
    return replace(
        table,
        arrow=table.arrow.filter(pa.array(~copy)),
        row_numbers=table.row_numbers.filter(~copy),
        findings=(*table.findings, Finding("replay copies", "warn", Notice(message, remedy))),
    )


def _features_equal(table: CanonicalTable, codes: NDArray[np.int64]) -> bool:
    """Whether rows of one code have the same features."""
    first = np.unique(codes, return_index=True)[1][codes]
    features = (table.arrow[name].to_numpy() for name in table.arrow.column_names if name.startswith("feature_"))
    return all(bool((values == values[first]).all()) for values in features)


def occurrence_index(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row, the number of earlier rows with the same code."""
    order = np.argsort(codes, kind="stable")
    ranked = codes[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    counts = np.empty(len(codes), dtype=np.int64)
    counts[order] = np.arange(len(codes)) - np.repeat(starts, np.diff(np.append(starts, len(codes))))
    return counts


def _group_codes(table: CanonicalTable, names: tuple[str, ...]) -> NDArray[np.int64]:
    """One code per combination of values in several columns."""
    codes = np.zeros(table.arrow.num_rows, dtype=np.int64)
    for name in names:
        values, code = encode_by_appearance(table.arrow[name])
        # Renumbered after each column, so that the product cannot overflow.
        codes = np.unique(codes * len(values) + code, return_inverse=True)[1].astype(np.int64)
    return codes


def _refuse_duplicate_draws(table: CanonicalTable, problems: list[Problem]) -> None:
    repeated = np.flatnonzero(occurrence_index(_group_codes(table, DRAW_KEY)) > 0)
    if not len(repeated):
        return
    row = int(repeated[0])
    _, model, draw = (table.arrow[name][row].as_py() for name in DRAW_KEY)
    context = describe_context(table.arrow, row)
    what = f"draw {draw} of model {quote(model)} on context {context} occurs a second time"
    fix = "Number the draws of each context and model, or leave the draw column out: they are then numbered in order."
    problems.append(Problem(table.locate(row), what + row_examples(table.row_numbers, repeated), fix))
