"""Outcomes that are written as words or signs: yes and no, thumbs, percentages."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from deconfound.data.encode import encode_by_appearance
from deconfound.errors import Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_noted_names
from deconfound.loading.convert import MISSING_WORDS, is_string_type
from deconfound.loading.raw import Column, python_value

OUTCOME_WORDS: dict[str, float] = {
    **dict.fromkeys(("yes", "y", "true", "t", "up", "thumbs up", "thumbs_up", "thumbs-up", "thumbsup"), 1.0),
    **dict.fromkeys(("like", "liked", "positive", "pass", "passed", "correct", "accepted", "good", "👍", "+1"), 1.0),
    **dict.fromkeys(("no", "n", "false", "f", "down", "thumbs down", "thumbs_down", "thumbs-down", "thumbsdown"), 0.0),
    **dict.fromkeys(("dislike", "disliked", "negative", "fail", "failed", "incorrect", "rejected", "bad", "👎"), 0.0),
}
"""What words mean unless the user says otherwise, as a share of the scale: 1 is its upper end."""

SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff\ufe0f]")
PERCENTAGE = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*%")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


UNKNOWN_WORD = "Say what every word means on your scale, with --outcome-values WORD=NUMBER,WORD=NUMBER."


@dataclass(frozen=True, slots=True)
class OutcomeScale:
    """The worst and the best outcome, if not 0 and 1, and what the user says that words mean on this scale."""

    range: tuple[float, float] | None = None
    words: Mapping[str, float] = field(default_factory=dict)

    @property
    def ends(self) -> tuple[float, float]:
        """The worst and the best outcome."""
        return self.range or (0.0, 1.0)

    def value(self, cell: object) -> float:
        """The number that a cell stands for on the user's scale; NaN if none, or if it is missing.

        The user's words go first, in any case of letters; who defines words defines all of them, since "good" beside
        "great" is not the best. Without them, known words and percentages are a share of the scale, so that "up" is its
        upper end. Any other number is itself.
        """
        word = self.match(cell)
        if word is not None:
            return self.words[word]
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
        if not self.words or cell is None:
            return None
        text = str(cell)
        if text in self.words:
            return text
        folded = _fold(text)
        same = [word for word in self.words if _fold(word) == folded or _is_number(word, cell)]
        return same[0] if same else None


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

    Without any known word the column is returned as it is: numbers, also those written as text, are read elsewhere.
    """
    kind = column.values.type.value_type if pa.types.is_dictionary(column.values.type) else column.values.type
    if pa.types.is_nested(kind) or not (is_string_type(kind) or pa.types.is_boolean(kind) or scale.words):
        return column, None
    cells, code = encode_by_appearance(column.values.cast(kind))
    distinct = [cell for cell in map(python_value, cells) if not _is_missing(cell, scale)]
    meaning = {cell: scale.value(cell) for cell in distinct}
    translated = {cell: value for cell, value in meaning.items() if scale.match(cell) or not _is_plain(cell)}
    mixed = len(translated) < len(distinct) and not scale.words  # numbers and words in one column are rather a mistake
    if mixed or all(math.isnan(value) for value in translated.values()):
        return column, None
    unknown = [math.isnan(meaning.get(cell, 0.0)) for cell in map(python_value, cells)]
    if any(unknown):
        problems.append(column.row_problem(np.array([*unknown, False])[code], "is not a known word", UNKNOWN_WORD))
    numbers = [*(meaning.get(cell, math.nan) for cell in map(python_value, cells)), math.nan]  # the last: missing
    values = pa.chunked_array([np.array(numbers, dtype=np.float64)[code]])
    known = [(cell, value) for cell, value in translated.items() if not math.isnan(value)]
    listed = join_noted_names((cell, f" = {value:g}") for cell, value in known)
    notice = Notice(
        f"{column.source}: {column.name} is read as numbers ({listed}).", "Other meanings: --outcome-values."
    )
    return replace(column, values=values), Finding("outcome words", "pass", notice)


def unknown_words(columns: Sequence[Column], scale: OutcomeScale) -> list[str]:
    """The words of the user that no outcome is."""
    if not scale.words:
        return []
    cells = {python_value(value) for column in columns for value in column.values.unique()}
    matched = {scale.match(cell) for cell in cells}
    return [word for word in scale.words if word not in matched]


def _is_missing(cell: object, scale: OutcomeScale) -> bool:
    if isinstance(cell, str):
        return _fold(cell) in MISSING_WORDS and scale.match(cell) is None
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _is_plain(cell: object) -> bool:
    """Whether a cell is a number that is read as it is."""
    return NUMBER.fullmatch(cell.strip()) is not None if isinstance(cell, str) else not isinstance(cell, bool)
