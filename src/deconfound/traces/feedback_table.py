"""Feedback in a table of its own -> scores: one row per judgement, keyed by call, response, trace or conversation.

The first column that is called like a judgement has the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deconfound.errors import DataError, Problem
from deconfound.formatting import join_names
from deconfound.loading.column_mapping import normalize_name
from deconfound.loading.raw import RawTable, python_value
from deconfound.loading.sources import TableLike, read_table, source_name
from deconfound.traces.call import Score
from deconfound.traces.call_table import CallSummary
from deconfound.traces.feedback_key import FeedbackKey, find_key, with_traces
from deconfound.traces.score_authors import author_kind, with_likely_author
from deconfound.traces.table_times import times_in

VALUE_NAMES = ("outcome", "score", "rating", "value", "thumbs", "thumbs_up", "feedback", "label", "reward", "vote")
NAME_NAMES = ("score_name", "metric", "name", "key", "question")
TIME_NAMES = ("timestamp", "time", "created_at")
AUTHOR_NAMES = (
    *("author", "annotator", "rater", "author_id", "annotator_id", "rater_id", "reviewer", "reviewer_id"),
    *("labeler", "labeler_id", "evaluator_id", "judge_id", "user_id", "user"),
)
KIND_NAMES = ("source", "annotator_kind", "source_type", "author_kind")
NO_IDS = (*VALUE_NAMES, *TIME_NAMES, *AUTHOR_NAMES, *KIND_NAMES)


@dataclass(frozen=True, slots=True)
class Feedback:
    """The scores of a table and how they were keyed."""

    source: str
    key: FeedbackKey
    scores: tuple[Score, ...]


def read_feedback(source: TableLike, calls: Sequence[CallSummary], key: str | None = None) -> Feedback:
    """Read a table of judgements; ``key`` names the column that identifies what is judged."""
    raw = read_table(source, "outcomes", source_name(source, "outcomes"))
    found = find_key(raw, calls, NO_IDS, key)
    columns = {normalize_name(name): name for name in raw.arrow.column_names if name != found.column}
    value = next((columns[name] for name in VALUE_NAMES if name in columns), None)
    if value is None:
        what = f"no column is called {join_names(VALUE_NAMES)}; the columns are {join_names(raw.arrow.column_names)}"
        raise DataError([Problem(raw.source, what, "Rename the column with the judgement to one of them.")])
    states_kind = any(name in columns for name in KIND_NAMES)
    scores = [
        with_likely_author(replace(score, declared=not states_kind)) for score in _scores(raw, found, value, columns)
    ]
    return Feedback(raw.source, found, with_traces(scores, raw, found, calls))


def _scores(raw: RawTable, key: FeedbackKey, value: str, columns: dict[str, str]) -> list[Score]:
    def text(names: Sequence[str]) -> list[str]:
        column = next((columns[name] for name in names if name in columns and columns[name] != value), None)
        return [""] * raw.arrow.num_rows if column is None else raw.texts(column)

    names, authors, kinds = text(NAME_NAMES), text(AUTHOR_NAMES), text(KIND_NAMES)
    times, targets = _times(raw, columns), raw.texts(key.column)
    scores = []
    for row, judged in enumerate(python_value(each) for each in raw.arrow[value]):
        if judged is None or not targets[row] or (isinstance(judged, float) and np.isnan(judged)):
            continue
        number = judged if isinstance(judged, int | float) else str(judged)
        author = author_kind(kinds[row]) if kinds[row] else "unknown"
        origin = raw.row_numbers.locate(raw.source, row)
        name = names[row] or value
        scores.append(
            Score(origin, name, number, author, key.target, targets[row], authors[row] or kinds[row], times[row])
        )
    return scores


def _times(raw: RawTable, columns: dict[str, str]) -> list[float | None]:
    column = next((columns[name] for name in TIME_NAMES if name in columns), None)
    return [None] * raw.arrow.num_rows if column is None else times_in(raw.column(column))
