"""Small valid studies as rows, tables and files, and helpers to change them and to compare what was loaded."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.data import Study
from deconfound.errors import DataError
from deconfound.loading import load

ROLES = ("log", "experiment", "replay")
CONTEXTS = [f"question {number}" for number in range(6)]
MODELS = ("ant", "bee", "cat")

Row = dict[str, object]


@dataclass
class Good:
    """A valid study as rows: 12 in the log, 6 in the experiment, one replay of 3 models on 6 contexts."""

    log: list[Row] = field(default_factory=lambda: [_row(i, i // 5, outcome=i % 2) for i in range(12)])
    experiment: list[Row] = field(default_factory=lambda: [_row(i, i, outcome=0.25 * (i % 5)) for i in range(6)])
    replay: list[Row] = field(
        default_factory=lambda: [_row(c, m) | {"draw": 0} for c in range(len(CONTEXTS)) for m in range(len(MODELS))]
    )

    def all_rows(self) -> list[Row]:
        """The rows of all three tables."""
        return [*self.log, *self.experiment, *self.replay]


def _row(context: int, model: int, **more: object) -> Row:
    name = MODELS[model % len(MODELS)]
    text = CONTEXTS[context % len(CONTEXTS)]
    return {"context": text, "model": name, "output": f"{name} on {text}", **more}


def good_with(**changes: Callable[[Row], object]) -> Good:
    """A study in which every row of the named tables is changed."""
    good = Good()
    for role, change in changes.items():
        for row in getattr(good, role):
            change(row)
    return good


def tables(good: Good) -> dict[str, pa.Table]:
    """The three tables in memory, by the names of ``load``'s arguments."""
    return {role: pa.Table.from_pylist(getattr(good, role)) for role in ROLES}


def as_jsonl(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_csv(rows: list[Row], delimiter: str = ",") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_parquet(rows: list[Row]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


WRITERS: dict[str, Callable[[list[Row]], bytes]] = {"jsonl": as_jsonl, "csv": as_csv, "parquet": as_parquet}


def write_study(folder: Path, study: Good, ending: str) -> dict[str, object]:
    """Write the three tables to files; returns the arguments with which to load them."""
    folder.mkdir(parents=True, exist_ok=True)
    paths: dict[str, object] = {}
    for role in ROLES:
        path = folder / f"{role}.{ending}"
        path.write_bytes(WRITERS[ending](getattr(study, role)))
        paths[role] = path
    return paths


def refused(**arguments: object) -> str:
    """The message with which ``load`` refuses these arguments."""
    with pytest.raises(DataError) as caught:
        load(**arguments)
    return str(caught.value)


def same(one: Study, other: Study) -> bool:
    return all(getattr(one, role).arrow.equals(getattr(other, role).arrow) for role in ROLES)
