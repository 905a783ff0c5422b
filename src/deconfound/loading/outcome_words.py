"""Outcomes that are written as words or signs: yes and no, thumbs, percentages."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

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
