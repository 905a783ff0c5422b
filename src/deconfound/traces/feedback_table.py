"""Feedback in a table of its own -> scores: one row per judgement, keyed by call, response, trace or conversation.

Which column is the key, and what it refers to, is found by looking: the column whose values are ids of calls most
often. Every column that looks like a judgement becomes a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
VALUE_NAMES = ("outcome", "score", "rating", "value", "thumbs", "thumbs_up", "feedback", "label", "reward", "vote")
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


def read_feedback(source: TableLike, calls: Sequence[CallSummary], key: str | None = None) -> Feedback:
    """Read a table of judgements; ``key`` names the column that identifies what is judged."""
    raw = read_table(source, "outcomes", source_name(source, "outcomes"))
    found = _find_key(raw, calls, key)
    columns = {normalize_name(name): name for name in raw.arrow.column_names if name != found.column}
    value = next((columns[name] for name in VALUE_NAMES if name in columns), None)
    if value is None:
        what = f"no column is called {join_names(VALUE_NAMES)}; the columns are {join_names(raw.arrow.column_names)}"
        raise DataError([Problem(raw.source, what, "Rename the column with the judgement to one of them.")])
    return Feedback(raw.source, found, tuple(_scores(raw, found, value, columns)))


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
        fix = "Add the id of the call, response, trace or conversation that each row judges, as the traces have it."
        raise DataError([Problem(raw.source, what, fix)])
    return best


def _scores(raw: RawTable, key: FeedbackKey, value: str, columns: dict[str, str]) -> list[Score]:
    def text(names: Sequence[str]) -> list[str]:
        column = next((columns[name] for name in names if name in columns and columns[name] != value), None)
        return [""] * raw.arrow.num_rows if column is None else raw.texts(column)

    names, authors, kinds = text(NAME_NAMES), text(AUTHOR_NAMES), text(KIND_NAMES)
    time_column, targets = _time_column(raw, columns), raw.texts(key.column)
    times = [None] * len(targets) if time_column is None else times_in(raw.column(time_column))
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
                is_dated=time_column is not None,
            )
        )
    return scores


def _time_column(raw: RawTable, columns: dict[str, str]) -> str | None:
    """The column with the time of each judgement: by its name, or the only one that ends like one and has times."""
    named = next((columns[name] for name in TIME_NAMES if name in columns), None)
    if named is not None:
        return named
    likely = [column for name, column in columns.items() if name.endswith(TIME_ENDS) and _has_times(raw, column)]
    return likely[0] if len(likely) == 1 else None


def _has_times(raw: RawTable, column: str) -> bool:
    """Whether every cell is a time since 2000: a duration in seconds is not."""
    times = times_in(raw.column(column))
    return bool(times) and all(time is not None and time >= FIRST for time in times)
