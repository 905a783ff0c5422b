"""Shorter versions of a sentence, by rule: what is cut is cut whole, and nothing is reworded."""

from __future__ import annotations

import re
from collections.abc import Sequence

LEAST = 4  # a rule that would leave fewer words than this is not applied

# fmt: off
# Words in -ly that are no adverbs, or that turn the meaning round when they go.
KEPT = (
    "ally", "anomaly", "apply", "assembly", "belly", "bully", "butterfly", "comply", "costly", "daily", "deadly",
    "early", "elderly", "family", "fly", "folly", "friendly", "hardly", "holy", "hourly", "imply", "jelly", "likely",
    "lively", "lonely", "lovely", "melancholy", "monopoly", "monthly", "multiply", "nearly", "only", "quarterly",
    "rally", "rely", "reply", "scholarly", "silly", "supply", "tally", "ugly", "unlikely", "weekly", "yearly",
)
# fmt: on

_SPEAK = r"(?:said|says|told|added|adds|announced|stated|noted|reported|explained|claimed|confirmed|warned)"
_NAME = r"(?:[\w.’'-]+\s+){1,6}?"
_UP_TO_COMMA = r"[^,;:]+(?:,(?= )|(?=[.!?;:]))"
PARENTHETICALS = (
    re.compile(r"\s*\([^()]*\)|\s*\[[^\[\]]*\]"),
    re.compile(r"\s+(?:—|–|--)\s+[^—–]{1,200}?\s+(?:—|–|--)(?=\s)|—[^—]{1,200}—"),
)
ATTRIBUTIONS = (
    re.compile(r"^According to [^,]{1,80}, (?:(?:an?|the) [^,]{1,80}, )?"),
    re.compile(rf"^{_NAME}{_SPEAK} (?:on \w+ )?that "),
    re.compile(r", according to [^,;]{1,80}(?=[.!?]$)"),
    re.compile(rf",([”\"]?) (?:{_NAME}{_SPEAK}\b[^,;“\"]{{0,60}}|{_SPEAK} [^,;“\"]{{1,60}})(?=[.!?]$)"),
)
CLAUSES = (
    re.compile(rf", (?:which|who|whose|whom|where|after|before|since|as|when|if|unless) {_UP_TO_COMMA}"),
    re.compile(rf", [a-z]+ing {_UP_TO_COMMA}"),
    # These mostly come last, with commas of their own.
    re.compile(r", (?:although|though|while|whereas|because) [^;:“\"]+(?=[.!?]$)"),
    re.compile(r"^(?:Although|Though|While|Because|Since|After|Before|As|When|If|Unless) [^,;:]+, "),
)
ADVERBS = (
    re.compile(r"^(?:However|Meanwhile|Moreover|Furthermore|In addition|Also|Still|For example|Indeed), "),
    re.compile(rf" (?!(?:{'|'.join(KEPT)})\b)[a-z]+ly\b| (?:very|quite|rather|also|just|even|already)\b(?! than)"),
)
RULES = (*PARENTHETICALS, *ATTRIBUTIONS, *CLAUSES, *ADVERBS)
QUOTES = (("“", "”"), ("(", ")"), ("[", "]"))


def compress(sentence: str) -> str:
    """Drop parentheses, attributions, subordinate clauses and adverbs, as far as a sentence is left."""
    for rule in RULES:
        cut, matches = rule.subn(_closing, sentence)
        if matches:
            shorter = _tidy(cut, capital=sentence[:1].isupper())
            sentence = shorter if _is_sound(shorter) else sentence
    return sentence


def shorten(parts: Sequence[str], budget: int) -> tuple[str, ...]:
    """Keep what fits a number of words; the sentence that does not is cut at its last comma that does.

    A first sentence without such a comma is cut after ``budget`` words, a later one is left out.
    """
    kept: list[str] = []
    for part in parts:
        size = len(part.split())
        if size > budget:
            cut = _cut(part, budget, anywhere=not kept)
            return (*kept, cut) if cut else tuple(kept)
        kept.append(part)
        budget -= size
    return tuple(kept)


def _cut(sentence: str, budget: int, anywhere: bool) -> str:
    head = sentence.split()[:budget]
    commas = [at for at, word in enumerate(head) if word.endswith((",", ";", ":")) and at + 1 >= LEAST]
    if commas:
        head = head[: commas[-1] + 1]
    elif not anywhere:
        return ""
    return " ".join(head).rstrip(",;:.!?—–-") + "."


def _closing(match: re.Match[str]) -> str:
    """What stays of a match: the quotation mark that closed before it."""
    return "".join(mark or "" for mark in match.groups())


def _is_sound(sentence: str) -> bool:
    """Say whether a sentence is still one: long enough, and every quotation and bracket closed."""
    closed = all(sentence.count(opening) == sentence.count(closing) for opening, closing in QUOTES)
    return closed and sentence.count('"') % 2 == 0 and len(sentence.split()) >= LEAST


def _tidy(sentence: str, capital: bool) -> str:
    sentence = re.sub(r"\s+(?=[,;:.!?])", "", " ".join(sentence.split()))
    sentence = re.sub(r",(?=[,;:.!?])", "", sentence).lstrip(",;: ")
    return sentence[:1].upper() + sentence[1:] if capital else sentence
