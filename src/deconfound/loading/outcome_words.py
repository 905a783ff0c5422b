"""Outcomes that are written as words or signs: yes and no, thumbs, percentages."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from deconfound.data.encode import encode_by_appearance
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_noted_names
from deconfound.loading.convert import MISSING_WORDS, is_string_type
from deconfound.loading.raw import Column

OUTCOME_WORDS: dict[str, float] = {
    **dict.fromkeys(("yes", "y", "true", "t", "up", "thumbs up", "thumbs_up", "thumbs-up", "thumbsup"), 1.0),
    **dict.fromkeys(("like", "liked", "positive", "pass", "passed", "correct", "accepted", "good", "👍", "+1"), 1.0),
    **dict.fromkeys(("no", "n", "false", "f", "down", "thumbs down", "thumbs_down", "thumbs-down", "thumbsdown"), 0.0),
    **dict.fromkeys(("dislike", "disliked", "negative", "fail", "failed", "incorrect", "rejected", "bad", "👎"), 0.0),
}
"""What words mean unless the user says otherwise."""

SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff\ufe0f]")
PERCENTAGE = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*%")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def word_value(text: str, words: Mapping[str, float] | None = None) -> float:
    """The number that a text stands for: a number, a percentage or a known word; NaN if none.

    ``words`` are the user's own, which are tried first, as they are written and in lower case.
    """
    stripped = SKIN_TONES.sub("", text.strip())
    for given in (text, stripped, stripped.lower()):
        if words and given in words:
            return words[given]
    if stripped.lower() in OUTCOME_WORDS:
        return OUTCOME_WORDS[stripped.lower()]
    percentage = PERCENTAGE.fullmatch(stripped)
    if percentage:
        return float(percentage[1].replace(",", ".")) / 100.0
    return float(stripped) if NUMBER.fullmatch(stripped) else math.nan


def translate_words(column: Column, words: Mapping[str, float]) -> tuple[Column, Finding | None]:
    """The column with words as numbers, and a finding that names them; unchanged if a word is unknown.

    Without any word the column is returned as it is: numbers that are written as text are read elsewhere.
    """
    kind = column.values.type.value_type if pa.types.is_dictionary(column.values.type) else column.values.type
    if not is_string_type(kind):
        return column, None
    texts, code = encode_by_appearance(column.values.cast(pa.string()))
    distinct = [text for text in texts.to_pylist() if text.strip().lower() not in MISSING_WORDS]
    meaning = {text: word_value(text, words) for text in distinct}
    translated = {text: value for text, value in meaning.items() if not NUMBER.fullmatch(text.strip())}
    mixed = len(translated) < len(distinct) and not words  # numbers and words in one column are rather a mistake
    if not translated or mixed or any(math.isnan(value) for value in meaning.values()):
        return column, None
    numbers = [meaning.get(text, math.nan) for text in texts.to_pylist()]
    values = np.append(np.array(numbers, dtype=np.float64), np.nan)[code]  # the last is that of missing cells
    listed = join_noted_names((text, f" = {value:g}") for text, value in translated.items())
    notice = Notice(
        f"{column.source}: {column.name} is read as numbers ({listed}).", "Other meanings: --outcome-values."
    )
    return replace(column, values=pa.chunked_array([values])), Finding("outcome words", "pass", notice)
