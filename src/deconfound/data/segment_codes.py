"""A column that divides the experiment's rows, as a few segments: small ones pooled, numbers cut at quartiles."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from deconfound.data.encode import Codes
from deconfound.data.row_order import SEGMENT_PREFIX
from deconfound.data.tables import Experiment
from deconfound.errors import DataError, Problem
from deconfound.formatting import quote

MISSING, OTHER = "(missing)", "(other)"
MAX_SEGMENTS = 20  # of one column, with names of their own; every further one widens the intervals of all
MIN_SEGMENT_ROWS = 10  # smaller segments are pooled; fewer rows do not compare models
MAX_RARE_SHARE = 0.5  # of rows with such values, in a column of many; beyond it, values are rather ids than segments
QUARTILES = (0.25, 0.5, 0.75)
LIKE_OURS = re.compile(rf'"*({re.escape(MISSING)}|{re.escape(OTHER)})"*')
CODE_NUMBER = re.compile(r"[+-]?0[0-9]")  # a leading zero: a postal code, for instance, and not a quantity
MAX_EXACT, DIGITS = 1e15, range(6, 18)  # integers below it are written in full; digits of other numbers


@dataclass(frozen=True, slots=True, eq=False)
class SegmentCodes:
    """Segments by name, and that of each row.

    Segments come with the largest first, those of numbers in their order; rows without a value and small segments have
    segments of their own at the end.
    """

    column: str
    names: tuple[str, ...]
    code: Codes  # (n,) into names
    missing_rows: int
    pooled_values: int  # values that share the segment OTHER

    @classmethod
    def from_experiment(cls, experiment: Experiment, column: str, source: str = "") -> Self:
        """The segments of a column; raises a ``DataError`` if it has too many values to divide rows.

        ``source`` is the table that the column comes from, if it is not the experiment's own.
        """
        read: list[str | None] = experiment.arrow[f"{SEGMENT_PREFIX}{column}"].to_pylist()
        values = [None if value is None else _own_name(value) for value in read]
        counts = Counter(value for value in values if value is not None)
        numbers = _numbers(counts) if len(counts) > MAX_SEGMENTS else None
        if numbers is not None:
            ranges = _ranges([numbers[value] for value in values if value is not None])
            named = [None if value is None else ranges.name(numbers[value]) for value in values]
            return cls._from_names(column, named, ranges.names, pooled_values=0)
        small = _small_values(counts)
        rare_rows = sum(rows for rows in counts.values() if rows < MIN_SEGMENT_ROWS)
        if len(counts) > MAX_SEGMENTS and rare_rows > MAX_RARE_SHARE * counts.total():
            raise DataError([_too_many(source or experiment.source, column, len(counts), counts.total())])
        named = [OTHER if value in small else value for value in values]
        ordered = sorted(counts.keys() - small, key=lambda value: (-counts[value], value))
        return cls._from_names(column, named, ordered, pooled_values=len(small))

    def name_by_context(self, context_ids: Sequence[str]) -> dict[str, str]:
        """The segment of each context whose rows, of which these are the contexts, are all in one."""
        names: dict[str, str] = {}
        for context, code in zip(context_ids, self.code.tolist(), strict=True):
            name = self.names[code]
            names[context] = name if names.get(context, name) == name else ""
        return {context: name for context, name in names.items() if name}

    @classmethod
    def _from_names(
        cls, column: str, named: Sequence[str | None], ordered: Sequence[str], *, pooled_values: int
    ) -> Self:
        filled = [MISSING if name is None else name for name in named]
        present = set(filled)
        names = tuple(name for name in (*ordered, OTHER, MISSING) if name in present)
        place = {name: at for at, name in enumerate(names)}
        code = np.array([place[name] for name in filled], dtype=np.int64)
        return cls(column, names, code, sum(name is None for name in named), pooled_values)


def _own_name(value: str) -> str:
    """The value, with one more pair of quotes if it would be taken for a segment of ours: different ones stay so."""
    return f'"{value}"' if LIKE_OURS.fullmatch(value) else value


def _small_values(counts: Counter[str]) -> set[str]:
    """Values with few rows, and those beyond the largest ones; a single one retains its name."""
    by_size = sorted(counts, key=lambda value: (-counts[value], value))
    small = {value for at, value in enumerate(by_size) if counts[value] < MIN_SEGMENT_ROWS or at >= MAX_SEGMENTS}
    return small if len(small) > 1 else set()


def _too_many(source: str, column: str, count: int, rows: int) -> Problem:
    what = f"{quote(column)} has {count:,} values in {rows:,} rows, most of them rare, and cannot divide rows"
    fix = "Name a column with fewer values, such as a language or a task, or group its values in a new column."
    return Problem(source, what, fix)


def _numbers(values: Counter[str]) -> dict[str, float] | None:
    """Each value as a number; None if one is no finite number, or a code with a leading zero."""
    if any(CODE_NUMBER.match(value) for value in values):
        return None
    try:
        numbers = {value: float(value) for value in values if "_" not in value}
    except ValueError:
        return None
    return numbers if len(numbers) == len(values) and all(map(math.isfinite, numbers.values())) else None


@dataclass(frozen=True, slots=True)
class _Ranges:
    """Ranges of numbers, each above one limit and up to the next."""

    limits: tuple[float, ...]

    @property
    def names(self) -> tuple[str, ...]:
        limits = _distinct_texts(self.limits)
        between = (f"> {low} to {high}" for low, high in pairwise(limits))
        return (f"≤ {limits[0]}", *between, f"> {limits[-1]}")

    def name(self, number: float) -> str:
        return self.names[int(np.searchsorted(self.limits, number, side="left"))]


def _distinct_texts(numbers: Sequence[float]) -> list[str]:
    """Numbers with as many digits as make them differ."""
    if all(number == round(number) and abs(number) < MAX_EXACT for number in numbers):
        return [f"{number:.0f}" for number in numbers]
    texts = ([f"{number:.{digits}g}" for number in numbers] for digits in DIGITS)
    return next(each for each in texts if len(set(each)) == len(numbers))


def _ranges(numbers: Sequence[float]) -> _Ranges:
    """About a quarter of the rows each; ties may leave fewer and larger ones."""
    return _Ranges(tuple(np.unique(np.quantile(numbers, QUARTILES, method="inverted_cdf")).tolist()))
