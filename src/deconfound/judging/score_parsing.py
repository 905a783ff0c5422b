"""What a judge wrote -> scores, or why there are none.

Tolerant about the form (prose, code fences, trailing commas, numbers in quotes), strict about the content: a score that
is missing, outside its scale or given twice with different values is no score.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deconfound.judging.rubric import Criterion, Rubric

MAX_CHARACTERS = 50_000  # of a reply; scores take a few hundred
MAX_FALSE_STARTS = 300  # braces that begin no object; each may be read to the end of the reply
THOUGHTS = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?(</\1>|\Z)|\A[^{]*?</think>", re.DOTALL | re.IGNORECASE)
"""Thoughts before the answer. Later ones may be quoted from the output, and stay: two answers then contradict."""
TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')
NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\s*")
SCORE_KEYS = ("score", "value", "rating")


class UnusableReplyError(ValueError):
    """A reply without scores; the text says why, in words that never repeat the reply."""


@dataclass(frozen=True, slots=True)
class _Twice:
    """An object that has one name twice, with different values."""

    name: str


def parse_scores(text: str, rubric: Rubric) -> tuple[float, ...]:
    """The scores in a reply, in the order of the criteria; ``UnusableReplyError`` if it has none."""
    if len(text) > MAX_CHARACTERS:
        raise UnusableReplyError(f"it has more than {MAX_CHARACTERS:,} characters")
    answer = THOUGHTS.sub("", text)
    found = list(_objects(answer)) or list(_objects(TRAILING_COMMA.sub(lambda match: match[1] or "", answer)))
    if not found:
        raise UnusableReplyError("it has no JSON object")
    relevant = [one for one in found if _named(one, rubric.criteria[0]) is not None] or found
    read = {_scores(one, rubric) for one in relevant}
    if len(read) > 1:
        raise UnusableReplyError("it has several JSON objects with different scores")
    return read.pop()


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects in a text, from left to right; objects inside others are parts of them."""
    decoder, at, false_starts = json.JSONDecoder(object_pairs_hook=_unique), 0, 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at, false_starts = at + 1, false_starts + 1
            if false_starts == MAX_FALSE_STARTS:
                raise UnusableReplyError("it has too many braces that begin no JSON object") from None
            continue
        yield value
        at = end


def _unique(pairs: Sequence[tuple[str, Any]]) -> Mapping[str, Any]:
    """An object; a name that has different values stands for none."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        found[name] = _Twice(name) if name in found and found[name] != value else value
    return found


def _scores(found: Mapping[str, Any], rubric: Rubric) -> tuple[float, ...]:
    """All scores of an object, or of the only object inside it that has them."""
    inner = [value for value in found.values() if isinstance(value, Mapping)]
    source = found
    if _named(found, rubric.criteria[0]) is None:
        source = next((one for one in inner if _named(one, rubric.criteria[0]) is not None), found)
    return tuple(_score(source, criterion) for criterion in rubric.criteria)


def _score(found: Mapping[str, Any], criterion: Criterion) -> float:
    value = _named(found, criterion)
    if isinstance(value, Mapping):
        value = next((value[key] for key in SCORE_KEYS if key in value), None)
    if value is None:
        raise UnusableReplyError(f"{criterion.name} is missing")
    if isinstance(value, _Twice):
        raise UnusableReplyError(f"{criterion.name} is given twice")
    if isinstance(value, str) and NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnusableReplyError(f"{criterion.name} is not a number")
    number = _to_float(value)
    if not math.isfinite(number):
        raise UnusableReplyError(f"{criterion.name} is not a finite number")
    problem = criterion.problem(number)
    if problem:
        raise UnusableReplyError(problem)
    return number


def _to_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _named(found: Mapping[str, Any], criterion: Criterion) -> Any:  # noqa: ANN401  (whatever JSON can hold)
    """The value of a criterion; its name may differ in case, spaces and hyphens."""
    if criterion.name in found:
        return found[criterion.name]
    matches = [value for name, value in found.items() if _folded(name) == _folded(criterion.name)]
    return matches[0] if len(matches) == 1 else None


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().lower())
