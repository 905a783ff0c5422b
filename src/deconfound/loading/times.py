"""A user's column -> when each row happened, as one number that orders the rows."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Mask
from deconfound.errors import Problem
from deconfound.loading.numbers import MISSING_WORDS, NUMBER, Floats, finite, is_text
from deconfound.loading.raw import Column

MICRO = 1e-6
FIX = "Write ISO times such as 2026-05-01T13:00:00Z, or numbers, in every row, or leave the column out."


def times(column: Column, problems: list[Problem]) -> Floats:
    """Calendar times become seconds since 1970 in UTC; numbers keep their unit, since only the order is used."""
    values, kind = column.values, column.values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _from_calendar(column, values, problems)
    if is_text(kind):
        values = _without_blanks(values)
        if not _all_numbers(values):
            return _from_text(column, values, problems)
    if pa.types.is_boolean(kind):
        problems.append(column.whole("is true or false, which is no time", FIX))
        return np.full(len(values), np.nan)
    return finite(column, problems, FIX)


def _from_calendar(column: Column, values: pa.ChunkedArray, problems: list[Problem]) -> Floats:
    missing: Mask = values.is_null().to_numpy()
    if missing.any():
        problems.append(column.problem(missing, "is missing", FIX, show=False))
    micros = values.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    return np.asarray(pc.fill_null(micros, 0).to_numpy() * MICRO, dtype=np.float64)


def _without_blanks(values: pa.ChunkedArray) -> pa.ChunkedArray:
    words = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
    blank = pc.is_in(pc.utf8_lower(words), value_set=pa.array(MISSING_WORDS, pa.large_string()))
    return pc.if_else(blank, None, words)


def _all_numbers(values: pa.ChunkedArray) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, NUMBER)).as_py())  # a missing cell says nothing either way


def _from_text(column: Column, values: pa.ChunkedArray, problems: list[Problem]) -> Floats:
    encoded = values.combine_chunks().dictionary_encode()
    read = [_moment(text) for text in encoded.dictionary.to_pylist()]
    code = pc.fill_null(encoded.indices, len(read)).to_numpy().astype(np.int64)
    known = np.array([*(moment is not None for moment in read), False])[code]
    zoned = np.array([*(moment is not None and moment.tzinfo is not None for moment in read), False])[code]
    missing: Mask = values.is_null().to_numpy()
    if missing.any():
        problems.append(column.problem(missing, "is missing", FIX, show=False))
    elif not known.all():
        problems.append(column.problem(~known, "is no time", FIX))
    elif zoned.any() and not zoned.all():
        what = "has no time zone while other rows have one"
        problems.append(column.problem(~zoned, what, "Write the zone in every row (Z for UTC), or in none."))
    seconds = np.array([*(np.nan if moment is None else _seconds(moment) for moment in read), np.nan])
    return np.asarray(seconds[code])


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
