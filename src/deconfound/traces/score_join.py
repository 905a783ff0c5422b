"""Scores -> one number per unit and name.

A score of a call judges that call, a score of a trace the answer of the trace, and a score of a conversation its last
answer; if that answer is no unit, the score has none. Of several scores with one name, the last one of each author
counts, and the authors are averaged. Persons, judges and programs that use the same name give different scores.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.errors import DataError, Problem, UsageError
from deconfound.formatting import join_names, join_noted_names, quote
from deconfound.loading.outcome_words import OutcomeScale
from deconfound.traces.call import Author, Score
from deconfound.traces.call_table import CallSummary
from deconfound.traces.score_values import (
    Judged,
    ValueKinds,
    decided_by_order,
    doubt_about_last,
    is_missing,
    last_of,
    require_words,
)

NAMING_ORDER: tuple[Author, ...] = ("human", "unknown", "judge", "code")
"""Who keeps the name that several kinds of authors use."""

ENDED_BY_LAST = ("trace", "conversation")
"""Targets of which a score judges the last answer."""

CALL_OF_TRACE = "call of a trace"  # a target of which the trace is known, too

Key = tuple[str, Author]


@dataclass(frozen=True, slots=True, eq=False)
class JoinedScores:
    """Scores by name, as numbers per unit, and what could not be joined."""

    values: dict[str, FloatArray]  # (n,) NaN for a unit without this score
    authors: dict[str, Author]
    unmatched: int  # scores of calls, traces or conversations that are not there
    other_case: int  # of these, scores whose ids are there in capital or small letters
    not_units: int  # scores of calls that are no units
    ambiguous: int  # scores of an id that calls of several traces have
    words: Counter[str]  # values that are words without a known number
    shared: dict[str, str]  # scores that were renamed because another kind of author has used the name, and that name
    faults: dict[str, Problem]  # scores of which some value may mean another thing
    unreadable: dict[str, Problem]  # scores of which some value means nothing
    declared: frozenset[str]  # scores that the user gave as outcomes
    averaged: dict[str, int]  # how many units got a score from several authors
    by_order: dict[str, int]  # how often the order of reading decided which of an author's different scores counts


class _Targets:
    """Which unit each id belongs to; ``lost`` are calls that ended a turn, but are no units."""

    def __init__(self, calls: Sequence[CallSummary], rows: IntArray, lost: Sequence[int]) -> None:
        self.unit_of: dict[tuple[str, str], int] = {}
        self.known: set[tuple[str, str]] = set()
        self.ambiguous = _ids_of_several_traces(calls)
        for call in calls:
            self.known.update(_ids(call))
        self.folded = {(target, name.casefold()) for target, name in self.known}
        units = {int(row): unit for unit, row in enumerate(rows)}
        for row in sorted([*units, *lost], key=lambda row: (calls[row].time or 0.0, row)):
            ids = _ids(calls[row])
            if row in units:  # the last unit of a conversation is written last
                self.unit_of.update(dict.fromkeys(ids, units[row]))
                continue
            for target in ids:
                if target[0] in ENDED_BY_LAST:
                    self.unit_of.pop(target, None)


def _ids(call: CallSummary) -> list[tuple[str, str]]:
    names = {"call": call.call_id, "response": call.response_id}
    names |= {"trace": call.trace_id, "conversation": call.conversation}
    if call.trace_id and call.call_id:
        names[CALL_OF_TRACE] = f"{call.trace_id}/{call.call_id}"
    return [(target, value) for target, value in names.items() if value]


def _ids_of_several_traces(calls: Sequence[CallSummary]) -> set[tuple[str, str]]:
    """Ids of calls that occur in more than one trace: ids of spans are unique only within theirs."""
    trace_of: dict[str, str] = {}
    return {("call", one.call_id) for one in calls if trace_of.setdefault(one.call_id, one.trace_id) != one.trace_id}


def _target_of(score: Score) -> tuple[str, str]:
    if score.target == "call" and score.trace_id:
        return CALL_OF_TRACE, f"{score.trace_id}/{score.target_id}"
    return score.target, score.target_id


@dataclass(slots=True)
class _Found:
    """What is known about each score after all were read, by name and kind of author."""

    judged: dict[Key, dict[tuple[int, str], list[Judged]]] = field(default_factory=dict)  # by unit and author
    kinds: dict[Key, ValueKinds] = field(default_factory=dict)
    words: Counter[str] = field(default_factory=Counter)
    unmatched: int = 0
    other_case: int = 0
    not_units: int = 0
    ambiguous: int = 0
    declared: set[Key] = field(default_factory=set)


def join_scores(
    calls: Sequence[CallSummary],
    rows: IntArray,
    scores: Sequence[Score],
    words: Mapping[str, float | None],
    lost: Sequence[int] = (),
) -> JoinedScores:
    """Numbers per unit; ``rows`` are the units, ``words`` what texts mean beyond the usual ones.

    ``lost`` are the last calls of turns that could not be used: a score of their trace or conversation judges them.
    """
    scale = OutcomeScale.from_values(None, words)
    require_words(scores, scale)
    found = _find(_Targets(calls, rows, lost), scores, scale)
    names = _result_names(found.judged)
    values = {names[key]: _averages(judged, len(rows)) for key, judged in found.judged.items()}
    faults = {names[key]: _fault(found, key, scale) for key in found.judged}
    unreadable = {names[key]: found.kinds[key].unreadable() for key in found.judged}
    by_order = {names[key]: sum(map(decided_by_order, judged.values())) for key, judged in found.judged.items()}
    return JoinedScores(
        values=values,
        authors={names[key]: key[1] for key in found.judged},
        unmatched=found.unmatched,
        other_case=found.other_case,
        not_units=found.not_units,
        ambiguous=found.ambiguous,
        words=found.words,
        shared={name: key[0] for key, name in names.items() if name != key[0]},
        faults={name: problem for name, problem in faults.items() if problem is not None},
        unreadable={name: problem for name, problem in unreadable.items() if problem is not None},
        averaged={names[key]: count for key, judged in found.judged.items() if (count := _n_averaged(judged))},
        declared=frozenset(names[key] for key in found.declared & found.judged.keys()),
        by_order={name: count for name, count in by_order.items() if count and faults[name] is None},
    )


def _find(targets: _Targets, scores: Sequence[Score], scale: OutcomeScale) -> _Found:
    found = _Found()
    for number, score in enumerate(scores):
        if is_missing(score.value, scale):
            continue
        target = _target_of(score)
        if target in targets.ambiguous:
            found.ambiguous += 1
            continue
        unit = targets.unit_of.get(target)
        if unit is None:
            found.unmatched += target not in targets.known
            found.other_case += target not in targets.known and (target[0], target[1].casefold()) in targets.folded
            found.not_units += target in targets.known
            continue
        key = (score.name, score.author)
        if score.declared and score.author == "unknown":
            found.declared.add(key)
        value = found.kinds.setdefault(key, ValueKinds()).add(score, scale)
        if math.isnan(value):
            found.words[str(score.value)] += 1
        else:
            by_author = found.judged.setdefault(key, {})
            by_author.setdefault((unit, score.author_id), []).append(Judged(value, number, score))
    return found


def _result_names(keys: Collection[Key]) -> dict[Key, str]:
    """A name for each score: the recorded one, with the kind of author if another kind has it already."""
    names: dict[Key, str] = {}
    taken, used = {name for name, _ in keys}, set[str]()
    for key in sorted(keys, key=lambda key: NAMING_ORDER.index(key[1])):
        name = key[0]
        if key[0] in used:
            name = f"{key[0]}_{key[1]}"
            while name in taken:
                name += "_"
        taken.add(name)
        used.add(key[0])
        names[key] = name
    return names


def _averages(judged: Mapping[tuple[int, str], list[Judged]], n_units: int) -> FloatArray:
    by_unit: dict[int, list[float]] = {}
    for (unit, _), given in judged.items():
        by_unit.setdefault(unit, []).append(last_of(given))
    values = np.full(n_units, np.nan)
    for unit, given_by_authors in by_unit.items():
        values[unit] = float(np.mean(given_by_authors))
    return values


def _n_averaged(judged: Mapping[tuple[int, str], list[Judged]]) -> int:
    return sum(count > 1 for count in Counter(unit for unit, _ in judged).values())


def _fault(found: _Found, key: Key, scale: OutcomeScale) -> Problem | None:
    doubts = (doubt_about_last(given) for given in found.judged[key].values())
    return found.kinds[key].mixture(scale) or next((doubt for doubt in doubts if doubt is not None), None)


def choose_outcomes(joined: JoinedScores, requested: Sequence[str] = ()) -> tuple[str, ...]:
    """The names of the scores that are outcomes, one unless several are requested; in doubt the user is asked.

    An outcome of which some value cannot be read, or may mean another thing, raises.
    """
    outcomes = _requested_names(joined, requested) or _outcome_name(joined)
    problems = [joined.faults.get(name) or joined.unreadable.get(name) for name in outcomes]
    found = [problem for problem in problems if problem is not None]
    if found:
        raise DataError(found)
    return outcomes


def _requested_names(joined: JoinedScores, requested: Sequence[str]) -> tuple[str, ...]:
    for name in requested:
        if name not in joined.values:
            there = f"there are {join_names(joined.values)}" if joined.values else "there are none"
            raise UsageError(f"--outcome: there is no score {quote(name)}; {there}.")
    return tuple(dict.fromkeys(requested))


def _outcome_name(joined: JoinedScores) -> tuple[str, ...]:
    """The only score that may be the outcome by itself; empty without scores."""
    if asks_for_outcome(joined):
        counts = {name: int(np.isfinite(values).sum()) for name, values in joined.values.items()}
        listed = join_noted_names((name, f" ({joined.authors[name]}, {count:,})") for name, count in counts.items())
        raise UsageError(f"Which score is the outcome? Choose one with --outcome NAME: {listed}.")
    return _likely_outcomes(joined)


def asks_for_outcome(joined: JoinedScores) -> bool:
    """Whether the user must say which score is the outcome."""
    return bool(joined.values) and len(_likely_outcomes(joined)) != 1


def _likely_outcomes(joined: JoinedScores) -> tuple[str, ...]:
    """Scores that a person gave, or that the user gave as outcomes."""
    human = [name for name, author in joined.authors.items() if author == "human"]
    unknown = [name for name, author in joined.authors.items() if author == "unknown"]
    chosen = [*human, *(name for name in unknown if name in joined.declared or joined.shared.get(name) in human)]
    return tuple(chosen)
