"""Scores -> one number per unit and name.

A score of a call judges that call, a score of a trace the answer of the trace, and a score of a conversation its last
answer. Of several scores with one name, the last one of each author counts, and the authors are averaged.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.formatting import join_names, join_noted_names, quote
from deconfound.loading.outcome_words import OutcomeScale
from deconfound.traces.call import Author, Score
from deconfound.traces.call_table import CallSummary

OUTCOME_AUTHORS: tuple[Author, ...] = ("human", "unknown")
"""Authors whose scores may be outcomes by themselves; those of judges and programs become labels."""


@dataclass(frozen=True, slots=True, eq=False)
class JoinedScores:
    """Scores by name, as numbers per unit, and what could not be joined."""

    values: dict[str, FloatArray]  # (n,) NaN for a unit without this score
    authors: dict[str, Author]
    unmatched: int  # scores of calls, traces or conversations that are not there
    not_units: int  # scores of calls that are no units
    words: Counter[str]  # values that are words without a known number


class _Targets:
    """Which unit each id belongs to."""

    def __init__(self, calls: Sequence[CallSummary], rows: IntArray) -> None:
        self.unit_of: dict[tuple[str, str], int] = {}
        self.known: set[tuple[str, str]] = set()
        for call in calls:
            self.known.update(_ids(call))
        order = sorted(range(len(rows)), key=lambda unit: calls[int(rows[unit])].time or 0.0)
        for unit in order:  # the last unit of a conversation is written last
            self.unit_of.update(dict.fromkeys(_ids(calls[int(rows[unit])]), unit))


def _ids(call: CallSummary) -> list[tuple[str, str]]:
    names = {"call": call.call_id, "response": call.response_id}
    names |= {"trace": call.trace_id, "conversation": call.conversation}
    return [(target, value) for target, value in names.items() if value]


def join_scores(
    calls: Sequence[CallSummary], rows: IntArray, scores: Iterable[Score], words: Mapping[str, float]
) -> JoinedScores:
    """Numbers per unit; ``rows`` are the units, ``words`` what texts mean beyond the usual ones."""
    targets = _Targets(calls, rows)
    last: dict[tuple[str, int], dict[str, tuple[float, int, float]]] = {}
    authors: dict[str, Author] = {}
    unknown: Counter[str] = Counter()
    unmatched = not_units = 0
    for number, score in enumerate(scores):
        key = (score.target, score.target_id)
        value = _number(score.value, words)
        if key not in targets.unit_of:
            unmatched, not_units = unmatched + (key not in targets.known), not_units + (key in targets.known)
        elif math.isnan(value):
            unknown[str(score.value)] += 1
        else:
            authors.setdefault(score.name, score.author)
            by_author = last.setdefault((score.name, targets.unit_of[key]), {})
            moment = (math.inf if score.time is None else score.time, number)
            if score.author_id not in by_author or by_author[score.author_id][:2] <= moment:
                by_author[score.author_id] = (*moment, value)
    values = {name: np.full(len(rows), np.nan) for name in authors}
    for (name, unit), by_author in last.items():
        values[name][unit] = float(np.mean([value for _, _, value in by_author.values()]))
    return JoinedScores(values, authors, unmatched, not_units, unknown)


def choose_outcome(joined: JoinedScores, requested: str | None) -> str | None:
    """The name of the score that is the outcome; None without scores. In doubt the user is asked."""
    if requested is not None:
        if requested not in joined.values:
            raise UsageError(f"--outcome: there is no score {quote(requested)}; there are {join_names(joined.values)}.")
        return requested
    candidates = [name for name, author in joined.authors.items() if author in OUTCOME_AUTHORS]
    human = [name for name in candidates if joined.authors[name] == "human"]
    chosen = human or candidates
    if len(chosen) > 1 or (joined.values and not chosen):
        counts = {name: int(np.isfinite(values).sum()) for name, values in joined.values.items()}
        listed = join_noted_names((name, f" ({joined.authors[name]}, {count:,})") for name, count in counts.items())
        raise UsageError(f"Which score is the outcome? Choose one with --outcome NAME: {listed}.")
    return chosen[0] if chosen else None


def _number(value: float | bool | str, words: Mapping[str, float]) -> float:
    number = OutcomeScale(None, words).value(value)
    return number if math.isfinite(number) else math.nan
