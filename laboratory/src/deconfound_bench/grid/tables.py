"""The two tables of a grid, each found in its folder and checked by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.design import FloatArray
from deconfound.errors import DataError, Problem
from deconfound.formatting import did_you_mean, join_names, quote
from deconfound.loading.convert import is_string_type, to_strings
from deconfound.loading.files import CODECS, FORMATS, file_error
from deconfound.loading.raw import Column, RawTable
from deconfound.loading.sources import read_table as read_source
from deconfound_bench.grid.components import Wanted, components

CONTEXT_COLUMNS = ("context_id", "context")
OUTPUT_COLUMNS = ("context_id", "model", "output")
ENDINGS = (*FORMATS, *(f"{text}{codec}" for text, kind in FORMATS.items() if kind != "parquet" for codec in CODECS))
FIXES = {
    "context_id": "Name the context of every row.",
    "context": "Write the text of every context, or leave the context and its outputs out.",
    "model": "Name the model of every row.",
    "output": 'Write the output of every row ("" for a model that gave up).',
}


@dataclass(frozen=True, slots=True, eq=False)
class Contexts:
    """The contexts in the order of their file."""

    raw: RawTable
    ids: list[str]
    texts: list[str]
    extras: dict[str, list[str]]
    dropped: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """The outputs in the order of their file."""

    raw: RawTable
    context_ids: list[str]
    models: list[str]
    texts: list[str]
    components: dict[str, FloatArray]  # each (rows,)
    dropped: list[str]


def read_table(folder: Path, role: str, problems: list[Problem]) -> RawTable | None:
    """Find and read one of the two files; None where that fails."""
    try:
        path = _find(folder, role)
        return read_source(path, role, f"{folder.resolve().name}/{path.name}")
    except DataError as error:
        problems += error.problems
    return None


def read_contexts(raw: RawTable, problems: list[Problem]) -> Contexts | None:
    """Check ids and texts, and keep every other column of text."""
    made = _columns(raw, CONTEXT_COLUMNS, problems)
    extras: dict[str, list[str]] = {}
    dropped = []
    for name in sorted(set(raw.arrow.column_names) - set(CONTEXT_COLUMNS)):
        column = raw.column(name)
        values = _optional(column)
        if values is None:
            dropped.append(f"left out column {quote(name)} of {raw.source}, which is no text")
        elif not any(values):
            dropped.append(f"left out column {quote(name)} of {raw.source}, which is empty")
        else:
            extras[name] = values
    if "context_id" in made:
        _refuse_repeats(raw.column("context_id"), made["context_id"], problems)
    if len(made) < len(CONTEXT_COLUMNS):
        return None
    return Contexts(raw, made["context_id"], made["context"], extras, dropped)


def read_outputs(raw: RawTable, wanted: Wanted, problems: list[Problem]) -> Outputs | None:
    """Check keys, texts and components."""
    made = _columns(raw, OUTPUT_COLUMNS, problems)
    numbers, dropped = components(raw, set(raw.arrow.column_names) - set(OUTPUT_COLUMNS), wanted, problems)
    if len(made) < len(OUTPUT_COLUMNS):
        return None
    return Outputs(raw, made["context_id"], made["model"], made["output"], numbers, dropped)


def _find(folder: Path, role: str) -> Path:
    name = folder.resolve().name
    try:
        present = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise file_error(name, f"the folder cannot be opened: {error.strerror}", "Check its permissions.") from None
    found = [folder / f"{role}{ending}" for ending in ENDINGS if f"{role}{ending}" in present]
    if not found:
        what = f"there is no file {role}.parquet (the folder holds {join_names(present) or 'nothing'})"
        raise file_error(name, what, f"Put the {role} there, as .parquet, .csv or .jsonl.")
    if len(found) > 1:
        what = f"{join_names(path.name for path in found)} may all be the {role}"
        raise file_error(name, what, "Keep one of them.")
    return found[0]


def _columns(raw: RawTable, names: Sequence[str], problems: list[Problem]) -> dict[str, list[str]]:
    """Read the columns of text that must be there; only an output may be blank."""
    made: dict[str, list[str]] = {}
    present = raw.arrow.column_names
    for name in names:
        if name not in present:
            offer = did_you_mean(name, present).rstrip("?")
            what = f"there is no column {quote(name)}; the columns are {join_names(present)}{offer}"
            problems.append(Problem(raw.source, what, "Add the column, or rename the one that holds it."))
            continue
        values = to_strings(raw.column(name), problems, allow_blank=name == "output", fix=FIXES[name])
        if values is not None:
            made[name] = values.to_pylist()
    return made


def _optional(column: Column) -> list[str] | None:
    """Read text of which some may be missing; None for a column of anything else."""
    values, kind = column.values, column.values.type
    if pa.types.is_null(kind):
        return [""] * len(values)
    if pa.types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if not is_string_type(kind):
        return None
    filled = pc.fill_null(values.cast(pa.large_string()), "")
    read_as = to_strings(replace(column, values=filled), [], allow_blank=True, fix="")
    return None if read_as is None else list(read_as.to_pylist())


def _refuse_repeats(column: Column, ids: Sequence[str], problems: list[Problem]) -> None:
    seen: set[str] = set()
    repeated = np.zeros(len(ids), dtype=bool)
    for row, name in enumerate(ids):
        repeated[row] = name in seen
        seen.add(name)
    if repeated.any():
        problems.append(
            column.row_problem(repeated, "repeats that of an earlier row", "Keep one row for each context.")
        )
