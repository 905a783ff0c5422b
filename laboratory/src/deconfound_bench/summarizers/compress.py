"""Shorten sentences by rule: whole phrases are removed, and nothing is reworded."""

from __future__ import annotations

import re
from collections.abc import Sequence

MIN_WORDS = 4  # a rule that would leave fewer words is not applied

# fmt: off
# Words in -ly that are not adverbs, or whose removal would reverse the meaning.
NO_ADVERBS = (
    "ally", "anomaly", "apply", "assembly", "belly", "bully", "butterfly", "comply", "costly", "daily", "deadly",
    "early", "elderly", "family", "fly", "folly", "friendly", "hardly", "holy", "hourly", "imply", "jelly", "likely",
    "lively", "lonely", "lovely", "melancholy", "monopoly", "monthly", "multiply", "nearly", "only", "quarterly",
    "rally", "rely", "reply", "scholarly", "silly", "supply", "tally", "ugly", "unlikely", "weekly", "yearly",
)
# fmt: on

_SAYS = r"(?:said|says|told|added|adds|announced|stated|noted|reported|explained|claimed|confirmed|warned)"
_NAME = r"(?:[\w.’'-]+\s+){1,6}?"
_UP_TO_COMMA = r"[^,;:]+(?:,(?= )|(?=[.!?;:]))"
PARENTHETICALS = (
    re.compile(r"\s*\([^()]*\)|\s*\[[^\[\]]*\]"),
    re.compile(r"\s+(?:—|–|--)\s+[^—–]{1,200}?\s+(?:—|–|--)(?=\s)|—[^—]{1,200}—"),
)
ATTRIBUTIONS = (
    re.compile(r"^According to [^,]{1,80}, (?:(?:an?|the) [^,]{1,80}, )?"),
    re.compile(rf"^{_NAME}{_SAYS} (?:on \w+ )?that "),
    re.compile(r", according to [^,;]{1,80}(?=[.!?]$)"),
    re.compile(rf",([”\"]?) (?:{_NAME}{_SAYS}\b[^,;“\"]{{0,60}}|{_SAYS} [^,;“\"]{{1,60}})(?=[.!?]$)"),
)
CLAUSES = (
    re.compile(rf", (?:which|who|whose|whom|where|after|before|since|as|when|if|unless) {_UP_TO_COMMA}"),
    re.compile(rf", [a-z]+ing {_UP_TO_COMMA}"),
    # These are mostly at the end of a sentence and contain commas themselves.
    re.compile(r", (?:although|though|while|whereas|because) [^;:“\"]+(?=[.!?]$)"),
    re.compile(r"^(?:Although|Though|While|Because|Since|After|Before|As|When|If|Unless) [^,;:]+, "),
)
ADVERBS = (
    re.compile(r"^(?:However|Meanwhile|Moreover|Furthermore|In addition|Also|Still|For example|Indeed), "),
    re.compile(
        rf" (?!(?:{'|'.join(NO_ADVERBS)})\b)[a-z]+ly\b| (?:very|quite|rather|also|just|even|already)\b(?! than)"
    ),
)
RULES = (*PARENTHETICALS, *ATTRIBUTIONS, *CLAUSES, *ADVERBS)
PAIRED_MARKS = (("“", "”"), ("(", ")"), ("[", "]"))


def compress(sentence: str) -> str:
    """Remove parentheses, attributions, subordinate clauses and adverbs where a complete sentence remains."""
    for rule in RULES:
        cut, matches = rule.subn(_closing_quote, sentence)
        if matches:
            shorter = _tidy(cut, capital=sentence[:1].isupper())
            sentence = shorter if _is_complete(shorter) else sentence
    return sentence


def shorten(parts: Sequence[str], budget: int) -> tuple[str, ...]:
    """The leading sentences that fit into ``budget`` words; the first one that does not fit is cut at a comma.

    Without a suitable comma, the first sentence is cut after ``budget`` words, and a later one is omitted.
    """
    fitting: list[str] = []
    for part in parts:
        size = len(part.split())
        if size > budget:
            cut = _cut(part, budget, anywhere=not fitting)
            return (*fitting, cut) if cut else tuple(fitting)
        fitting.append(part)
        budget -= size
    return tuple(fitting)


def _cut(sentence: str, budget: int, anywhere: bool) -> str:
    head = sentence.split()[:budget]
    commas = [index for index, word in enumerate(head) if word.endswith((",", ";", ":")) and index + 1 >= MIN_WORDS]
    if commas:
        head = head[: commas[-1] + 1]
    elif not anywhere:
        return ""
    return " ".join(head).rstrip(",;:.!?—–-") + "."


def _closing_quote(match: re.Match[str]) -> str:
    """The part of a match that is not removed: a closing quotation mark at its start."""
    return "".join(mark or "" for mark in match.groups())


def _is_complete(sentence: str) -> bool:
    """Whether a sentence is long enough and all its quotation marks and brackets are closed."""
    closed = all(sentence.count(opening) == sentence.count(closing) for opening, closing in PAIRED_MARKS)
    return closed and sentence.count('"') % 2 == 0 and len(sentence.split()) >= MIN_WORDS


def _tidy(sentence: str, capital: bool) -> str:
    sentence = re.sub(r"\s+(?=[,;:.!?])", "", " ".join(sentence.split()))
    sentence = re.sub(r",(?=[,;:.!?])", "", sentence).lstrip(",;: ")
    return sentence[:1].upper() + sentence[1:] if capital else sentence
