"""Standard output and error that can be written to: never closed, and able to print every character."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from pathlib import Path

from deconfound.errors import UsageError

SUBSTITUTES = {"±": "+/-", "–": "-", "…": "...", "×": "x", "≥": ">=", "≤": "<=", "·": "-", "→": "->", "²": "^2"}
"""Signs of our own for terminals that cannot show them; other characters become escape sequences."""

ERROR_HANDLER = "deconfound.substitutes"


def prepare_streams() -> None:
    """Refuse a closed standard output before the work starts, and substitute what a stream cannot encode."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (lives as long as the process)
    if sys.stdout is None:
        raise UsageError("Standard output is closed, so nothing can be printed. Redirect it to a file or to /dev/null.")
    codecs.register_error(ERROR_HANDLER, _substitute)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERROR_HANDLER)


def _substitute(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    first = error.object[error.start]
    if first in SUBSTITUTES:
        return SUBSTITUTES[first], error.start + 1
    return json.dumps(first)[1:-1], error.start + 1  # an escape that is also valid in JSON
