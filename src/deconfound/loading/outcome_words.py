"""Outcomes that are written as words or signs: yes and no, thumbs, percentages."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import pyarrow as pa

from deconfound.data import Mask
from deconfound.data.encode import encode_by_appearance
from deconfound.errors import Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_noted_names, quote
from deconfound.loading.convert import MISSING_WORDS, is_string_type
from deconfound.loading.raw import Column, python_value
from deconfound.loading.unrated_words import missing_words_hint

OUTCOME_WORDS: dict[str, float] = {
    **dict.fromkeys(("yes", "y", "true", "t", "up", "thumbs up", "thumbs_up", "thumbs-up", "thumbsup"), 1.0),
    **dict.fromkeys(("like", "liked", "positive", "pass", "passed", "correct", "accepted", "good", "👍", "+1"), 1.0),
    **dict.fromkeys(("no", "n", "false", "f", "down", "thumbs down", "thumbs_down", "thumbs-down", "thumbsdown"), 0.0),
    **dict.fromkeys(("dislike", "disliked", "negative", "fail", "failed", "incorrect", "rejected", "bad", "👎"), 0.0),
}
"""What words mean unless the user says otherwise, as a share of the scale: 1 is its upper end."""

GRADES = ("good", "bad", "positive", "negative")  # there may be others between them or beyond
SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff\ufe0f]")
PERCENTAGE = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*%")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
UNKNOWN_WORD = (
    "Say what every word means on your scale, with --outcome-values WORD=NUMBER,WORD=NUMBER, or WORD=missing for one "
    "that stands for no rating."
)


@dataclass(frozen=True, slots=True)
class OutcomeScale:
    """The worst and the best outcome, if not 0 and 1, and what the user says that words mean on this scale.

    ``missing`` are words and numbers that stand for no outcome.
    """

    range: tuple[float, float] | None = None
    words: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @classmethod
    def from_values(cls, outcome_range: tuple[float, float] | None, values: Mapping[str, float | None]) -> Self:
        """The scale with the user's words, of which those without a number are missing outcomes."""
        words = {word: number for word, number in values.items() if number is not None and not math.isnan(number)}
        return cls(outcome_range, words, tuple(word for word in values if word not in words))

    @property
    def ends(self) -> tuple[float, float]:
        """The worst and the best outcome."""
        return self.range or (0.0, 1.0)

    @property
    def named(self) -> tuple[str, ...]:
        """Every word and number that the user says something about."""
        return (*self.words, *self.missing)

    def value(self, cell: object) -> float:
        """The number that a cell stands for on the user's scale; NaN if none, or if it is missing.

        The user's words go first, in any case of letters; who defines words defines all of them, since "good" beside
        "great" is not the best. Without them, known words and percentages are a share of the scale, so that "up" is its
        upper end. Any other number is itself.
        """
        word = self.match(cell)
        if word is not None:
            return self.words.get(word, math.nan)
        if isinstance(cell, str) and NUMBER.fullmatch(cell.strip()):
            return float(cell)
        if self.words and isinstance(cell, str):
            return math.nan
        if isinstance(cell, str | bool):
            low, high = self.ends
            return low + (high - low) * (float(cell) if isinstance(cell, bool) else _share(cell))
        return float(cell) if isinstance(cell, int | float) else math.nan

    def match(self, cell: object) -> str | None:
        """The user's word that a cell is; a number may be written differently, such as 1 and 1.0."""
        if not self.named or cell is None:
            return None
        text = str(cell)
        if text in self.named:
            return text
        folded = _fold(text)
        same = [word for word in self.named if _fold(word) == folded or _is_number(word, cell)]
        return same[0] if same else None

    def is_missing(self, cell: object) -> bool:
        """Whether a cell stands for no outcome: it is empty, a usual word for that, or one of the user's."""
        word = self.match(cell)
        if word is not None:
            return word not in self.words
        if isinstance(cell, str):
            return _fold(cell) in MISSING_WORDS
        return cell is None or (isinstance(cell, float) and math.isnan(cell))

    def agrees_with_words(self, number: float) -> bool:
        """Whether a number can stand beside yes and no: it is an end of the scale, also if 1 means yes and 0 no."""
        low, high = self.ends
        return number in (low, high) and (number not in (0.0, 1.0) or low + (high - low) * number == number)


def _is_percentage(cell: object) -> bool:
    """Whether a cell is a number with the sign %."""
    return isinstance(cell, str) and PERCENTAGE.fullmatch(_fold(cell)) is not None


def is_graded(cell: object) -> bool:
    """Whether a word or percentage may be one of several grades, so that no number beside it is certain to mean it."""
    return _is_percentage(cell) or (isinstance(cell, str) and _fold(cell) in GRADES)


def is_plain(cell: object) -> bool:
    """Whether a cell is a number that is read as it is."""
    return NUMBER.fullmatch(cell.strip()) is not None if isinstance(cell, str) else not isinstance(cell, bool)


def _share(text: str) -> float:
    """The share of the scale that a known word or a percentage stands for; NaN if it is neither."""
    folded = _fold(text)
    percentage = PERCENTAGE.fullmatch(folded)
    return float(percentage[1].replace(",", ".")) / 100.0 if percentage else OUTCOME_WORDS.get(folded, math.nan)


def _fold(text: str) -> str:
    return SKIN_TONES.sub("", text.strip()).lower()


def _is_number(word: str, cell: object) -> bool:
    """Whether a word is the number in a cell."""
    if isinstance(cell, bool) or not NUMBER.fullmatch(word.strip()):
        return False
    if isinstance(cell, str):
        return bool(NUMBER.fullmatch(cell.strip())) and float(cell) == float(word)
    return isinstance(cell, int | float) and float(cell) == float(word)


def translate_words(column: Column, scale: OutcomeScale, problems: list[Problem]) -> tuple[Column, Finding | None]:
    """The column with words as numbers, and a finding that names them; unknown words among known ones are a problem.

    So are numbers that cannot stand beside words: a 4 beside "yes". Without any known word the column is returned as it
    is: numbers, also those written as text, are read elsewhere.
    """
    kind = column.values.type.value_type if pa.types.is_dictionary(column.values.type) else column.values.type
    if pa.types.is_nested(kind) or not (is_string_type(kind) or pa.types.is_boolean(kind) or scale.named):
        return column, None
    distinct, code = encode_by_appearance(column.values.cast(kind))
    cells = list(map(python_value, distinct))
    meanings = _Meanings.of(cells, scale)
    if not meanings.words:
        return column, None
    masks = [np.array([*(cell in kind for cell in cells), False])[code] for kind in meanings.kinds]  # the last: missing
    problems += _faults(column, meanings, *masks)
    numbers = [*(meanings.number(cell) for cell in cells), math.nan]
    values = pa.chunked_array([np.array(numbers, dtype=np.float64)[code]])
    listed = join_noted_names(
        (cell, f" = {number:g}") for cell, number in {**meanings.words, **meanings.beside}.items()
    )
    notice = Notice(
        f"{column.source}: {column.name} is read as numbers ({listed}).", "Other meanings: --outcome-values."
    )
    return replace(column, values=values), Finding("outcome words", "pass", notice)


@dataclass(frozen=True, slots=True)
class _Meanings:
    """What the different cells of a column mean, without those for missing outcomes."""

    words: dict[object, float]  # with a known meaning
    unknown: dict[object, float]
    numbers: dict[object, float]
    beside: dict[object, float]  # the numbers among them that mean the same as words do; none without known words
    has_user_words: bool

    @classmethod
    def of(cls, cells: Iterable[object], scale: OutcomeScale) -> Self:
        values = {cell: scale.value(cell) for cell in cells if not scale.is_missing(cell)}
        words = {cell: value for cell, value in values.items() if scale.match(cell) or not is_plain(cell)}
        known = {cell: value for cell, value in words.items() if not math.isnan(value)}
        unknown = {cell: value for cell, value in words.items() if math.isnan(value)}
        numbers = {cell: value for cell, value in values.items() if cell not in words}
        comparable = bool(known) and not scale.words and not any(map(is_graded, known))
        beside = {cell: value for cell, value in numbers.items() if comparable and scale.agrees_with_words(value)}
        return cls(known, unknown, numbers, beside, bool(scale.words))

    def number(self, cell: object) -> float:
        """The number that a cell stands for; NaN if it is missing, or a problem."""
        return self.words.get(cell, (self.numbers if self.has_user_words else self.beside).get(cell, math.nan))

    @property
    def contradictory(self) -> dict[object, float]:
        """Numbers that mean another scale than the words beside them, or may."""
        others = {cell: value for cell, value in self.numbers.items() if cell not in self.beside}
        return {} if self.has_user_words else others

    @property
    def kinds(self) -> tuple[Mapping[object, float], ...]:
        """Words with a meaning, words without one, and contradictory numbers."""
        return self.words, self.unknown, self.contradictory


def _faults(column: Column, meanings: _Meanings, words: Mask, unknown: Mask, contradictory: Mask) -> list[Problem]:
    """Unknown words, and whichever there are fewer of: words among numbers or numbers among words."""
    fix = missing_words_hint(meanings.unknown) + UNKNOWN_WORD
    problems = [column.row_problem(unknown, "is not a known word", fix)] if unknown.any() else []
    if not contradictory.any():
        return problems
    word, value = next(iter(meanings.words.items()))
    fix = f"Write one number, or {UNKNOWN_WORD[0].lower()}{UNKNOWN_WORD[1:]}"
    if words.sum() < contradictory.sum():
        description = f"is a word among numbers such as {next(iter(meanings.contradictory.values())):g}"
        return [*problems, column.row_problem(words, description, fix)]
    description = f"is a number among words such as {quote(word)}, which would mean {value:g}"
    return [*problems, column.row_problem(contradictory, description, fix)]


def unknown_words(columns: Sequence[Column], scale: OutcomeScale) -> list[str]:
    """The words of the user that no outcome is."""
    if not scale.named:
        return []
    cells = {python_value(value) for column in columns for value in column.values.unique()}
    matched = {scale.match(cell) for cell in cells}
    return [word for word in scale.named if word not in matched]
