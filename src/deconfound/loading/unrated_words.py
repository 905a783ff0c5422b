"""Words that usually stand for no rating: a message suggests to declare them missing, nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from deconfound.formatting import quote, shell_argument

SIGNS = re.compile(r"[-–—_.?*/()\[\]#<> ]+")
UNRATED = frozenset(
    (
        *("unrated", "not rated", "no rating", "never rated", "rating missing", "missing", "skipped", "skip", "blank"),
        *("no feedback", "no vote", "no answer", "no response", "no score", "not answered", "unanswered", "empty"),
        *(
            "not available",
            "unavailable",
            "unknown",
            "undefined",
            "pending",
            "nil",
            "no data",
            "not given",
            "dismissed",
        ),
    )
)
MAX_SUGGESTED = 5  # words in an option


def looks_unrated(word: str) -> bool:
    """Whether a word, or a sign without letters such as "-", usually stands for no rating."""
    plain = " ".join(re.sub(r"[\W_]+", " ", word).lower().split())
    return plain in UNRATED or SIGNS.fullmatch(word.strip()) is not None


def missing_words_hint(words: Iterable[object]) -> str:
    """What to write for those of the words that look like no rating; empty if none does."""
    likely = [word for word in dict.fromkeys(map(str, words)) if looks_unrated(word) and not set("=,") & set(word)]
    if not likely:
        return ""
    option = f"--outcome-values {shell_argument(missing_values(likely[:MAX_SUGGESTED]))}"
    verb = "stands" if len(likely) == 1 else "stand"
    return f"If {' and '.join(map(quote, likely[:MAX_SUGGESTED]))} {verb} for no rating, pass {option}. "


def missing_values(words: Sequence[str]) -> str:
    """The value of --outcome-values that declares words missing."""
    return ",".join(f"{word}=missing" for word in words)
