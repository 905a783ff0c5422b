"""A user's column -> float64 numbers, with what is no number told by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deconfound.data import Mask
from deconfound.errors import Problem
from deconfound.loading.raw import Column

Floats = NDArray[np.float64]

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
MISSING_WORDS = ("", "na", "n/a", "nan", "null", "none")
EXACT = 2.0**53  # above it a float no longer tells neighbouring integers apart
INFINITE_WORDS = ("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity")
TRUTH_WORDS = {"true": "1", "false": "0"}


def floats(column: Column, problems: list[Problem], fix: str) -> Floats:
    """Read numbers, truth values (as 1 and 0) and numbers written as text; a missing value is NaN.

    ``fix`` is the advice for what is none of these.
    """
    values, kind = column.values, column.values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if is_text(kind):
        return _from_text(column, values.cast(pa.large_string()), problems, fix)
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        filled = values.is_valid().to_numpy()
        if filled.any():
            problems.append(column.problem(filled, "is not a number", fix))
        return np.full(len(values), np.nan)
    return _numpy(values.cast(pa.float64(), safe=False))


def is_text(kind: pa.DataType) -> bool:
    """Whether a column is of one of Arrow's kinds of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def finite(column: Column, problems: list[Problem], fix: str) -> Floats:
    """Read numbers of which every one must be there."""
    found = len(problems)
    values = floats(column, problems, fix)
    missing = np.isnan(values)
    if missing.any() and len(problems) == found:
        problems.append(column.problem(missing, "is missing or NaN", fix, show=False))
    refuse_infinite(column, values, problems)
    return values


def refuse_infinite(column: Column, values: Floats, problems: list[Problem]) -> None:
    """Report infinite values."""
    infinite = np.isinf(values)
    if infinite.any():
        problems.append(column.problem(infinite, "is infinite", "Write a finite number."))


def _from_text(column: Column, texts: pa.ChunkedArray, problems: list[Problem], fix: str) -> Floats:
    words = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    for word, number in TRUTH_WORDS.items():
        words = pc.if_else(pc.equal(words, word), number, words)
    numeric = pc.fill_null(pc.match_substring_regex(words, NUMBER), False)
    infinite = pc.is_in(words, value_set=pa.array(INFINITE_WORDS, pa.large_string()))
    missing = pc.or_(pc.is_null(words), pc.is_in(words, value_set=pa.array(MISSING_WORDS, pa.large_string())))
    bad: Mask = pc.invert(pc.or_(pc.or_(numeric, infinite), missing)).to_numpy()
    if bad.any():
        problems.append(column.problem(bad, "is not a number", fix))
    values = _numpy(pc.if_else(numeric, words, None).cast(pa.float64()))
    values[infinite.to_numpy()] = np.inf
    return values


def _numpy(values: pa.ChunkedArray) -> Floats:
    return np.array(pc.fill_null(values, float("nan")).to_numpy(), dtype=np.float64)
