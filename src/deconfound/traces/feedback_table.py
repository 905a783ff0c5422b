"""Feedback in a table of its own -> scores: one row per judgement, keyed by call, response, trace or conversation.

Every column that is called like a judgement becomes a score, and so does one that the user names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from deconfound.errors import DataError, Problem, UsageError
from deconfound.formatting import join_names
from deconfound.loading.column_mapping import normalize_name
from deconfound.loading.raw import RawTable, python_value
from deconfound.loading.sources import TableLike, read_table, source_name
from deconfound.traces.call import Score
from deconfound.traces.call_table import CallSummary
from deconfound.traces.feedback_key import FeedbackKey, find_key, trace_column, with_traces
from deconfound.traces.score_authors import author_kind, with_likely_author
from deconfound.traces.table_times import FIRST, times_in

OUTCOME = "outcome"
JUDGEMENT_NAMES = (
    *("score", "rating", "user_rating", "thumbs", "thumbs_up", "thumb", "stars", "star", "vote", "liked", "csat"),
    *("satisfaction", "grade"),
)
"""Each column of these names is a score of its own."""
OTHER_VALUE_NAMES = ("value", "reward", "feedback", "label", "y")
"""Without the names above, the first of these is the score; beside them it is often a comment."""
NAME_NAMES = ("score_name", "metric", "name", "key", "question")
TIME_NAMES = (
    *(
        "submitted_at",
        "rated_at",
        "voted_at",
        "feedback_at",
        "feedback_time",
        "rating_time",
        "updated_at",
        "modified_at",
    ),
    *("timestamp", "time", "datetime", "created_at", "date", "ts", "event_time", "event_timestamp", "occurred_at"),
    *("updated", "modified", "submitted", "created", "created_on", "updated_on", "submitted_on", "inserted_at"),
)
"""Those of the judgement first: a table may also have the time of the call."""
TIME_ENDS = ("_at", "_on", "_time", "_date", "_ts", "_timestamp")
AUTHOR_NAMES = (
    *("author", "annotator", "rater", "author_id", "annotator_id", "rater_id", "reviewer", "reviewer_id"),
    *("labeler", "labeler_id", "evaluator_id", "judge_id", "user_id", "user"),
)
KIND_NAMES = ("source", "annotator_kind", "source_type", "author_kind")
NO_IDS = (OUTCOME, *JUDGEMENT_NAMES, *OTHER_VALUE_NAMES, *TIME_NAMES, *AUTHOR_NAMES, *KIND_NAMES)
"""Names of columns that are never keys, whatever their values coincide with."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """The scores of a table and how they were keyed."""

    source: str
    key: FeedbackKey
    scores: tuple[Score, ...]
    unused: tuple[str, ...] = ()  # columns


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which column of a table has what; None where there is none."""

    values: tuple[str, ...]  # one score each
    name: str | None  # of the score, where a table has scores of several names in one column
    author: str | None
    kind: str | None
    time: str | None

    @classmethod
    def of(cls, raw: RawTable, key: str, requested: Sequence[str]) -> Self:
        columns = {normalize_name(name): name for name in raw.arrow.column_names if name != key}
        values = _value_columns(raw, columns, requested)
        others = {name: column for name, column in columns.items() if column not in values}
        named = None if set(values) & set(requested) else _first(others, NAME_NAMES)
        times = _time_column(raw, others)
        return cls(
            values[:1] if named else values, named, _first(others, AUTHOR_NAMES), _first(others, KIND_NAMES), times
        )

    def unused_among(self, names: Sequence[str]) -> tuple[str, ...]:
        used = {*self.values, self.name, self.author, self.kind, self.time}
        return tuple(name for name in names if name not in used)


def read_feedback(
    source: TableLike, calls: Sequence[CallSummary], key: str | None = None, outcomes: Sequence[str] = ()
) -> Feedback:
    """Read a table of judgements.

    ``key`` names the column that identifies what is judged, ``outcomes`` columns with judgements under any name.
    """
    raw = read_table(source, "outcomes", source_name(source, "outcomes"))
    found = find_key(raw, calls, (*NO_IDS, *map(normalize_name, outcomes)), key)
    columns = _Columns.of(raw, found.column, outcomes)
    scores = [
        with_likely_author(replace(score, declared=columns.kind is None))
        for value in columns.values
        for score in _scores(raw, found, value, columns)
    ]
    ids = (found.column, trace_column(raw, found))
    unused = columns.unused_among([name for name in raw.arrow.column_names if name not in ids])
    return Feedback(raw.source, found, with_traces(scores, raw, found, calls), unused)


def _value_columns(raw: RawTable, columns: Mapping[str, str], requested: Sequence[str]) -> tuple[str, ...]:
    """The columns with judgements: those that the user names, and others whose names say so."""
    chosen = [name for name in dict.fromkeys(requested) if name in columns.values()]
    if not chosen and OUTCOME in columns:
        return (columns[OUTCOME],)
    named = [columns[name] for name in JUDGEMENT_NAMES if name in columns and columns[name] not in chosen]
    other = _first(columns, OTHER_VALUE_NAMES)
    values = (*chosen, *named) or (() if other is None else (other,))
    if not values:
        has = join_names(list(columns.values())) or "no other column"
        what = f"no column has the name of a judgement, such as score, rating or thumbs; beside the id there is {has}"
        raise DataError([Problem(raw.source, what, "Name the column with the judgement: --outcome COLUMN.")])
    return values


def _first(columns: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((columns[name] for name in names if name in columns), None)


def has_judgements(names: Collection[str]) -> bool:
    """Whether one of the normalized names of columns is that of a judgement."""
    return not {OUTCOME, *JUDGEMENT_NAMES, *OTHER_VALUE_NAMES}.isdisjoint(names)


def has_key(raw: RawTable, calls: Sequence[CallSummary]) -> bool:
    """Whether a column has ids of the calls, and no other one may be meant."""
    try:
        find_key(raw, calls, NO_IDS)
    except (DataError, UsageError):
        return False
    return True


def _scores(raw: RawTable, key: FeedbackKey, value: str, columns: _Columns) -> list[Score]:
    def text(column: str | None) -> list[str]:
        return [""] * raw.arrow.num_rows if column is None else raw.texts(column)

    names, authors, kinds = text(columns.name), text(columns.author), text(columns.kind)
    targets = raw.texts(key.column)
    times = [None] * len(targets) if columns.time is None else times_in(raw.column(columns.time))
    scores = []
    for row, judged in enumerate(python_value(each) for each in raw.arrow[value]):
        if judged is None or not targets[row] or (isinstance(judged, float) and np.isnan(judged)):
            continue
        number = judged if isinstance(judged, int | float) else str(judged)
        author = author_kind(kinds[row]) if kinds[row] else "unknown"
        origin = raw.row_numbers.locate(raw.source, row)
        name, author_id = names[row] or value, authors[row] or kinds[row]
        scores.append(
            Score(
                *(origin, name, number, author, key.target, targets[row], author_id),
                time=times[row],
                is_dated=columns.time is not None,
            )
        )
    return scores


def _time_column(raw: RawTable, columns: Mapping[str, str]) -> str | None:
    """The column with the time of each judgement: by its name, or the only one that ends like one and has times."""
    named = _first(columns, TIME_NAMES)
    if named is not None:
        return named
    likely = [column for name, column in columns.items() if name.endswith(TIME_ENDS) and _has_times(raw, column)]
    return likely[0] if len(likely) == 1 else None


def _has_times(raw: RawTable, column: str) -> bool:
    """Whether every cell is a time since 2000: a duration in seconds is not."""
    times = times_in(raw.column(column))
    return bool(times) and all(time is not None and time >= FIRST for time in times)
