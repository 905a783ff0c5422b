"""Single fields of records that may hold anything: every function returns its type, whatever the value is.

Some exports have objects and lists as JSON in a text; where a field is an object or a list, such texts are decoded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from deconfound.chat.message_content import MAX_DEPTH, canonical_json
from deconfound.loading.times import parse_datetime

UNITS_OF_TIME = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""From which number a time is in nanoseconds, microseconds and milliseconds; 1e11 seconds are the year 5138."""
NANOSECONDS = 1e9
NUMBERS_AND_TEXT = (int, float, str)
LISTS = (list, tuple)
MAX_EXACT = 2.0**53  # a float below it that is a whole number was one when it was written


def text_from(value: object) -> str:
    """A name or an id as text: a text, a finite number or a UUID; empty for anything else, such as a truth value."""
    if isinstance(value, str):
        return value
    if value is None or (number_from(value) is None and not isinstance(value, UUID)):
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < MAX_EXACT:
        return str(int(value))  # tables have whole numbers as floats where a column has gaps
    return str(value)


def first_text(*values: object) -> str:
    """The first of the values that is a text with content."""
    for value in values:
        found = text_from(value)
        if found:
            return found
    return ""


def number_from(value: object) -> float | None:
    """A finite number, also where it was written as text; none for anything else, such as a truth value."""
    if isinstance(value, bool) or not isinstance(value, NUMBERS_AND_TEXT):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def seconds_from(value: object) -> float | None:
    """Seconds since 1970, from a number in any unit, ISO 8601 or a datetime; a time without zone is UTC."""
    number = number_from(value)
    if number is not None:
        return next((number / unit for limit, unit in UNITS_OF_TIME if abs(number) >= limit), number)
    try:
        moment = parse_datetime(value.strip()) if isinstance(value, str) else value
        if not isinstance(moment, datetime):
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def seconds_from_nanoseconds(value: object) -> float | None:
    """Seconds since 1970; none for zero, which stands for an unknown time."""
    number = number_from(value)
    return number / NANOSECONDS if number and number > 0 else None


def json_from(value: object) -> object:
    """The content of a text that is JSON of an object, a list, a text or null; any other value as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"', "n"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def mapping_from(value: object) -> Mapping[str, Any]:
    """An object, JSON of one, or a list of its keys and values; empty for anything else."""
    if isinstance(value, dict):
        return value
    decoded = json_from(value)
    if isinstance(decoded, Mapping):
        return decoded
    if not isinstance(decoded, LISTS):
        return {}
    return {key: one for key, one in map(_pair, decoded) if key}


def _pair(value: object) -> tuple[str, Any]:
    if isinstance(value, Mapping) and "value" in value:
        return text_from(value.get("key")), value["value"]
    if isinstance(value, LISTS) and len(value) == 2:
        return text_from(value[0]), value[1]
    return "", None


def list_from(value: object) -> list[Any]:
    """A list, or JSON of one; empty for anything else."""
    if isinstance(value, list):
        return value
    decoded = json_from(value)
    return list(decoded) if isinstance(decoded, LISTS) else []


def objects_from(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list, without what else is in it."""
    return [one for one in list_from(value) if isinstance(one, Mapping)]


def score_from(value: object) -> float | bool | str | None:
    """The value of a score: a truth value, a finite number or a text that is not blank; none for anything else."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if value.strip() else None
    return number_from(value)


def attributes_from(value: object, name: str) -> dict[str, str]:
    """Every value inside an object as text under its dotted name; lists are JSON, empty values are left out."""
    return dict(_attributes(value, name, MAX_DEPTH))


def _attributes(value: object, name: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, bool):
        yield name, "true" if value else "false"
    elif text := text_from(value):
        yield name, text
    elif isinstance(value, Mapping) and depth > 0:
        for key, inner in value.items():
            yield from _attributes(inner, f"{name}.{key}", depth - 1)
    elif isinstance(value, (Mapping, *LISTS)) and value:
        yield name, canonical_json(value)


def tags_from(value: object) -> dict[str, str]:
    """Tags as attributes: ``tag.NAME`` is "true"."""
    return {f"tag.{tag}": "true" for tag in map(text_from, list_from(value)) if tag}


def plain_model(model: str, provider: str) -> str:
    """A model's name without its provider, where the record names the provider too."""
    prefix, rest = model[: len(provider) + 1], model[len(provider) + 1 :]
    return rest if provider and rest and prefix.lower() == f"{provider}/".lower() else model
