"""Compare rendered text with a stored file; UPDATE_SNAPSHOTS=1 rewrites the file."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

SNAPSHOTS = Path(__file__).parent.parent / "report" / "snapshots"
NUMBER = re.compile(r"[+-]?\d+(?:,\d{3})*(?:\.\d+)?")
# Last digits depend on the machine's floating point library.
RTOL, ATOL = 0.02, 0.0015


def assert_matches_snapshot(text: str, name: str) -> None:
    """The words must be equal, the numbers close."""
    stored = _stored(text, name)
    assert words(text) == words(stored)
    assert numbers(text) == pytest.approx(numbers(stored), rel=RTOL, abs=ATOL)


def assert_words_match_snapshot(text: str, name: str) -> None:
    """The words must be equal; numbers, and the line breaks that follow from their width, are not compared."""
    assert " ".join(words(text)).split() == " ".join(words(_stored(text, name))).split()


def _stored(text: str, name: str) -> str:
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")


def words(text: str) -> list[str]:
    """Lines with numbers and bars replaced by ``#`` and runs of spaces by one: column widths follow the digits."""
    return [re.sub(" +", " ", re.sub("#+", "#", NUMBER.sub("#", line))) for line in text.splitlines()]


def numbers(text: str) -> list[float]:
    """Every number of the text, in order."""
    return [float(match.replace(",", "")) for match in NUMBER.findall(text)]
