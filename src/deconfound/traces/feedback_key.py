"""Which column of a feedback table says what each row judges, and whether it means calls, traces or conversations.

The finest level goes before coarser ones. Of two columns that the number of matches cannot separate, the name decides
or the user is asked: row numbers match the numbers of sessions as well as any id does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deconfound.errors import DataError, Problem, UsageError
from deconfound.formatting import join_names, join_noted_names, quote, shell_argument
from deconfound.loading.column_mapping import normalize_name
from deconfound.loading.raw import RawTable
from deconfound.traces.call import Score, Target
from deconfound.traces.call_table import CallSummary

MIN_MATCHED = 0.1  # of a column's values: fewer are ids by coincidence
MUCH_FEWER = 0.5  # a finer column with fewer matches than this share of a coarser one's is in doubt
SMALL_NUMBER = re.compile(r"\d{1,9}")  # may number rows
FIELDS: dict[Target, str] = {
    "call": "call_id",
    "response": "response_id",
    "trace": "trace_id",
    "conversation": "conversation",
}
"""From the finest level to the coarsest."""
LEVELS: dict[str, Target] = {
    **dict.fromkeys(("call_id", "litellm_call_id", "span_id", "observation_id", "generation_id", "run_id"), "call"),
    **dict.fromkeys(("response_id", "completion_id"), "response"),
    "trace_id": "trace",
    **dict.fromkeys(
        ("session_id", "conversation_id", "thread_id", "chat_id", "session", "conversation"), "conversation"
    ),
}
"""Names of columns that say what their ids are."""
ASK = "Name the column that says what each row judges with --outcomes-key COLUMN"


@dataclass(frozen=True, slots=True)
class FeedbackKey:
    """The column that says what is judged, and what its values are."""

    column: str
    target: Target
    matched: int
    rows: int

    @property
    def is_named(self) -> bool:
        """Whether the column's name is that of an id."""
        return normalize_name(self.column) in LEVELS


def find_key(
    raw: RawTable, calls: Sequence[CallSummary], no_ids: Sequence[str], requested: str | None = None
) -> FeedbackKey:
    """The key of a table; ``no_ids`` are normalized names of columns that mean something else. In doubt it raises."""
    names: list[str] = raw.arrow.column_names
    if requested is not None and requested not in names:
        raise UsageError(f"{raw.source} has no column {quote(requested)}; it has {join_names(names)}.")
    ids = {target: {getattr(call, name) for call in calls} - {""} for target, name in FIELDS.items()}
    possible = [requested] if requested is not None else [name for name in names if normalize_name(name) not in no_ids]
    keys = [key for name in possible if (key := _key_of(raw, name, ids)) is not None]
    if not keys:
        what = f"no column has ids of the calls; the columns are {join_names(names)}"
        other_case = _first_in_other_case(raw, possible, ids)
        if other_case is not None:
            what = f"the ids in column {quote(other_case)} differ from those of calls only in case"
        fix = "Add the id of the call, response, trace or conversation that each row judges, as the traces have it."
        raise DataError([Problem(raw.source, what, fix)])
    return keys[0] if requested is not None else _choose(raw, keys)


def trace_column(raw: RawTable, key: FeedbackKey) -> str | None:
    """The column with the traces of the calls that are judged, if the key alone may not say which calls these are."""
    names = (name for name in raw.arrow.column_names if name != key.column and normalize_name(name) == "trace_id")
    return next(names, None) if key.target == "call" else None


def with_traces(
    scores: Sequence[Score], raw: RawTable, key: FeedbackKey, calls: Sequence[CallSummary]
) -> tuple[Score, ...]:
    """The scores of calls with the trace that their rows name, if there is this call in this trace."""
    column = trace_column(raw, key)
    if column is None:
        return tuple(scores)
    traces = {raw.row_numbers.locate(raw.source, row): trace for row, trace in enumerate(raw.texts(column))}
    pairs = {(call.trace_id, call.call_id) for call in calls}
    return tuple(
        replace(one, trace_id=traces[one.origin]) if (traces[one.origin], one.target_id) in pairs else one
        for one in scores
    )


def _first_in_other_case(raw: RawTable, names: Sequence[str], ids: Mapping[Target, set[str]]) -> str | None:
    """The first column with a value that is no id, but would be one with other capital letters."""
    exact = set().union(*ids.values())
    folded = {each.casefold() for each in exact}
    texts = {name: set(raw.texts(name)) - exact for name in names}
    return next((name for name in names if not folded.isdisjoint(map(str.casefold, texts[name]))), None)


def _key_of(raw: RawTable, name: str, ids: Mapping[Target, set[str]]) -> FeedbackKey | None:
    """What a column refers to: what its name says if it has such ids, else what most of its values are."""
    texts = raw.texts(name)
    found = [
        FeedbackKey(name, target, sum(text in known for text in texts), len(texts)) for target, known in ids.items()
    ]
    enough = [key for key in found if key.matched >= max(1.0, MIN_MATCHED * key.rows)]
    named = [key for key in enough if key.target == LEVELS.get(normalize_name(name))]
    return max(named or enough, key=lambda key: key.matched, default=None)


def _choose(raw: RawTable, keys: Sequence[FeedbackKey]) -> FeedbackKey:
    sure = [key for key in keys if key.is_named or not _is_numbers(raw, key)]
    likely = sure or [key for key in keys if key.target != "conversation"]
    if not likely:
        only = keys[0]
        raise UsageError(
            f"{raw.source}: column {quote(only.column)} has small numbers, which are ids of {only.target}s, but may "
            f"number the rows. {ASK}, such as --outcomes-key {shell_argument(only.column)} if they are ids."
        )
    levels = list(FIELDS)
    finest = min(likely, key=lambda key: (levels.index(key.target), not key.is_named))
    rivals = [key for key in likely if _is_rival(raw, key, finest)]
    if rivals:
        listed = join_noted_names(
            (key.column, f" ({key.matched:,} of {key.rows:,} rows have the id of a {key.target})")
            for key in (finest, *rivals)
        )
        raise UsageError(f"{raw.source}: several columns have ids of the calls: {listed}. {ASK}.")
    return finest


def _is_numbers(raw: RawTable, key: FeedbackKey) -> bool:
    return all(SMALL_NUMBER.fullmatch(text) for text in raw.texts(key.column) if text)


def _is_rival(raw: RawTable, key: FeedbackKey, finest: FeedbackKey) -> bool:
    """Whether a column may be meant instead of the finest one."""
    if raw.texts(key.column) == raw.texts(finest.column):
        return False
    if key.target == finest.target:
        return key.is_named == finest.is_named
    return finest.matched < MUCH_FEWER * key.matched
