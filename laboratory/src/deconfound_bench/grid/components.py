"""The judged parts of outputs, as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray
from deconfound.errors import Problem, UsageError
from deconfound.formatting import did_you_mean, join_names, quote
from deconfound.loading.convert import to_finite_floats, to_floats
from deconfound.loading.raw import RawTable

FIX = "Judge every output, or use a reward that does without this component."


@dataclass(frozen=True, slots=True)
class Wanted:
    """The components that must be known for every output, and the range of some of them."""

    names: tuple[str, ...]
    within: Mapping[str, tuple[float, float]]

    def __post_init__(self) -> None:
        for name, (low, high) in self.within.items():
            if not low < high:
                raise UsageError(f"the range of {quote(name)} must go from a smaller number to a larger one.")


def components(
    raw: RawTable, names: Iterable[str], wanted: Wanted, problems: list[Problem]
) -> tuple[dict[str, FloatArray], list[str]]:
    """Read every column of numbers, and tell which columns are none.

    Truth values count as 1 and 0, numbers written as text as numbers. NaN stands for what is missing, which only
    a component that nobody wants may be.
    """
    found: dict[str, FloatArray] = {}
    dropped = []
    for name in sorted(names):
        if name in wanted.names:
            found[name] = _wanted(raw, name, wanted, problems)
            continue
        doubts: list[Problem] = []
        values = to_floats(raw.column(name), doubts, FIX)
        if doubts:
            dropped.append(f"left out column {quote(name)} of {raw.source}, which holds no numbers")
        elif np.isnan(values).all():
            dropped.append(f"left out column {quote(name)} of {raw.source}, which is empty")
        else:
            found[name] = values
    problems += [_missing(raw, name, found) for name in dict.fromkeys(wanted.names) if name not in found]
    return found, dropped


def _wanted(raw: RawTable, name: str, wanted: Wanted, problems: list[Problem]) -> FloatArray:
    column = raw.column(name)
    values = to_finite_floats(column, problems, FIX)
    low, high = wanted.within.get(name, (-np.inf, np.inf))
    outside = np.isfinite(values) & ((values < low) | (values > high))
    if outside.any():
        known = values[np.isfinite(values)]
        fix = f"Bring it to that range (this column runs from {known.min():g} to {known.max():g})."
        problems.append(column.row_problem(outside, f"is outside [{low:g}, {high:g}]", fix))
    return values


def _missing(raw: RawTable, name: str, found: Mapping[str, FloatArray]) -> Problem:
    offer = did_you_mean(name, found).rstrip("?")
    what = f"there is no component {quote(name)}; the grid has {join_names(found) or 'none'}{offer}"
    return Problem(raw.source, what, "Add it as a column of numbers, or use a reward that does without it.")
