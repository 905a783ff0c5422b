"""Contexts of the experiment that the replay does not have at all: how many, and what they look like there instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Sequence
from itertools import islice

import numpy as np

from deconfound.data.tables import Experiment, Replay
from deconfound.errors import Problem
from deconfound.formatting import quote

MIN_ABSENT_SHARE = 0.5  # of the contexts; where fewer are absent, some were simply not replayed
MIN_EXPLAINED_SHARE = 0.5  # of the absent contexts; a difference that explains fewer is a coincidence
MAX_COMPARED = 500  # replayed contexts among which the nearest one is searched
COMPARED_CHARACTERS = 500
MAX_TRIED = 20  # replayed contexts that contain the first absent one, or are part of it
MIN_SHARED_END = 8  # characters of a context that another one ends or begins with
SYSTEM_MESSAGE = re.compile(r"^system: .*?\n\n(?=\w+: )", re.DOTALL)
ONLY_QUESTION = re.compile(r"^user: (?!.*\n\n(?:user|assistant|system|tool): )", re.DOTALL)
FIX = "Write contexts in the same way in all tables, or replay those of the experiment: see `deconfound replay --help`."


def _without_system(text: str) -> str:
    """A conversation without its system message; a single question is just its text."""
    return ONLY_QUESTION.sub("", SYSTEM_MESSAGE.sub("", text))


Difference = tuple[str, Callable[[str], str]]
DIFFERENCES: tuple[Difference, ...] = (
    ("spaces", lambda text: " ".join(text.split())),
    ("case", str.casefold),
    ("leading zeros", lambda text: text.lstrip("0") if text.isdigit() else text),
    ("the mark of the role", lambda text: ONLY_QUESTION.sub("", text)),
    ("a system message", _without_system),
)
"""In which way contexts may be written differently, and how to remove it."""


def absent_problem(experiment: Experiment, replay: Replay) -> Problem | None:
    """The problem of an experiment most of whose contexts are in no row of the replay; None if fewer are absent."""
    is_text = all("context" in table.arrow.column_names for table in (experiment, replay))
    column = "context" if is_text else "context_id"
    replayed = replay.unique_values(column)
    contexts = experiment.arrow[column].to_pylist()
    absent = list(dict.fromkeys(text for text in contexts if text not in replayed))
    total = len(set(contexts))
    if not total or len(absent) < MIN_ABSENT_SHARE * total or not replayed:
        return None
    row = int(np.flatnonzero([text == absent[0] for text in contexts])[0])
    found = total - len(absent)
    share = f"only {found:,} of the experiment's {total:,} contexts {'is' if found == 1 else 'are'}"
    share = share if found else f"none of the experiment's {total:,} contexts is"
    what = f"{share} in {replay.source}; this row has {quote(absent[0])}"
    return Problem(experiment.locate(row), what, f"{_explain(absent, replayed)} {FIX}")


def _explain(absent: Sequence[str], replayed: Collection[str]) -> str:
    """What most absent contexts look like in the replay, else the replayed one that is nearest to the first."""
    ordered = sorted(replayed)
    for description, remove in DIFFERENCES:
        by_folded = {remove(text): text for text in reversed(ordered)}
        pairs = [(text, by_folded[remove(text)]) for text in absent if remove(text) in by_folded]
        if len(pairs) >= MIN_EXPLAINED_SHARE * len(absent):
            return _sentence(*pairs[0], f"only in {description}")
    return _added_text(absent, ordered) or f"The nearest context there is {quote(_nearest(absent[0], ordered))}."


def _sentence(text: str, other: str, difference: str) -> str:
    return f"Contexts differ from replayed ones {difference}: {quote(text)} here, {quote(other)} there."


def _added_text(absent: Sequence[str], replayed: Sequence[str]) -> str:
    """The text that one table has before or after every context; empty if there is none."""
    present, first = set(replayed), absent[0]
    others = (other for other in replayed if min(len(other), len(first)) >= MIN_SHARED_END)
    for other in islice((other for other in others if first in other or other in first), MAX_TRIED):
        longer, shorter = (other, first) if len(other) > len(first) else (first, other)
        before, _, after = longer.partition(shorter)
        if longer == other:
            explained = sum(f"{before}{text}{after}" in present for text in absent)
        else:
            explained = sum(_between(text, before, after) in present for text in absent)
        if explained >= MIN_EXPLAINED_SHARE * len(absent):
            added = " and ".join(quote(part) for part in (before, after) if part)
            return _sentence(first, other, f"only in the added {added}")
    return ""


def _between(text: str, before: str, after: str) -> str:
    """The middle of a text; all of it if it has another beginning or end."""
    return text.removeprefix(before).removesuffix(after)


def _nearest(text: str, replayed: Sequence[str]) -> str:
    cut = {other[:COMPARED_CHARACTERS]: other for other in replayed[:MAX_COMPARED]}
    near = difflib.get_close_matches(text[:COMPARED_CHARACTERS], list(cut), n=1, cutoff=0.0)
    return cut[near[0]] if near else replayed[0]
