"""The two tables of a grid, contexts and outputs: found in the folder, read and checked one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.design import FloatArray
from deconfound.errors import DataError, Problem, UsageError
from deconfound.formatting import did_you_mean, join_names, quote
from deconfound.loading.convert import is_string_type, to_finite_floats, to_floats, to_strings
from deconfound.loading.files import CODECS, FORMATS, file_error
from deconfound.loading.raw import Column, RawTable
from deconfound.loading.sources import read_table as read_source

CONTEXT_COLUMNS = ("context_id", "context")
OUTPUT_COLUMNS = ("context_id", "model", "output")
SUFFIXES = (*FORMATS, *(f"{text}{codec}" for text, kind in FORMATS.items() if kind != "parquet" for codec in CODECS))
FIXES = {
    "context_id": "Give the context_id of every row.",
    "context": "Give the text of every context, or remove the context and its outputs.",
    "model": "Give the model of every row.",
    "output": 'Give the output of every row ("" for a model that returned nothing).',
}
COMPONENT_FIX = "Judge every output, or use a reward that does not need this component."


@dataclass(frozen=True, slots=True)
class RequiredComponents:
    """Components that must be finite for every output, and the allowed range of some of them."""

    names: tuple[str, ...]
    bounds: Mapping[str, tuple[float, float]]

    def __post_init__(self) -> None:
        for name, (low, high) in self.bounds.items():
            if not low < high:
                raise UsageError(f"the range of {quote(name)} must go from a smaller number to a larger one.")


@dataclass(frozen=True, slots=True, eq=False)
class ContextTable:
    """The contexts in file order."""

    raw: RawTable
    ids: list[str]
    texts: list[str]
    other_columns: dict[str, list[str]]
    omissions: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class OutputTable:
    """The outputs in file order."""

    raw: RawTable
    context_ids: list[str]
    models: list[str]
    texts: list[str]
    components: dict[str, FloatArray]  # each (rows,)
    omissions: list[str]


def read_table(folder: Path, role: str, problems: list[Problem]) -> RawTable | None:
    """Find and read one of the two files; None if that fails."""
    try:
        path = _find_file(folder, role)
        return read_source(path, role, f"{folder.resolve().name}/{path.name}")
    except DataError as error:
        problems += error.problems
    return None


def read_context_table(raw: RawTable, problems: list[Problem]) -> ContextTable | None:
    """Check ids and texts, and read every other text column."""
    required = _required_columns(raw, CONTEXT_COLUMNS, problems)
    other_columns: dict[str, list[str]] = {}
    omissions = []
    for name in sorted(set(raw.arrow.column_names) - set(CONTEXT_COLUMNS)):
        values = _optional_text(raw.column(name))
        if values is None:
            omissions.append(f"omitted column {quote(name)} of {raw.source}: it is not text")
        elif not any(values):
            omissions.append(f"omitted column {quote(name)} of {raw.source}: it is empty")
        else:
            other_columns[name] = values
    if "context_id" in required:
        _check_unique(raw.column("context_id"), required["context_id"], problems)
    if len(required) < len(CONTEXT_COLUMNS):
        return None
    return ContextTable(raw, required["context_id"], required["context"], other_columns, omissions)


def read_output_table(raw: RawTable, components: RequiredComponents, problems: list[Problem]) -> OutputTable | None:
    """Check keys, texts and components."""
    required = _required_columns(raw, OUTPUT_COLUMNS, problems)
    values, omissions = read_components(raw, set(raw.arrow.column_names) - set(OUTPUT_COLUMNS), components, problems)
    if len(required) < len(OUTPUT_COLUMNS):
        return None
    return OutputTable(raw, required["context_id"], required["model"], required["output"], values, omissions)


def read_components(
    raw: RawTable, names: Iterable[str], required: RequiredComponents, problems: list[Problem]
) -> tuple[dict[str, FloatArray], list[str]]:
    """Read every numeric column, and list the columns that are omitted.

    Booleans count as 1 and 0, numbers written as text as numbers. Missing values are NaN, which only a component that
    is not required may have.
    """
    components: dict[str, FloatArray] = {}
    omissions = []
    for name in sorted(names):
        if name in required.names:
            components[name] = _required_component(raw, name, required, problems)
            continue
        conversion_problems: list[Problem] = []
        values = to_floats(raw.column(name), conversion_problems, COMPONENT_FIX)
        if conversion_problems:
            omissions.append(f"omitted column {quote(name)} of {raw.source}: it is not numeric")
        elif np.isnan(values).all():
            omissions.append(f"omitted column {quote(name)} of {raw.source}: it is empty")
        else:
            components[name] = values
    missing = (name for name in dict.fromkeys(required.names) if name not in components)
    problems += [_missing_component(raw, name, components) for name in missing]
    return components, omissions


def _required_component(raw: RawTable, name: str, required: RequiredComponents, problems: list[Problem]) -> FloatArray:
    column = raw.column(name)
    values = to_finite_floats(column, problems, COMPONENT_FIX)
    low, high = required.bounds.get(name, (-np.inf, np.inf))
    outside = np.isfinite(values) & ((values < low) | (values > high))
    if outside.any():
        present = values[np.isfinite(values)]
        fix = f"Rescale it to that range (this column ranges from {present.min():g} to {present.max():g})."
        problems.append(column.row_problem(outside, f"is outside [{low:g}, {high:g}]", fix))
    return values


def _missing_component(raw: RawTable, name: str, components: Mapping[str, FloatArray]) -> Problem:
    suggestion = did_you_mean(name, components).rstrip("?")
    what = f"there is no component {quote(name)}; the grid has {join_names(components) or 'none'}{suggestion}"
    return Problem(raw.source, what, "Add it as a column of numbers, or use a reward that does not need it.")


def _find_file(folder: Path, role: str) -> Path:
    name = folder.resolve().name
    try:
        present = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise file_error(name, f"the folder cannot be opened: {error.strerror}", "Check its permissions.") from None
    matches = [folder / f"{role}{suffix}" for suffix in SUFFIXES if f"{role}{suffix}" in present]
    if not matches:
        what = f"there is no file {role}.parquet (the folder contains {join_names(present) or 'nothing'})"
        raise file_error(name, what, f"Add the {role} as .parquet, .csv or .jsonl.")
    if len(matches) > 1:
        what = f"{join_names(path.name for path in matches)} could all be the {role}"
        raise file_error(name, what, "Leave only one of them in the folder.")
    return matches[0]


def _required_columns(raw: RawTable, names: Sequence[str], problems: list[Problem]) -> dict[str, list[str]]:
    """Read the required text columns; only an output may be blank."""
    columns: dict[str, list[str]] = {}
    present = raw.arrow.column_names
    for name in names:
        if name not in present:
            suggestion = did_you_mean(name, present).rstrip("?")
            what = f"there is no column {quote(name)}; the columns are {join_names(present)}{suggestion}"
            problems.append(Problem(raw.source, what, "Add the column, or rename the one that contains it."))
            continue
        values = to_strings(raw.column(name), problems, allow_blank=name == "output", fix=FIXES[name])
        if values is not None:
            columns[name] = values.to_pylist()
    return columns


def _optional_text(column: Column) -> list[str] | None:
    """Read a text column with missing values; None if the column is not text."""
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


def _check_unique(column: Column, ids: Sequence[str], problems: list[Problem]) -> None:
    earlier: set[str] = set()
    repeated = np.zeros(len(ids), dtype=bool)
    for row, name in enumerate(ids):
        repeated[row] = name in earlier
        earlier.add(name)
    if repeated.any():
        problems.append(column.row_problem(repeated, "repeats an earlier row", "Leave one row per context."))
