"""Times in a user's table that are compared with those of calls: seconds since 1970, whatever unit they are in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time

import numpy as np
import pyarrow as pa

from deconfound.data import Mask
from deconfound.errors import DataError
from deconfound.loading.raw import Column, python_value
from deconfound.loading.times import parse_datetime, parse_datetimes
from deconfound.traces.field_values import seconds_from, text_from

DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
"""Dates that are written without separators, by their length. As seconds or milliseconds they would be in 1970 to 1976,
or after 2500."""
COMPACT = re.compile(r"(?:19|20)\d{6}(?:\d{4}|\d{6})?")
FIRST = datetime(2000, 1, 1, tzinfo=UTC).timestamp()  # before it there were no language models to assign
FIX = "Write ISO times such as 2026-05-01T13:00:00Z in every row, or leave the column out."


def time_from(value: object) -> float | None:
    """One time, as a number in any unit, a date of 8, 12 or 14 digits, ISO 8601, a date or a datetime; in UTC."""
    text = text_from(value).strip()
    if COMPACT.fullmatch(text):
        try:
            return datetime.strptime(text, DIGITS[len(text)]).replace(tzinfo=UTC).timestamp()
        except ValueError:  # there is no such day
            pass
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time(), UTC)
    return seconds_from(value)


def times_in(column: Column) -> list[float | None]:
    """The time of each row; None where there is none or it cannot be read."""
    return _times(_cells(column))


def required_times(column: Column) -> list[float]:
    """The time of each row; a row without one, or with one that may mean anything, raises."""
    cells = _cells(column)
    times = _times(cells)
    _refuse(column, [cell is None or not str(cell).strip() for cell in cells], "has no value")
    _refuse(column, [moment is None for moment in times], "is not a time")
    _refuse(column, [moment is not None and moment < FIRST for moment in times], "is before the year 2000")
    zoned = [_has_zone(cell) for cell in cells]
    if True in zoned:
        _refuse(column, [zone is False for zone in zoned], "has no time zone, unlike other rows")
    return [moment for moment in times if moment is not None]


def _times(cells: Sequence[object]) -> list[float | None]:
    """Each cell by itself; dates as spreadsheets write them, by the column."""
    times = [time_from(cell) for cell in cells]
    texts = [cell.strip() if isinstance(cell, str) else "" for cell in cells]
    dates = parse_datetimes(texts) if None in times else [None] * len(cells)
    return [
        date.replace(tzinfo=date.tzinfo or UTC).timestamp() if moment is None and date is not None else moment
        for moment, date in zip(times, dates, strict=True)
    ]


def _cells(column: Column) -> list[object]:
    values = column.values
    if pa.types.is_timestamp(values.type) and values.type.unit == "ns":  # beyond the precision of Python's times
        values = values.cast(pa.timestamp("us", values.type.tz), safe=False)
    return [python_value(value) for value in values]


def _refuse(column: Column, bad: Sequence[bool], what: str) -> None:
    mask: Mask = np.array(bad, dtype=bool)
    if mask.any():
        raise DataError([column.row_problem(mask, what, FIX)])


def _has_zone(cell: object) -> bool | None:
    """Whether a calendar time names its zone; None for numbers and other values."""
    moment = parse_datetime(cell.strip()) if isinstance(cell, str) else None
    return None if moment is None else moment.tzinfo is not None
