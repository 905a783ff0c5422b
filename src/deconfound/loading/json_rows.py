"""A .json file -> RawTable: one object per line, as many tools write under this name, or one list of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from deconfound.data import RowNumbers
from deconfound.errors import DataError
from deconfound.formatting import join_names, shell_argument
from deconfound.loading.files import file_error
from deconfound.loading.jsonl import read_jsonl
from deconfound.loading.raw import RawTable

SPACE = " \t\r\n"
LIST_OF_OBJECTS = "Write a list of objects, or one object per line."


def read_json(data: bytes, source: str) -> RawTable:
    """Read lines, or the elements of a list; a single object that spans lines raises."""
    start = data.lstrip()[:1]
    if start == b"[":
        lines = "\n".join(_elements(data.decode(), source))
        if not lines:
            raise file_error(source, "the list is empty", LIST_OF_OBJECTS)
        raw = read_jsonl(lines.encode(), source, unit="row")
        return replace(raw, row_numbers=RowNumbers())
    try:
        return read_jsonl(data, source)
    except DataError as error:
        raise _one_object(data, source) or error from None


def _elements(text: str, source: str) -> Iterator[str]:
    """The elements of a list, each in one line: a line break inside JSON is white space."""
    decoder, at, number = json.JSONDecoder(), _skip(text, text.index("[") + 1), 0
    while text[at : at + 1] != "]":
        number += 1
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            raise _broken_list(source, number, at >= len(text)) from None
        yield text[at:end].replace("\n", " ").replace("\r", " ")
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != "]":
            raise _broken_list(source, number + 1, at >= len(text))
    if text[at + 1 :].strip(SPACE):
        raise file_error(source, "something follows the end of the list", LIST_OF_OBJECTS)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at


def _broken_list(source: str, number: int, at_end: bool) -> DataError:
    what = "the list is cut off" if at_end else "the element of the list is not JSON, or is cut off"
    return file_error(f"{source} row {number}", what, "Export the file again.")


def _one_object(data: bytes, source: str) -> DataError | None:
    """The error for a file that is one object, with a way to take the rows out of it."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    keys = [key for key, part in value.items() if isinstance(part, list)] if isinstance(value, dict) else []
    if not isinstance(value, dict):
        return file_error(source, "this JSON is no list of objects", LIST_OF_OBJECTS)
    path = f".{json.dumps(keys[0])}[]" if keys else ".[]"
    fix = f"Take the rows out of it: jq -c {shell_argument(path)} FILE > rows.jsonl."
    return file_error(source, f"this is one JSON object, with the keys {join_names(value)}, and no list of rows", fix)
