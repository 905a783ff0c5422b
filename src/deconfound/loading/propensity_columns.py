"""A user's propensity columns -> the probability of each row's model and, where given, of every model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from deconfound.data import PROPENSITY_PREFIX, Mask
from deconfound.data.encode import UNKNOWN_CODE, encode
from deconfound.errors import Problem
from deconfound.escaping import escape_name
from deconfound.formatting import join_names, quote
from deconfound.loading.convert import Floats, to_finite_floats
from deconfound.loading.raw import Column, row_examples

PROPENSITY_ATOL = 0.01 + 1e-9  # probabilities printed with two decimals: three times 0.33 are 0.99
PROPENSITY_FIX = (
    "Write the probability with which the row's model was assigned, such as 0.25 or 25%, or leave the column out if "
    "all were equally likely."
)


def is_propensity(name: str) -> bool:
    """Whether a canonical column is a propensity, of the row's model or of a named one."""
    return name == "propensity" or name.startswith(PROPENSITY_PREFIX)


def to_propensities(
    columns: Mapping[str, Column], model: pa.ChunkedArray, problems: list[Problem]
) -> dict[str, Floats]:
    """The canonical columns ``propensity``, filled in where only those of the models are given, and ``propensity_*``.

    ``columns`` are the propensities among the user's columns, at least one.
    """
    before = len(problems)
    values = {name: _probabilities(columns[name], problems) for name in sorted(columns)}
    by_model = {name.removeprefix(PROPENSITY_PREFIX): columns[name] for name in values if name != "propensity"}
    if by_model and len(problems) == before:
        code = encode(model, tuple(by_model))[1]
        problems += _models_without_column(by_model, model, code == UNKNOWN_CODE)
    if len(problems) > before:
        return values
    if by_model:
        matrix = np.column_stack([values[PROPENSITY_PREFIX + name] for name in by_model])
        problems += _wrong_sums(by_model, matrix.sum(axis=1))
        assigned = matrix[np.arange(len(matrix)), code]
        declared = values.setdefault("propensity", assigned)
        differs = np.abs(assigned - declared) > PROPENSITY_ATOL
        if differs.any() and len(problems) == before:
            description = f"differs from the {PROPENSITY_PREFIX}* column of the row's model"
            fix = "Correct one of the two, or leave one out."
            problems.append(columns["propensity"].row_problem(differs, description, fix))
    impossible = values["propensity"] <= 0
    if impossible.any() and len(problems) == before:
        reported = columns["propensity"] if "propensity" in columns else next(iter(by_model.values()))
        description, fix = "gives probability 0 to the model that was assigned", "Correct the model or its propensity."
        problems.append(reported.row_problem(impossible, description, fix, show_value=False))
    return values


def _probabilities(column: Column, problems: list[Problem]) -> Floats:
    values = to_finite_floats(column, problems, PROPENSITY_FIX)
    outside = np.isfinite(values) & ((values < 0) | (values > 1))
    if outside.any():
        problems.append(column.row_problem(outside, "is not a probability between 0 and 1", PROPENSITY_FIX))
    return values


def _wrong_sums(by_model: Mapping[str, Column], total: Floats) -> list[Problem]:
    wrong = np.abs(total - 1) > PROPENSITY_ATOL
    if not wrong.any():
        return []
    row, first = int(wrong.argmax()), next(iter(by_model.values()))
    what = f"the {PROPENSITY_PREFIX}* columns ({join_names(by_model)}) sum to {total[row]:.4g}; they must sum to 1"
    what += row_examples(first.row_numbers, np.flatnonzero(wrong))
    fix = f"Write one {PROPENSITY_PREFIX}* column for each model that could be assigned, and correct the values."
    return [Problem(first.row_numbers.locate(first.source, row), what, fix)]


def _models_without_column(by_model: Mapping[str, Column], model: pa.ChunkedArray, lacking: Mask) -> list[Problem]:
    if not lacking.any():
        return []
    row = int(lacking.argmax())
    first, name = next(iter(by_model.values())), model[row].as_py()
    column = f"{PROPENSITY_PREFIX}{escape_name(name)}"
    what = f"model {quote(name)} has no column {column}; there are columns for {join_names(by_model)}"
    fix = "Add it, or name it with --map propensity_NAME=COLUMN."
    return [Problem(first.row_numbers.locate(first.source, row), what, fix)]
