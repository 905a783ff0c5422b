"""Single fields of a record, whatever somebody wrote into them: text, numbers, times, lists and tags."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from deconfound.traces.message_content import MAX_DEPTH, canonical_json

MILLISECONDS_FROM = 1e11  # in seconds this would be the year 5138, in milliseconds it is 1973
MICROSECONDS_FROM = 1e14
NANOSECONDS_FROM = 1e17
NUMBERS = (int, float)


def text_of(value: object) -> str:
    """A text or a finite number as text; empty for anything else, such as null or an object."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool) or not isinstance(value, NUMBERS):
        return ""
    try:
        return str(value) if math.isfinite(value) else ""
    except (ValueError, OverflowError):  # an integer with thousands of digits
        return ""


def first_text(record: Mapping[str, Any], *keys: str) -> str:
    """The first of several fields that is not empty, as text."""
    for key in keys:
        text = text_of(record.get(key))
        if text:
            return text
    return ""


def number_of(value: object) -> float | None:
    """A finite number, also where it was written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (*NUMBERS, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def seconds_of(value: object) -> float | None:
    """Seconds since 1970 from a number in any unit or from ISO text; a time without zone is UTC."""
    number = number_of(value)
    if number is not None:
        for limit, unit in ((NANOSECONDS_FROM, 1e9), (MICROSECONDS_FROM, 1e6), (MILLISECONDS_FROM, 1e3)):
            if abs(number) >= limit:
                return number / unit
        return number
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def json_of(value: object) -> object:
    """The content of a field that holds JSON as text in some exports; any other value as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def object_of(value: object) -> Mapping[str, Any]:
    """An object, also where it was written as JSON text; empty for anything else."""
    decoded = json_of(value)
    return decoded if isinstance(decoded, dict) else {}


def list_of(value: object) -> list[Any]:
    """A list, also where it was written as JSON text; empty for anything else."""
    decoded = json_of(value)
    return decoded if isinstance(decoded, list) else []


def tags_from(value: object) -> dict[str, str]:
    """Tags as attributes: ``tag.NAME`` is "true"."""
    return {f"tag.{tag}": "true" for tag in map(text_of, list_of(value)) if tag}


def attributes_from(value: object, prefix: str) -> dict[str, str]:
    """An object's values by dotted name under a prefix; lists as JSON, null and empty values left out."""
    return {name: text for name, text in _flat(object_of(value), prefix, MAX_DEPTH) if text}


def _flat(value: object, name: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        if depth:
            for key, part in value.items():
                yield from _flat(part, f"{name}.{key}", depth - 1)
    elif isinstance(value, bool):
        yield name, "true" if value else "false"
    elif isinstance(value, list):
        yield name, canonical_json(value) if value else ""
    else:
        yield name, text_of(value)
