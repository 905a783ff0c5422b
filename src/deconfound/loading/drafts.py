"""One user's table -> canonical columns, everything wrong inside that table told at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Mask, RowNumbers
from deconfound.errors import Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_names, pluralize, quote
from deconfound.loading.column_mapping import Naming
from deconfound.loading.numbers import EXACT, Floats, finite, floats, refuse_infinite
from deconfound.loading.propensities import propensities
from deconfound.loading.raw import Column, Raw
from deconfound.loading.texts import empty, texts
from deconfound.loading.times import times

FIXES = {
    "context_id": "Name the context of every row, or leave the column out: contexts are then named by their text.",
    "context": "Write the context of every row, or remove the row.",
    "model": "Name the model of every row, or remove the row.",
    "output": 'Write the output of every row ("" for a model that answered nothing), or remove the row.',
    "cluster": "Name the cluster of every row, or leave the column out.",
}


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A table in canonical columns that may still lack ``context_id`` or ``context``."""

    table: pa.Table
    source: str
    ignored: tuple[str, ...]
    findings: tuple[Finding, ...]
    places: RowNumbers

    def has(self, name: str) -> bool:
        """Whether a canonical column is there."""
        return name in self.table.column_names


@dataclass(frozen=True, slots=True)
class Scale:
    """How outcomes are written: on another range than [0, 1], and with or without leave to be missing."""

    range: tuple[float, float] | None = None
    drop_missing: bool = False


def draft(raw: Raw, naming: Naming, scale: Scale, problems: list[Problem]) -> Draft | None:
    """Convert every column; None where the keys are faulty, since then nothing more can be said of the rows."""
    columns = {name: raw.column(there) for name, there in naming.columns.items()}
    made, usable = _texts(columns, problems)
    findings = [_guesses(raw, naming)] if naming.guessed else []
    missing = np.zeros(raw.table.num_rows, dtype=bool)
    if "outcome" in columns:
        outcome, missing = _outcome(columns["outcome"], scale, problems)
        made["outcome"] = pa.chunked_array([outcome])
    if "time" in columns:
        made["time"] = pa.chunked_array([times(columns["time"], problems)])
    if "draw" in columns:
        made["draw"] = pa.chunked_array([_draw(columns["draw"], problems)])
    if usable and any(name.startswith("propensity") for name in columns):
        made["propensity"] = pa.chunked_array([propensities(columns, made["model"], problems)])
    for name in sorted(columns):
        if name.startswith(("label_", "feature_")):
            fix = f"Fill it in, or leave the column out (a {name.partition('_')[0]} must be known in every row)."
            made[name] = pa.chunked_array([finite(columns[name], problems, fix)])
    if not usable:
        return None
    table = pa.table(made)
    findings += _empty_outputs(raw, table) + (_dropped(raw, table, missing) if missing.any() else [])
    whole = Draft(table, raw.source, naming.ignored, tuple(findings), raw.places)
    return _without(whole, missing, problems) if missing.any() else whole


def _texts(columns: Mapping[str, Column], problems: list[Problem]) -> tuple[dict[str, pa.ChunkedArray], bool]:
    made, usable = {}, True
    for name, fix in FIXES.items():
        if name in columns:
            values = texts(columns[name], problems, blank=name == "output", fix=fix)
            made[name] = values
            usable = usable and values is not None
    return made, usable


def _guesses(raw: Raw, naming: Naming) -> Finding:
    read = "; ".join(f"{name} is read from column {quote(column)}" for name, column in naming.guessed.items())
    return Finding("columns", "pass", Notice(f"{raw.source}: {read}.", "Say otherwise with --map."))


def _outcome(column: Column, scale: Scale, problems: list[Problem]) -> tuple[Floats, Mask]:
    """Bring outcomes to [0, 1]; the mask marks missing ones that may be dropped."""
    found = len(problems)
    values = floats(column, problems, "Write one number such as 0.5 (with a point), or true or false.")
    refuse_infinite(column, values, problems)
    missing = np.isnan(values)
    if missing.any() and not scale.drop_missing and len(problems) == found:
        fix = "Fill it in, or leave such rows out with --drop-missing."
        problems.append(column.problem(missing, "is missing", fix, show=False))
    low, high = scale.range or (0.0, 1.0)
    outside = np.isfinite(values) & ((values < low) | (values > high))
    if outside.any():
        problems.append(_outside(column, values, outside, scale))
    faulty = len(problems) > found
    return (values - low) / (high - low), np.zeros_like(missing) if faulty else missing


def _outside(column: Column, values: Floats, outside: Mask, scale: Scale) -> Problem:
    known = values[np.isfinite(values)]
    runs = f"(this column runs from {known.min():g} to {known.max():g})"
    if scale.range is None:
        fix = f"If outcomes have another scale, say so with --outcome-range LO HI {runs}."
        return column.problem(outside, "is outside [0, 1]", fix)
    what = f"is outside the --outcome-range {scale.range[0]:g} {scale.range[1]:g}"
    return column.problem(outside, what, f"Correct it, or widen the range {runs}.")


def _draw(column: Column, problems: list[Problem]) -> pa.Array:
    values = finite(column, problems, "Number the draws of each context and model, or leave the column out.")
    known = np.where(np.isfinite(values), values, 0.0)
    broken = (known != np.floor(known)) | (np.abs(known) >= EXACT)
    if broken.any():
        problems.append(column.problem(broken, "is not a whole number", "Number the draws 0, 1, 2, …"))
    return pa.array(np.where(broken, 0.0, known).astype(np.int64))


def _empty_outputs(raw: Raw, table: pa.Table) -> list[Finding]:
    if "output" not in table.column_names:
        return []
    hollow = empty(table["output"])
    if not hollow.any():
        return []
    message = f"{raw.source}: {pluralize(int(hollow.sum()), 'empty output')} ({_per_model(table, hollow)})."
    return [Finding("empty outputs", "warn", Notice(message, "Check that these models really answered nothing."))]


def _dropped(raw: Raw, table: pa.Table, missing: Mask) -> list[Finding]:
    rows = pluralize(int(missing.sum()), "row")
    message = f"{raw.source}: {rows} without outcome left out ({_per_model(table, missing)})."
    remedy = "If outcomes go missing more often for one model or kind of result, values are biased."
    return [Finding("missing outcomes", "warn", Notice(message, remedy))]


def _per_model(table: pa.Table, rows: Mask) -> str:
    counts = table["model"].filter(pa.array(rows)).value_counts().to_pylist()
    return join_names(f"{row['values']}: {row['counts']}" for row in sorted(counts, key=lambda row: row["values"]))


def _without(whole: Draft, missing: Mask, problems: list[Problem]) -> Draft | None:
    kept = whole.table.filter(pc.invert(pa.array(missing)))
    if not kept.num_rows:
        problems.append(Problem(whole.source, "no row has an outcome", "Check which column holds it, with --map."))
        return None
    return Draft(kept, whole.source, whole.ignored, whole.findings, whole.places.keep(~missing))
