"""Fields of records that may be damaged: every function returns its type, whatever the value is."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from deconfound.traces.message_content import canonical_json

MAX_FLAT_DEPTH = 8  # of metadata; what lies deeper is one text
NANOSECONDS = 1e9


def text(value: object) -> str:
    """An id or a name as text; empty where the value is neither text nor a whole number."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | UUID):
        return ""
    try:
        return str(value)
    except ValueError:  # thousands of digits
        return ""


def first_text(*values: object) -> str:
    """The first of the values that is a text with content."""
    return next((found for found in map(text, values) if found), "")


def finite(value: object) -> float | None:
    """A number, or a text that is a number; nothing for NaN, infinities and other values."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def from_json(value: object) -> object:
    """The content of a text that is JSON; any other value stays as it is."""
    if not isinstance(value, str) or value.strip()[:1] not in '[{"0123456789-tfnNI':
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def mapping(value: object) -> Mapping[str, Any]:
    """An object, or JSON of one, or a list of its keys and values; empty for other values."""
    decoded = from_json(value)
    if isinstance(decoded, Mapping):
        return decoded
    pairs = (_pair(one) for one in items(decoded))
    return {key: one for key, one in pairs if key}


def _pair(value: object) -> tuple[str, Any]:
    if isinstance(value, Mapping) and "value" in value:
        return text(value.get("key")), value["value"]
    if isinstance(value, list | tuple) and len(value) == 2:
        return text(value[0]), value[1]
    return "", None


def items(value: object) -> list[Any]:
    """A list, or JSON of one; empty for other values."""
    decoded = from_json(value)
    return list(decoded) if isinstance(decoded, list | tuple) else []


def seconds(value: object) -> float | None:
    """A time as seconds since 1970: of a datetime, or of a text of ISO 8601, which is UTC unless it says otherwise."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(moment, datetime):
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def seconds_from_nanoseconds(value: object) -> float | None:
    """A time as seconds since 1970; nothing for zero, which stands for an unknown time."""
    number = finite(value)
    return number / NANOSECONDS if number and number > 0 else None


def score_value(value: object) -> float | bool | str | None:
    """The recorded value of a score; nothing where it is empty, not finite, a list or an object."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value or None
    return finite(value)


def flat(prefix: str, value: object) -> dict[str, str]:
    """Metadata as dotted names and texts; lists are JSON."""
    return {name: one for name, one in _flat(prefix, value, MAX_FLAT_DEPTH) if one}


def _flat(name: str, value: object, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and depth:
        for key, one in value.items():
            yield from _flat(f"{name}.{key}", one, depth - 1)
    elif value is not None:
        yield name, value if isinstance(value, str) else canonical_json(value)


def tags(value: object) -> dict[str, str]:
    """Tags as attributes."""
    return {f"tag.{name}": "true" for name in map(text, items(value)) if name}


def plain_model(model: str, provider: str) -> str:
    """A model's name without its provider, where the record names the provider too."""
    prefix, slash, rest = model.partition("/")
    return rest if slash and rest and provider and prefix.lower() == provider.lower() else model
