"""The probability with which each row's model was drawn, from one column or from one column a model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Mask
from deconfound.errors import Problem
from deconfound.formatting import escape_control_characters, join_names, quote
from deconfound.loading.numbers import Floats, finite
from deconfound.loading.raw import Column

ROUNDING = 0.01 + 1e-9  # probabilities printed with two decimals: three times 0.33 are 0.99
FIX = "Write the probability with which the row's model was drawn, or leave the column out if all were equally likely."


def propensities(columns: Mapping[str, Column], model: pa.ChunkedArray, problems: list[Problem]) -> Floats:
    """Give each row the probability of the model that it was assigned."""
    found = len(problems)
    prefix = "propensity_"
    vector = {name.removeprefix(prefix): column for name, column in columns.items() if name.startswith(prefix)}
    single = columns.get("propensity")
    values = None if single is None else _probabilities(single, problems)
    if vector:
        assigned = _assigned(vector, model, problems)
        if single is not None and values is not None and len(problems) == found:
            differing = np.abs(assigned - values) > ROUNDING
            if differing.any():
                what = f"differs from the {prefix}* column of the row's model"
                problems.append(single.problem(differing, what, "Correct one of the two, or leave one out."))
        values = assigned if values is None else values
    if values is None:
        raise ValueError("no propensity column was given")
    holder = single if single is not None else next(iter(vector.values()))
    if len(problems) == found and (values <= 0).any():
        what = "gives probability 0 to a model that was drawn"
        problems.append(holder.problem(values <= 0, what, "Correct the model or its propensity.", show=False))
    return values


def _probabilities(column: Column, problems: list[Problem]) -> Floats:
    values = finite(column, problems, FIX)
    outside = np.isfinite(values) & ((values < 0) | (values > 1))
    if outside.any():
        problems.append(column.problem(outside, "is no probability", FIX))
    return values


def _assigned(vector: Mapping[str, Column], model: pa.ChunkedArray, problems: list[Problem]) -> Floats:
    found = len(problems)
    names = sorted(vector)
    matrix = np.column_stack([_probabilities(vector[name], problems) for name in names])
    code = pc.index_in(model, value_set=pa.array(names, pa.string()))
    problems += _without_column(vector, model, code.is_null().to_numpy())
    if len(problems) > found:
        return np.full(len(matrix), np.nan)
    total = matrix.sum(axis=1)
    off = np.abs(total - 1) > ROUNDING
    if off.any():
        what = f"and its fellows ({join_names(names)}) sum to {total[int(off.argmax())]:.4g}, not to 1"
        fix = "Write the probabilities of all models that could be drawn."
        problems.append(vector[names[0]].problem(off, what, fix, show=False))
    return np.asarray(matrix[np.arange(len(matrix)), code.to_numpy()])


def _without_column(vector: Mapping[str, Column], model: pa.ChunkedArray, lacking: Mask) -> list[Problem]:
    if not lacking.any():
        return []
    row = int(lacking.argmax())
    first, name = next(iter(vector.values())), model[row].as_py()
    column = f"propensity_{escape_control_characters(name)}"
    what = f"model {quote(name)} has no column {column}; there are columns for {join_names(vector)}"
    fix = "Add it, or point to it with --map propensity_NAME=COLUMN."
    return [Problem(f"{first.source} {first.places.unit} {first.places.number(row)}", what, fix)]
