"""Feedback in a table of its own -> scores: one row per judgement, keyed by call, response, trace or conversation.

Which column is the key, and what it refers to, is found by looking: the column whose values are ids of calls most
often. Every column that looks like a judgement becomes a score.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from deconfound.errors import DataError, Problem, UsageError
from deconfound.formatting import join_names, quote
from deconfound.loading.column_mapping import normalize_name
from deconfound.loading.raw import RawTable, python_value
from deconfound.loading.sources import TableLike, read_table, source_name
from deconfound.traces.call import Author, Score, Target
from deconfound.traces.call_table import CallSummary
from deconfound.traces.table_times import FIRST, times_in

MIN_MATCHED = 0.1  # of a column's values: fewer are ids by coincidence
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
AUTHOR_NAMES = ("author", "annotator", "rater", "user_id", "user")
KIND_NAMES = ("source", "annotator_kind", "source_type", "author_kind")
AUTHOR_KINDS: dict[str, Author] = {
    "human": "human",
    "annotation": "human",
    "user": "human",
    "llm": "judge",
    "llm_judge": "judge",
    "judge": "judge",
    "eval": "judge",
    "model": "judge",
    "code": "code",
}
FIELDS: dict[Target, str] = {
    "call": "call_id",
    "response": "response_id",
    "trace": "trace_id",
    "conversation": "conversation",
}


@dataclass(frozen=True, slots=True)
class FeedbackKey:
    """The column that says what is judged, and what its values are."""

    column: str
    target: Target
    matched: int
    rows: int


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
    found = _find_key(raw, calls, key)
    columns = _Columns.of(raw, found.column, outcomes)
    scores = [score for value in columns.values for score in _scores(raw, found, value, columns)]
    unused = columns.unused_among([name for name in raw.arrow.column_names if name != found.column])
    return Feedback(raw.source, found, tuple(scores), unused)


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
    """Whether a column has ids of the calls."""
    try:
        _find_key(raw, calls, None)
    except DataError:
        return False
    return True


def _find_key(raw: RawTable, calls: Sequence[CallSummary], requested: str | None) -> FeedbackKey:
    if requested is not None and requested not in raw.arrow.column_names:
        raise UsageError(f"{raw.source} has no column {quote(requested)}; it has {join_names(raw.arrow.column_names)}.")
    ids = {target: {getattr(call, name) for call in calls} - {""} for target, name in FIELDS.items()}
    names = [requested] if requested is not None else raw.arrow.column_names
    candidates = [
        FeedbackKey(name, target, sum(text in known for text in raw.texts(name)), raw.arrow.num_rows)
        for name in names
        for target, known in ids.items()
    ]
    best = max(candidates, key=lambda each: each.matched)
    if best.matched < max(1.0, MIN_MATCHED * best.rows):
        what = f"no column has ids of the calls; the columns are {join_names(raw.arrow.column_names)}"
        folded = {name.casefold() for known in ids.values() for name in known}
        other_case = [name for name in names if not folded.isdisjoint(text.casefold() for text in raw.texts(name))]
        if other_case:
            what = f"the ids in column {quote(other_case[0])} differ from those of calls only in case"
        fix = "Add the id of the call, response, trace or conversation that each row judges, as the traces have it."
        raise DataError([Problem(raw.source, what, fix)])
    return best


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
        author = AUTHOR_KINDS.get(normalize_name(kinds[row]), "unknown")
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
