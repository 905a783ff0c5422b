"""One JSON text -> its objects, or the fault for which it is left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_NESTING = 200  # deeper values would exhaust the stack of whatever walks through them
CONTAINERS = {dict, list}
SEPARATORS = " \t\r\n,\x1e"  # between values: some writers put a comma or a record separator there
SUSPECT = re.compile(rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..\\u[dD])[c-fC-F])")
"""An escape of half a surrogate pair without the other half beside it; after a backslash it may be ordinary text."""

NOT_JSON, CUT_OFF, NOT_UTF8 = "not JSON", "cut off", "not UTF-8"
NOT_AN_OBJECT, DUPLICATE_KEY = "not an object", "an object with a key twice"
HALF_SURROGATE, TOO_DEEP = "text with half of a surrogate pair", "nested too deeply"


@dataclass(frozen=True, slots=True)
class Parsed:
    """An object or a list of objects, or the fault for which there is none."""

    value: dict[str, Any] | list[dict[str, Any]]
    fault: str = ""


class _DuplicateKeyError(ValueError):
    """A key occurs twice in one object, and only one of its values could be used."""


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise _DuplicateKeyError
    return result


DECODER = json.JSONDecoder(object_pairs_hook=_refuse_duplicates)


def parse_json(data: bytes) -> Parsed:
    """Parse one value of UTF-8; what other programs could not read back the same way is a fault."""
    try:
        text = data.decode()
        return _checked(DECODER.decode(text), data)
    except UnicodeDecodeError:
        return _faulty(NOT_UTF8)
    except _DuplicateKeyError:
        return _faulty(DUPLICATE_KEY)
    except RecursionError:
        return _faulty(TOO_DEEP)
    except ValueError:
        stripped = text.strip()
        cut = stripped[:1] in ("{", "[") and stripped[-1:] not in ("}", "]")
        return _faulty(CUT_OFF if cut else NOT_JSON)


def parse_values(text: str) -> Iterator[Parsed]:
    """Parse values that follow each other, each on any number of lines; nothing follows the first that is no JSON."""
    at = _skip_separators(text, 0)
    while at < len(text):
        start = at
        try:
            value, at = DECODER.raw_decode(text, start)
            parsed = _checked(value, text[start:at].encode())
        except _DuplicateKeyError:
            parsed, at = _faulty(DUPLICATE_KEY), len(text)
        except RecursionError:
            parsed, at = _faulty(TOO_DEEP), len(text)
        except ValueError as error:
            position = error.pos if isinstance(error, json.JSONDecodeError) else start
            parsed, at = _faulty(CUT_OFF if position >= len(text.rstrip()) - 1 else NOT_JSON), len(text)
        yield parsed
        at = _skip_separators(text, at)


def objects_in(value: dict[str, Any] | list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The records in a value and the place of each: a list has many, and so has a saved page of an API."""
    elements = value if isinstance(value, list) else value.get("data")
    if isinstance(elements, list) and all(isinstance(one, dict) for one in elements):
        return [(f" element {at}", one) for at, one in enumerate(elements, start=1)]
    return [("", value)] if isinstance(value, dict) else []


def _faulty(fault: str) -> Parsed:
    return Parsed({}, fault)


def _skip_separators(text: str, at: int) -> int:
    while at < len(text) and text[at] in SEPARATORS:
        at += 1
    return at


def _checked(value: Any, data: bytes) -> Parsed:  # noqa: ANN401  (whatever JSON can hold)
    elements = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) for one in elements):
        return _faulty(NOT_AN_OBJECT)
    if data.count(b"{") + data.count(b"[") > MAX_NESTING and _depth(value) > MAX_NESTING:
        return _faulty(TOO_DEEP)
    if b"\\" in data and SUSPECT.search(data) and _has_half_surrogate(value):
        return _faulty(HALF_SURROGATE)
    return Parsed(value)


def _depth(value: object) -> int:
    """How deep objects and lists are nested, up to ``MAX_NESTING`` + 1."""
    level: list[Any] = [value]
    depth = 0
    while level and depth <= MAX_NESTING:
        depth += 1
        below = (one.values() if isinstance(one, dict) else one for one in level)
        level = [part for parts in below for part in parts if type(part) in CONTAINERS]
    return depth


def _has_half_surrogate(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
