"""Many calls as columns: what describes them in memory, their texts in a file of record batches.

Joins and choices look at ids, models and times only. The texts, which are nearly all of the data, are written to a
temporary file as they are read, and read back for the rows that are used. The file has no name, so that nothing is left
of it after a kill.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import IO, Self

import numpy as np
import pyarrow as pa

from deconfound.chat.conversation import conversation_text
from deconfound.design import FloatArray, IntArray
from deconfound.traces.call import Call, Flag, Score

BATCH_CALLS = 1_000  # written at once
BATCH_CHARACTERS = 1 << 25  # or fewer calls, if they are long
TEXT_SCHEMA = pa.schema(
    [("context", pa.large_string()), ("messages", pa.large_string()), ("outputs", pa.large_string())]
)
COPIED_FIELDS = (
    *(
        "origin",
        "call_id",
        "response_id",
        "trace_id",
        "turn_id",
        "conversation",
        "user",
        "model",
        "requested_model",
        "group",
    ),
    *("time", "context_id", "draw", "flags"),
)


@dataclass(frozen=True, slots=True)
class CallSummary:
    """Everything about a call but its texts."""

    reader: str
    origin: str
    call_id: str
    response_id: str
    trace_id: str
    turn_id: str
    conversation: str
    user: str
    model: str
    requested_model: str
    group: str
    time: float | None
    context_id: str
    draw: int | None
    n_outputs: int
    flags: frozenset[Flag]
    attributes: tuple[tuple[str, str], ...]

    @classmethod
    def from_call(cls, reader: str, call: Call) -> Self:
        """The summary of a call that a reader found."""
        attributes = tuple((name, well_formed(value)) for name, value in call.attributes.items())
        columns = {name: getattr(call, name) for name in COPIED_FIELDS}
        columns = {name: well_formed(value) if isinstance(value, str) else value for name, value in columns.items()}
        return cls(reader=reader, n_outputs=len(call.outputs), attributes=attributes, **columns)


@dataclass(frozen=True, slots=True, eq=False)
class CallTable:
    """Calls in the order in which they were read, the scores that came with them, and the file of their texts."""

    calls: tuple[CallSummary, ...]
    scores: tuple[Score, ...]
    texts: IO[bytes]

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def time(self) -> FloatArray:
        """Seconds since 1970 (n,); NaN where unknown."""
        return np.array([np.nan if call.time is None else call.time for call in self.calls], dtype=np.float64)

    def read_texts(self, rows: IntArray) -> pa.Table:
        """Context, messages and outputs (as JSON lists) of some calls, which must be in increasing order."""
        parts, start = [], 0
        self.texts.seek(0)
        with pa.ipc.open_file(self.texts) as reader:
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                inside = rows[(rows >= start) & (rows < start + batch.num_rows)] - start
                parts.append(batch.take(pa.array(inside)))
                start += batch.num_rows
            return pa.Table.from_batches(parts, TEXT_SCHEMA)


@dataclass(slots=True)
class _TextBuffer:
    """Texts that are not yet written."""

    columns: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in TEXT_SCHEMA.names})
    characters: int = 0

    def add(self, call: Call) -> None:
        row = {
            "context": conversation_text(call.messages),
            "messages": json.dumps([asdict(message) for message in call.messages], ensure_ascii=False),
            "outputs": json.dumps(call.outputs, ensure_ascii=False),
        }
        for name, text in row.items():
            self.columns[name].append(well_formed(text))
            self.characters += len(text)

    @property
    def is_full(self) -> bool:
        return len(self.columns["context"]) >= BATCH_CALLS or self.characters >= BATCH_CHARACTERS

    def take(self) -> pa.RecordBatch:
        batch = pa.record_batch(self.columns, TEXT_SCHEMA)
        for column in self.columns.values():
            column.clear()
        self.characters = 0
        return batch


@dataclass(slots=True)
class _Versions:
    """The last version of each call, by reader and id; calls are looked at when one of them replaces another."""

    rows: dict[tuple[str, str], int] = field(default_factory=dict)
    n_known: int = 0

    def mark_replaced(self, calls: list[CallSummary]) -> None:
        """Flag the version that the last call replaces."""
        for row in range(self.n_known, len(calls)):
            key = (calls[row].reader, calls[row].call_id)
            before = self.rows.get(key)
            if before is not None and row == len(calls) - 1:
                calls[before] = replace(calls[before], flags=calls[before].flags | {"replaced"})
            self.rows[key] = row
        self.n_known = len(calls)


def collect_calls(items: Iterable[tuple[str, Call | Score]], texts: IO[bytes]) -> CallTable:
    """Gather calls and scores with the names of their readers; ``texts`` is an empty file for the texts."""
    calls: list[CallSummary] = []
    scores: list[Score] = []
    buffer, versions = _TextBuffer(), _Versions()
    with pa.ipc.new_file(texts, TEXT_SCHEMA) as writer:
        for reader, item in items:
            if isinstance(item, Score):
                scores.append(item)
                continue
            calls.append(CallSummary.from_call(reader, item))
            if item.replaces:
                versions.mark_replaced(calls)
            buffer.add(item)
            if buffer.is_full:
                writer.write_batch(buffer.take())
        writer.write_batch(buffer.take())
    return CallTable(tuple(calls), tuple(scores), texts)


def well_formed(text: str) -> str:
    """The text with every half of a surrogate pair, which is no character, replaced by a question mark.

    Files with one are refused, but JSON inside of a text may have it as an escape.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def distinct(calls: Sequence[CallSummary], name: str) -> dict[str, int]:
    """How many calls have each value of a field, most frequent first; empty values are left out."""
    counts: dict[str, int] = {}
    for call in calls:
        value = str(getattr(call, name) or "")
        if value:
            counts[value] = counts.get(value, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
