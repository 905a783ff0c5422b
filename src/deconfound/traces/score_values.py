"""What the recorded values of scores mean, and whether those of one score mean it on one scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from deconfound.errors import DataError, Problem
from deconfound.formatting import join_names, quote
from deconfound.loading.outcome_words import OutcomeScale, is_graded, is_plain
from deconfound.loading.unrated_words import missing_words_hint
from deconfound.traces.call import Score

WORD, GRADE, NUMBER, END, UNKNOWN = "word", "grade", "number", "end of the scale", "unknown"
MAX_LISTED = 10  # values in a message
UNKNOWN_TIME = "Write a time that can be read, such as 2026-05-01T13:00:00Z, or remove the scores that do not count."


@dataclass(frozen=True, slots=True)
class Judged:
    """A score as a number, with what decides whether it is the last one."""

    value: float
    number: int  # in the order of reading
    score: Score


@dataclass(slots=True)
class ValueKinds:
    """The first value of each kind among those of a score: words, percentages, numbers, and words without a meaning."""

    first: dict[str, Score] = field(default_factory=dict)

    def add(self, score: Score, scale: OutcomeScale) -> float:
        """Look at one more value; the number that it means, NaN if none."""
        value = scale.value(score.value)
        is_known = math.isfinite(value)
        self.first.setdefault(_kind(score.value, value, scale) if is_known else UNKNOWN, score)
        return value if is_known else math.nan

    def mixture(self, scale: OutcomeScale) -> Problem | None:
        """The problem of numbers and words under one name, of which the words may mean another scale.

        A 1 beside yes and a 0 beside no mean the same; beside a percentage or a grade no number does for certain.
        """
        word = self.first.get(GRADE) or self.first.get(WORD)
        number = self.first.get(NUMBER) or (self.first.get(END) if GRADE in self.first else None)
        if number is None or word is None or scale.words:
            return None
        pair = f"{quote(word.value)} here and {quote(number.value)} in {number.origin}"
        what = f"the score {quote(word.name)} has words and numbers: {pair}"
        return Problem(
            word.origin, what, "Write all in one way, or say what the words mean: --outcome-values WORD=X,..."
        )

    def unreadable(self) -> Problem | None:
        """The problem of a word that means no number."""
        unknown = self.first.get(UNKNOWN)
        if unknown is None:
            return None
        what = f"the score {quote(unknown.name)} is {quote(unknown.value)}, which means no number"
        fix = "Say what every word means: --outcome-values WORD=NUMBER,... or WORD=missing."
        return Problem(unknown.origin, what, missing_words_hint([unknown.value]) + fix)


def is_missing(value: float | bool | str, scale: OutcomeScale) -> bool:
    """Whether a value stands for no score; a word for missing values may be one of the user's."""
    return scale.is_missing(value)


def last_of(judged: Sequence[Judged]) -> float:
    """The last score that an author gave; without times, or at one time, the last one that was read."""
    return max(judged, key=lambda one: (-math.inf if one.score.time is None else one.score.time, one.number)).value


def doubt_about_last(judged: Sequence[Judged]) -> Problem | None:
    """The problem of different scores by one author of which some lack a time that others, or their source, have."""
    untimed = [one.score for one in judged if one.score.time is None]
    timed = [one.score for one in judged if one.score.time is not None]
    is_gap = bool(timed) or any(score.is_dated for score in untimed)
    if not untimed or not is_gap or len({one.value for one in judged}) == 1:
        return None
    other = (timed or untimed[1:])[0]
    what = f"the score has no time that can be read, so it is unknown whether it or that in {other.origin} is the last"
    return Problem(untimed[0].origin, what, UNKNOWN_TIME)


def decided_by_order(judged: Sequence[Judged]) -> bool:
    """Whether no time says which of an author's different scores is the last one."""
    times = [-math.inf if one.score.time is None else one.score.time for one in judged]
    return len({one.value for one, time in zip(judged, times, strict=True) if time == max(times)}) > 1


def require_words(scores: Iterable[Score], scale: OutcomeScale) -> None:
    """Refuse words of the user that no score is: they are probably written differently there."""
    if not scale.named:
        return
    values = list(dict.fromkeys((type(score.value), score.value) for score in scores))
    matched = {scale.match(value) for _, value in values}
    unused = [word for word in scale.named if word not in matched]
    if unused:
        there = f"there are {join_names([value for _, value in values[:MAX_LISTED]])}" if values else "there are none"
        what = f"no score is {join_names(unused)}, which --outcome-values names; {there}"
        raise DataError([Problem("scores", what, "Correct the word, or leave it out.")])


def _kind(given: float | bool | str, value: float, scale: OutcomeScale) -> str:
    """How a value is written that means a number."""
    if scale.match(given) is not None:
        return WORD
    if is_plain(given):
        return END if scale.agrees_with_words(value) else NUMBER
    return GRADE if is_graded(given) else WORD
