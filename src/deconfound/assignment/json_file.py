"""A small JSON file of ours -> its content, with an error for every way in which it is none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from deconfound.errors import DataError, Problem
from deconfound.escaping import readable_path

MAX_BYTES = 10_000_000  # a thousand models with long names, or their plan, are far below


def read_json(path: str | os.PathLike[str], fix: str) -> Any:  # noqa: ANN401  (whatever JSON can hold)
    """Parse the file; ``fix`` says which file was expected. Objects with a key twice are refused."""
    source = readable_path(path)
    given = Path(path)
    if given.exists() and not (given.is_file() or given.is_dir()):  # a pipe would keep us waiting
        raise DataError([Problem(source, "this is a pipe or a device, not a file", fix)])
    try:
        with given.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        what = f"the file cannot be opened: {error.strerror or error}"
        raise DataError([Problem(source, what, "Check the name and the folder.")]) from None
    if len(data) > MAX_BYTES:
        raise DataError([Problem(source, f"the file has more than {MAX_BYTES // 10**6} MB", fix)])
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError):
        raise DataError([Problem(source, "this is no valid JSON", fix)]) from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key occurs twice")
    return result
