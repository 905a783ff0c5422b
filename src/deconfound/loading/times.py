"""A user's column -> times, with a problem for every value that is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Mask
from deconfound.data.encode import UNKNOWN_CODE, encode_by_appearance
from deconfound.errors import Problem
from deconfound.loading.convert import (
    NUMBER,
    Floats,
    is_string_type,
    null_missing_words,
    to_finite_floats,
)
from deconfound.loading.decoded_size import decode_dictionary
from deconfound.loading.raw import Column

SECONDS_PER_MICROSECOND = 1e-6
MONTHS = 12
HOURS = 12  # before and after noon
ZONE_AFTER_SPACE = re.compile(r"(?P<time>\d.*?:\d\d\S*)\s+(?:(?P<offset>[+-]\d\d:?\d\d)(?:\s+[A-Z]+)?|UTC|GMT|Z)")
MAX_TIME_CHARACTERS = 50
TIME_FIX = "Write ISO times such as 2026-05-01T13:00:00Z, or numbers, in every row, or leave the column out."

NUMERIC_DATE = re.compile(
    r"(?P<first>\d{1,2})(?P<separator>[/.])(?P<second>\d{1,2})(?P=separator)(?P<year>\d{4})"
    r"(?:,?\s+(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<seconds>\d\d)(?:\.\d+)?)?\s*(?P<half>[AaPp]\.?[Mm]\.?)?)?"
)
"""A date as spreadsheets write it. With points the day is first; with slashes, the column tells."""


def to_times(column: Column, problems: list[Problem]) -> Floats:
    """Calendar times become seconds since 1970 in UTC; numbers keep their unit, since only the order is used."""
    values, kind = decode_dictionary(column.values)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _timestamps_to_seconds(column, values, problems)
    if is_string_type(kind):
        values = null_missing_words(values)
        if not _all_numbers(values):
            return _parse_times(column, values, problems)
    if pa.types.is_boolean(kind):
        problems.append(column.column_problem("is true or false, which is not a time", TIME_FIX))
        return np.full(len(values), np.nan)
    return to_finite_floats(column, problems, TIME_FIX)


def _timestamps_to_seconds(column: Column, values: pa.ChunkedArray, problems: list[Problem]) -> Floats:
    missing: Mask = values.is_null().to_numpy()
    if missing.any():
        problems.append(column.row_problem(missing, "has no value", TIME_FIX, show_value=False))
    micros = values.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    return np.asarray(pc.fill_null(micros, 0).to_numpy() * SECONDS_PER_MICROSECOND, dtype=np.float64)


def _all_numbers(values: pa.ChunkedArray) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, NUMBER)).as_py())  # missing cells are skipped


def _parse_times(column: Column, values: pa.ChunkedArray, problems: list[Problem]) -> Floats:
    texts, code = encode_by_appearance(values)
    moments = [*parse_datetimes(texts.to_pylist()), None]  # the last is that of missing values
    valid = np.array([moment is not None for moment in moments])[code]
    zoned = np.array([moment is not None and moment.tzinfo is not None for moment in moments])[code]
    missing = code == UNKNOWN_CODE
    if missing.any():
        problems.append(column.row_problem(missing, "has no value", TIME_FIX, show_value=False))
    elif not valid.all():
        dated = [NUMERIC_DATE.fullmatch(text) is not None for text in texts.to_pylist()]
        ambiguous = not valid.any() and all(dated)
        description = "may have the day or the month first" if ambiguous else "is not a time"
        problems.append(column.row_problem(~valid, description, TIME_FIX))
    elif zoned.any() and not zoned.all():
        description = "has no time zone, unlike other rows"
        fix = "Write the zone in every row (Z for UTC), or in none."
        problems.append(column.row_problem(~zoned, description, fix))
    seconds = np.array([np.nan if moment is None else _seconds(moment) for moment in moments])
    return np.asarray(seconds[code])


def parse_datetimes(texts: Sequence[str]) -> list[datetime | None]:
    """The time of each text; dates with slashes are read if one of them shows which of day and month is first."""
    moments = [parse_datetime(text) for text in texts]
    dates = [NUMERIC_DATE.fullmatch(text) for text in texts if len(text) <= MAX_TIME_CHARACTERS]
    slashed = [date for date in dates if date is not None and date["separator"] == "/"]
    first, second = (max((int(date[part]) for date in slashed), default=0) for part in ("first", "second"))
    day_first = None if (first > MONTHS) == (second > MONTHS) else first > MONTHS
    return [
        moment if moment is not None else _parse_numeric_date(text, day_first)
        for moment, text in zip(moments, texts, strict=True)
    ]


def _parse_numeric_date(text: str, day_first: bool | None) -> datetime | None:
    """A date as spreadsheets write it; None if it is none, or if the order of its day and month is not known."""
    date = NUMERIC_DATE.fullmatch(text) if len(text) <= MAX_TIME_CHARACTERS else None
    if date is None or (date["separator"] == "/" and day_first is None):
        return None
    day, month = int(date["first"]), int(date["second"])
    if date["separator"] == "/" and not day_first:
        day, month = month, day
    hour, half = int(date["hour"] or 0), (date["half"] or "").lower()
    if half and not 1 <= hour <= HOURS:
        return None
    hour = hour % HOURS + (HOURS if half.startswith("p") else 0) if half else hour
    try:
        return datetime(int(date["year"]), month, day, hour, int(date["minute"] or 0), int(date["seconds"] or 0))
    except ValueError:
        return None


def parse_datetime(text: str) -> datetime | None:
    """An ISO time, also with a space before its zone or with the letters UTC, as databases and logs write it."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        match = ZONE_AFTER_SPACE.fullmatch(text) if len(text) <= MAX_TIME_CHARACTERS else None
    try:
        return None if match is None else datetime.fromisoformat(f"{match['time']}{match['offset'] or '+00:00'}")
    except ValueError:
        return None


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
