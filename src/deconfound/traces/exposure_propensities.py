"""The probabilities in a user's table or in attributes of calls; one that cannot be read is never left out.

Without its propensities an experiment counts as evenly drawn, which gives other values.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

import numpy as np

from deconfound.data import Mask
from deconfound.design import FloatArray
from deconfound.errors import DataError, Problem
from deconfound.formatting import quote
from deconfound.loading.convert import MISSING_WORDS
from deconfound.loading.outcome_words import NUMBER
from deconfound.loading.raw import Column, RawTable, python_value
from deconfound.traces.field_values import number_from

PERCENTAGE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*%")
ATOL = 0.01 + 1e-9  # weights printed with two decimals: three times 0.33 are 0.99
FIX = "Write the probability of the row's variant, such as 0.3, or leave the column out if all were equally likely."
WEIGHTS_FIX = (
    "Write a list with one weight per variation and the variation as its number, from 0, or an object with one weight "
    "per variant, or add a column propensity."
)
OUTSIDE = "is not a probability above 0 and at most 1"


def propensities_in(raw: RawTable, name: str, variants: Sequence[str], rows: Sequence[int]) -> dict[int, float | None]:
    """The probability of each of the rows; None where the cell is empty. Anything that is none raises."""
    column, texts = raw.column(name), raw.texts(name)
    filled = [row for row in rows if texts[row].lower() not in MISSING_WORDS]
    numbers = [row for row in filled if NUMBER.fullmatch(texts[row])]
    percent = [row for row in filled if PERCENTAGE.fullmatch(texts[row])]
    _refuse(column, sorted({*filled}.difference(numbers, percent)), OUTSIDE)
    if numbers:
        _refuse(column, percent, "is a percentage, unlike other rows")
    values = {row: float(texts[row].rstrip("% ")) for row in filled}
    scale = 100.0 if percent or _are_percentages(values, variants) else 1.0
    _refuse(column, [row for row, value in values.items() if not 0.0 < value / scale <= 1.0], OUTSIDE)
    return {row: values[row] / scale if row in values else None for row in rows}


def weights_in(raw: RawTable, name: str, variants: Sequence[str], rows: Sequence[int]) -> dict[int, float | None]:
    """The probability of each of the rows: the entry of its variant among the recorded weights."""
    column = raw.column(name)
    found: dict[int, float | None] = {}
    for row in rows:
        cell = python_value(column.values[row])
        if cell is None or (isinstance(cell, str) and cell.strip().lower() in MISSING_WORDS):
            found[row] = None
            continue
        weights = _weights(cell)
        if not weights:
            _refuse(column, [row], "is not a list of weights", WEIGHTS_FIX)
        if variants[row] not in weights:
            _refuse(column, [row], f"has no place for the variant {quote(variants[row])}", WEIGHTS_FIX)
        total = math.fsum(weights.values())
        scale = 100.0 if abs(total - 100.0) <= 100.0 * ATOL else 1.0
        if abs(total / scale - 1.0) > ATOL or not 0.0 < weights[variants[row]] / scale <= 1.0:
            _refuse(column, [row], "must have a weight above 0 for the variant, and sum to 1", WEIGHTS_FIX)
        found[row] = weights[variants[row]] / scale
    return found


def probability_from(text: str, origin: str, name: str) -> float:
    """The probability in an attribute of a call."""
    percentage = PERCENTAGE.fullmatch(text.strip())
    number = float(percentage[1]) / 100.0 if percentage else number_from(text)
    if number is None or not 0.0 < number <= 1.0:
        fix = "Record the probability with which the model was drawn, such as 0.3."
        raise DataError([Problem(origin, f"{name} {quote(text)} {OUTSIDE}", fix)])
    return number


def require_propensity(values: FloatArray, used: Mask, places: Sequence[str], name: str) -> None:
    """Refuse an experiment of which some rows lack the declared probability."""
    lacking = np.flatnonzero(used & np.isnan(values))
    if len(lacking):
        of = f" (so in {len(lacking):,} of {int(used.sum()):,} randomized calls)" if len(lacking) > 1 else ""
        what = f"{name} has no value, and a randomized call needs it{of}"
        raise DataError([Problem(places[int(lacking[0])], what, FIX)])


def _are_percentages(values: dict[int, float], variants: Sequence[str]) -> bool:
    """Whether numbers cannot be probabilities, but are one percentage per variant, 100 in total."""
    if not values or max(values.values()) <= 1.0:
        return False
    pairs = {(variants[row], value) for row, value in values.items()}
    one_each = len(pairs) == len({variant for variant, _ in pairs})
    return one_each and abs(math.fsum(value for _, value in pairs) - 100.0) <= 100.0 * ATOL


def _weights(cell: object) -> dict[str, float]:
    """Weights by the name or the number of their variant; empty if they are none."""
    if isinstance(cell, dict) and cell.keys() == {"json"}:  # a cell of a table with lists and objects
        cell = cell["json"]
    try:
        listed = json.loads(cell) if isinstance(cell, str) else cell
    except (ValueError, RecursionError):
        return {}
    named = dict(enumerate(listed)) if isinstance(listed, list) else listed if isinstance(listed, dict) else {}
    weights = {str(key): number_from(value) for key, value in named.items()}
    return {key: value for key, value in weights.items() if value is not None and len(weights) == len(named)}


def _refuse(column: Column, rows: Sequence[int], what: str, fix: str = FIX) -> None:
    if rows:
        mask: Mask = np.zeros(len(column.values), dtype=bool)
        mask[list(rows)] = True
        raise DataError([column.row_problem(mask, what, fix)])
