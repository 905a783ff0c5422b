"""The table of a replay: one row per output, readable by ``load`` without options."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import pyarrow as pa
import pyarrow.parquet as pq

from deconfound.atomic import write_bytes
from deconfound.endpoints.reply import Reply
from deconfound.endpoints.token_costs import Price
from deconfound.errors import UsageError
from deconfound.escaping import escape_json
from deconfound.formatting import quote

FORMATS = (".parquet", ".jsonl")
ORIGIN = {b"deconfound": b"replay"}
"""What the schema of a table says about it: a later replay may replace it."""
FIELDS = {
    "model": pa.string(),
    "output": pa.large_string(),
    "draw": pa.int64(),
    "status": pa.string(),
    "finish_reason": pa.string(),
    "served_model": pa.string(),
    "input_tokens": pa.int64(),
    "output_tokens": pa.int64(),
    "tokens_estimated": pa.bool_(),
    "cost": pa.float64(),
    "latency": pa.float64(),
}
LINES_AT_ONCE = 5_000


@final
@dataclass(slots=True)
class TableBuilder:
    """Collects rows; the text of a context is stored once, however many outputs it has."""

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    contexts: list[int] = field(default_factory=list)
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    def start_context(self, context_id: str, text: str) -> None:
        """The rows that follow belong to this context."""
        self.ids.append(context_id)
        self.texts.append(text)

    def add_reply(self, model: str, draw: int, reply: Reply, price: Price | None) -> None:
        """One output of a model that was asked."""
        cost = None if price is None else price.cost(reply.input_tokens, reply.output_tokens)
        counts = (reply.input_tokens, reply.output_tokens, reply.tokens_estimated, cost, reply.seconds)
        names = (reply.status, reply.finish_reason or None, reply.served_model or None)
        self._add((model, reply.text, draw, *names, *counts))

    def add_output(self, model: str, draw: int, output: str) -> None:
        """One output of a baseline."""
        status = "ok" if output.strip() else "empty"
        self._add((model, output, draw, status, None, None, 0, 0, False, 0.0, 0.0))

    def _add(self, row: tuple[Any, ...]) -> None:
        self.contexts.append(len(self.ids) - 1)
        self.rows.append(row)

    def table(self) -> pa.Table:
        """The finished table."""
        codes = pa.array(self.contexts, pa.int32())
        names = {
            "context_id": pa.DictionaryArray.from_arrays(codes, pa.array(self.ids, pa.string())),
            "context": pa.DictionaryArray.from_arrays(codes, pa.array(self.texts, pa.large_string())),
        }
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(FIELDS)
        arrays = {name: pa.array(column, kind) for (name, kind), column in zip(FIELDS.items(), columns, strict=True)}
        return pa.table({**names, **arrays}).replace_schema_metadata(ORIGIN)


def require_format(path: Path) -> None:
    """Refuse a file whose extension names no format, before any call is made."""
    if path.suffix not in FORMATS:
        raise UsageError(f"-o takes a file ending in {' or '.join(FORMATS)}, not {quote(path.name)}.")


def write_table(table: pa.Table, path: Path) -> None:
    """Write the table in the format given by the file's extension, in one step."""
    if path.suffix == ".parquet":
        buffer = io.BytesIO()
        with pq.ParquetWriter(buffer, table.schema, compression="zstd", store_schema=False) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata(ORIGIN)
        write_bytes(path, buffer.getvalue())
    else:
        write_bytes(path, b"".join(_lines(table)))


def is_replay_table(path: Path) -> bool:
    """Whether a file is a table that a replay wrote."""
    try:
        metadata: Mapping[bytes, bytes] | None = pq.read_schema(path).metadata if path.is_file() else None
    except (pa.ArrowException, OSError, ValueError):
        return False
    return metadata is not None and ORIGIN.items() <= metadata.items()


def _lines(table: pa.Table) -> Iterator[bytes]:
    for batch in table.to_batches(LINES_AT_ONCE):
        for row in batch.to_pylist():
            yield f"{escape_json(json.dumps(row, ensure_ascii=False, allow_nan=False))}\n".encode()


def count_by(table: pa.Table, column: str) -> dict[str, dict[str | None, int]]:
    """How many outputs of each model have each value of a column."""
    counts: dict[str, dict[str | None, int]] = {}
    grouped = table.group_by(["model", column]).aggregate([([], "count_all")])
    columns: Sequence[list[Any]] = [grouped[name].to_pylist() for name in ("model", column, "count_all")]
    for model, value, count in zip(*columns, strict=True):
        counts.setdefault(model, {})[value] = count
    return counts
