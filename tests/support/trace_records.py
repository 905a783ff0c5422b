"""Records of traces for tests, from files and from values, and what readers yield for them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from deconfound.traces.call import Call, Score
from deconfound.traces.reader import Reader, Record, Remarks

SAMPLES = Path(__file__).parents[1] / "traces" / "samples"


def sample_values(*names: str) -> list[dict[str, Any]]:
    """The objects of sample files in JSON Lines."""
    return [record.value for name in names for record in from_lines(SAMPLES / name)]


def from_lines(path: Path) -> list[Record]:
    """Every line of a JSONL file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Record(json.loads(line), f"{path.name} line {number}", path) for number, line in enumerate(lines, 1)]


def from_document(path: Path) -> list[Record]:
    """A file that is one object."""
    return [Record(json.loads(path.read_text(encoding="utf-8")), path.name, path)]


def from_values(*values: dict[str, Any], path: Path | str = "x.jsonl") -> list[Record]:
    """Objects as the lines of a file."""
    return [Record(value, f"{Path(path).name} line {number}", Path(path)) for number, value in enumerate(values, 1)]


def read(reader: Reader, records: Iterable[Record]) -> tuple[list[Call], list[Score], dict[str, int]]:
    """What a reader yields, calls and scores apart, and the counts of its remarks."""
    remarks = Remarks()
    found = list(reader.read(records, remarks))
    calls = [one for one in found if isinstance(one, Call)]
    return calls, [one for one in found if isinstance(one, Score)], remarks.counts


def read_values(reader: Reader, values: Iterable[dict[str, Any]]) -> tuple[list[Call], list[Score], dict[str, int]]:
    """The same for objects."""
    return read(reader, from_values(*values))


def read_in_order(reader: Reader, values: Iterable[dict[str, Any]]) -> tuple[list[Call | Score], Remarks]:
    """Calls and scores of objects in the order of the reader, and its remarks."""
    remarks = Remarks()
    return list(reader.read(from_values(*values), remarks)), remarks
