"""One condition on rows, such as "country=DE" or "log.time>=2026-05-01", and whether a cell fulfills it."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date
from decimal import Decimal

from deconfound.errors import UsageError
from deconfound.formatting import quote
from deconfound.loading.table_scope import split_scope
from deconfound.loading.times import parse_datetime

CONDITION = re.compile(r"(?P<name>.+?)\s*(?P<operator>!=|<=|>=|=|<|>)\s*(?P<value>.*)", re.DOTALL)
DAY = re.compile(r"\d{4}-\d\d-\d\d")
WHOLE_NUMBER = re.compile(r"[+-]?\d{1,40}", re.ASCII)
SECONDS_PER_DAY = 86_400.0
ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda cell, value: cell < value,
    "<=": lambda cell, value: cell <= value,
    ">": lambda cell, value: cell > value,
    ">=": lambda cell, value: cell >= value,
}


@dataclass(frozen=True, slots=True)
class RowFilter:
    """One condition. Several values of = are alternatives; the value "" stands for a missing cell."""

    text: str
    scope: str | None
    column: str
    operator: str
    values: tuple[str, ...]

    def holds(self, cell: object) -> bool | None:
        """Whether a cell fulfills the condition; None if it cannot be compared with the value."""
        if self.operator not in ORDERS:
            return any(_equals(cell, value) for value in self.values) != (self.operator == "!=")
        if _is_missing(cell):
            return False
        for convert in (_as_number, _as_time):
            left, right = convert(cell), convert(self.values[0])
            if left is not None and right is not None:
                return ORDERS[self.operator](left, right)
        return None


def parse_filter(text: str) -> RowFilter:
    """A condition as it is written on the command line."""
    match = CONDITION.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--where takes a condition such as country=DE or score>=3, not {quote(text)}.")
    scope, column = split_scope(match["name"].strip())
    operator, value = match["operator"], match["value"].strip()
    if operator in ORDERS:
        if _as_number(value) is None and _as_time(value) is None:
            raise UsageError(f"--where {text}: {operator} needs a number or a time such as 2026-05-01.")
        return RowFilter(text, scope, column, operator, (value,))
    alternatives = next(csv.reader([value], skipinitialspace=True), [])
    return RowFilter(text, scope, column, operator, tuple(one.strip() for one in alternatives) or ("",))


def _is_missing(cell: object) -> bool:
    return (
        cell is None or (isinstance(cell, float) and math.isnan(cell)) or (isinstance(cell, str) and not cell.strip())
    )


def _equals(cell: object, value: str) -> bool:
    if _is_missing(cell) or not value:
        return _is_missing(cell) and not value
    if isinstance(cell, bool):
        return value.lower() in (("true", "1") if cell else ("false", "0"))
    if str(cell).strip() == value or _is_on_day(cell, value):
        return True
    left, right = _as_number(cell), _as_number(value)
    if left is not None or isinstance(cell, str):
        return left is not None and left == right and not _has_leading_zero(cell, value)
    moment = _as_time(cell)
    return moment is not None and moment == _as_time(value)


def _is_on_day(cell: object, value: str) -> bool:
    """Whether a cell is a time on the day that a value names, in UTC as every comparison of times."""
    start, moment = _as_time(value) if DAY.fullmatch(value) else None, _as_time(cell)
    return start is not None and moment is not None and start <= moment < start + SECONDS_PER_DAY


def _has_leading_zero(*texts: object) -> bool:
    """Whether one is a code such as 007, which is not the number 7."""
    return any(isinstance(text, str) and re.match(r"0\d", text.strip()) is not None for text in texts)


def _as_number(cell: object) -> float | int | None:
    """A number; whole ones stay exact, since ids of 19 digits differ in the last one, which a float does not have."""
    if isinstance(cell, int) and not isinstance(cell, bool):
        return cell
    if isinstance(cell, str) and WHOLE_NUMBER.fullmatch(cell.strip()):
        return int(cell)
    if isinstance(cell, Decimal) and cell.is_finite() and cell == cell.to_integral_value():
        return int(cell)
    try:
        number = None if isinstance(cell, bool | date) else float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return None if number is None or math.isnan(number) else number


def _as_time(cell: object) -> float | None:
    try:
        moment = parse_datetime(cell.isoformat() if isinstance(cell, date) else str(cell).strip())
        return None if moment is None else (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
