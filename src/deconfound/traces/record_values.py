"""Plain values out of records that may hold anything: text, numbers, times, scores and attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from deconfound.traces.answers import Answer
from deconfound.traces.call import Call, Flag, Score
from deconfound.traces.message_content import MAX_DEPTH, canonical_json
from deconfound.traces.reader import Remarks

TOO_DEEP = "records are nested too deeply to be read"


def text_from(value: object) -> str:
    """A text, or a number or a truth value as text; anything else is empty."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    number = number_from(value)
    if number is None:
        return ""
    return str(value) if isinstance(value, int) else str(int(number)) if number.is_integer() else str(number)


def number_from(value: object) -> float | None:
    """A finite number; truth values and text are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def mapping_from(value: object) -> Mapping[str, Any]:
    """An object, or an empty one where the record has something else."""
    return value if isinstance(value, Mapping) else {}


def list_from(value: object) -> list[Any]:
    """A list, or an empty one where the record has something else."""
    return list(value) if isinstance(value, list | tuple) else []


def seconds_from(value: object) -> float | None:
    """A time in seconds since 1970: a number of seconds, a time in ISO 8601, or a datetime; UTC without a zone."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, datetime):
        try:
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        except OverflowError:
            return None
    return number_from(value)


def score_from(value: object) -> float | bool | str | None:
    """The value of a score: a truth value, a finite number or a text that is not blank."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if value.strip() else None
    return number_from(value)


def attributes_from(value: object, name: str) -> dict[str, str]:
    """Every value inside an object as text under its dotted name; lists are JSON, missing values are left out."""
    return dict(_attributes(value, name, MAX_DEPTH))


def _attributes(value: object, name: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value and depth > 0:
        for key, inner in value.items():
            yield from _attributes(inner, f"{name}.{key}", depth - 1)
    elif isinstance(value, Mapping | list | tuple):
        if value:
            yield name, canonical_json(value)
    elif text := text_from(value):
        yield name, text


def answer_flags(answers: Sequence[Answer]) -> set[Flag]:
    """What the answers of a call say about it; a call without any answer has no content."""
    flags: set[Flag] = set()
    if not answers:
        flags.add("no content")
    elif all(answer.tool_call_only for answer in answers):
        flags.add("tool call")
    if any(answer.truncated for answer in answers):
        flags.add("truncated")
    return flags


def collect(found: Iterable[Call | Score], remarks: Remarks, origin: str) -> list[Call | Score]:
    """All that is found in one record; nothing, and a remark, where the record is nested too deeply."""
    try:
        return list(found)
    except RecursionError:
        remarks.add(TOO_DEEP, origin)
        return []
