"""What went in, by the script's manifest, and what comes out, by our readers: both as rows that can be compared."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from deconfound.cli import main
from deconfound.traces.trace_import import Traces, read_traces

Rows = Sequence["CallRow"] | Sequence["ScoredRow"] | Sequence["StudyRow"]
NO_ROWS = {"error", "tool call", "no content", "internal"}
"""Flags of calls that are no rows of a study."""


@dataclass(frozen=True, slots=True, order=True)
class CallRow:
    """One call, with all that a reader should find in a file."""

    conversation: str
    user: str
    model: str
    messages: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class StudyRow:
    """One row of a table that `deconfound convert` writes; -1 stands for no outcome."""

    context: str
    model: str
    output: str
    outcome: float = -1.0
    cluster: str = ""


@dataclass(frozen=True, slots=True, order=True)
class ScoredRow:
    """One score of one answer."""

    model: str
    context: str
    output: str
    name: str
    value: float


def load_manifest(folder: Path) -> list[dict[str, Any]]:
    """The calls as the script made them."""
    calls: list[dict[str, Any]] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return calls


def expected_calls(manifest: Iterable[Mapping[str, Any]]) -> list[CallRow]:
    """What a reader should find, in the order of the rows."""
    return sorted(
        CallRow(
            call["conversation"],
            call["user"],
            call["model"],
            tuple((role, text) for role, text in call["messages"]),
            tuple(call["outputs"]),
            tuple(sorted(call["flags"])),
        )
        for call in manifest
    )


def read_files(paths: Sequence[Path]) -> tuple[Traces, list[CallRow]]:
    """Everything our package reads from some files, and its calls in the order of the rows."""
    traces = read_traces([str(path) for path in paths], BytesIO())
    texts = traces.table.read_texts(np.arange(len(traces.table))).to_pylist()
    rows = [
        CallRow(
            call.conversation,
            call.user,
            call.model,
            tuple((message["role"], message["text"]) for message in json.loads(text["messages"])),
            tuple(json.loads(text["outputs"])),
            tuple(sorted(call.flags)),
        )
        for call, text in zip(traces.table.calls, texts, strict=True)
    ]
    return traces, sorted(rows)


def expected_scores(manifest: Iterable[Mapping[str, Any]]) -> list[ScoredRow]:
    """The scores of an evaluation, whose manifest has them by name."""
    return sorted(
        ScoredRow(call["model"], _context(call["messages"]), call["outputs"][0], name, float(value))
        for call in manifest
        for name, value in (call["score"] or {}).items()
    )


def scores_of_calls(traces: Traces) -> list[ScoredRow]:
    """The scores that were read, each with the call that it judges."""
    texts = traces.table.read_texts(np.arange(len(traces.table))).to_pylist()
    calls = {call.call_id: (call, text) for call, text in zip(traces.table.calls, texts, strict=True)}
    found = [(score, *calls[score.target_id]) for score in traces.table.scores]
    return sorted(
        ScoredRow(call.model, text["context"], json.loads(text["outputs"])[0], score.name, float(score.value))
        for score, call, text in found
    )


def expected_rows(manifest: Iterable[Mapping[str, Any]]) -> list[StudyRow]:
    """The rows of a study that should be written: every usable call, with its thumb and its user."""
    return sorted(
        StudyRow(
            _context(call["messages"]),
            call["model"],
            call["outputs"][0],
            -1.0 if call["score"] is None else float(call["score"]),
            call["user"] or call["conversation"],
        )
        for call in manifest
        if not NO_ROWS & set(call["flags"]) and call["outputs"]
    )


def converted_rows(paths: Sequence[Path], folder: Path, *options: str, table: str = "log") -> list[StudyRow]:
    """The rows that `deconfound convert` writes for some files."""
    command = ["convert", *map(str, paths), "--unit", "call", "-o", str(folder / "study"), "--overwrite", *options]
    assert main(command) == 0
    written = pq.read_table(folder / "study" / f"{table}.parquet").to_pylist()
    return sorted(
        StudyRow(
            row["context"],
            row["model"],
            row["output"],
            -1.0 if row.get("outcome") is None else row["outcome"],
            row.get("cluster") or "",
        )
        for row in written
    )


def assert_same(found: Rows, expected: Rows) -> None:
    """Refuse rows that are missing, are too many, or differ."""
    counts = Counter[Any](expected)
    counts.subtract(found)
    missing = [row for row, count in counts.items() if count > 0]
    added = [row for row, count in counts.items() if count < 0]
    lines = [*(f"missing: {row}" for row in missing), *(f"not expected: {row}" for row in added)]
    assert not lines, "\n".join(lines)
    assert len(found) == len(expected)


def _context(messages: Sequence[Sequence[str]]) -> str:
    """A single question by itself; several messages each after its role."""
    if len(messages) == 1 and messages[0][0] == "user":
        return messages[0][1]
    return "\n\n".join(f"{role}: {text}" for role, text in messages)
