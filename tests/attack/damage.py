"""Random damage to files and tables, each from one seed: what a fuzzer tries."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet as pq

FORMATS = ("parquet", "csv", "jsonl", "csv.gz", "jsonl.gz", "csv.zst")
HOSTILE_TEXT = ("", " ", "\0", "\x1b[31m", "\u202e", "\ufeff", "a" * 5_000, '"', "\r\n", "🙂", "=1+1", "nan", "1e999")
EXTREME_NUMBERS = (0.0, -0.0, 1e308, -1e308, 5e-324, float("nan"), float("inf"), -1.0, 0.5, 1.0, 2.0**63)


def write_table(table: pa.Table, folder: Path, kind: str) -> Path:
    """Write a table in one of ``FORMATS``."""
    path = folder / f"table.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
        return path
    sink = pa.BufferOutputStream()
    if kind.startswith("csv"):
        pyarrow.csv.write_csv(table, sink)
        content = sink.getvalue().to_pybytes()
    else:
        content = b"".join(json.dumps(row).encode() + b"\n" for row in table.to_pylist())
    if kind.endswith(".gz"):
        content = gzip.compress(content, 1)
    elif kind.endswith(".zst"):
        content = pa.compress(content, codec="zstd", asbytes=True)
    path.write_bytes(content)
    return path

    return [json.dumps(row).encode() + b"\n" for row in table.to_pylist()]


def damage_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip, cut, repeat, insert or exchange some bytes."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        at, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 64))
        kind = rng.integers(6)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            data[at:at] = data[max(at - length, 0) : at]
        elif kind == 3:
            data[at:at] = rng.bytes(length)
        elif kind == 4:
            data[at : at + length] = bytes(length)
        else:
            del data[at : at + length]
    return bytes(data)


def strange_column(rows: int, rng: np.random.Generator) -> pa.Array:
    """A column of a random type with extreme values and nulls."""
    makers: tuple[Callable[[], pa.Array], ...] = (
        lambda: pa.array(rng.choice(np.array(EXTREME_NUMBERS), rows)),
        lambda: pa.array(rng.choice(np.array(HOSTILE_TEXT, dtype=object), rows).tolist()),
        lambda: pa.array(rng.integers(-(2**62), 2**62, rows)),
        lambda: pa.array(rng.integers(0, 2, rows).astype(bool)),
        lambda: pa.array([None] * rows),
        lambda: pa.array([Decimal("1e30")] * rows, pa.decimal128(38, 2)),
        lambda: pa.array(rng.integers(-(2**62), 2**62, rows), pa.timestamp("us", tz="Asia/Kathmandu")),
        lambda: pa.array(rng.integers(-(2**62), 2**62, rows), pa.timestamp("s")),
        lambda: pa.array(rng.integers(0, 2**40, rows), pa.timestamp("ms", tz="Nowhere/Atlantis")),
        lambda: pa.array(rng.integers(-(2**31), 2**31, rows).astype(np.int32), pa.date32()),
        lambda: pa.array([date(1, 1, 1), date(9999, 12, 31)] * rows)[:rows],
        lambda: pa.array([datetime(2020, 1, 1, tzinfo=UTC)] * rows),
        lambda: pa.array([timedelta(days=100_000)] * rows),
        lambda: pa.array(rng.integers(-(2**62), 2**62, rows), pa.duration("s")),
        lambda: pa.array([rng.bytes(5) for _ in range(rows)], pa.binary()),
        lambda: pa.array([[1.0, None]] * rows),
        lambda: pa.array([{"role": "user", "content": "\0"}] * rows),
        lambda: pa.array([[("a", 1)]] * rows, pa.map_(pa.string(), pa.int64())),
        lambda: pa.array(["x", None] * rows)[:rows].cast(pa.dictionary(pa.int32(), pa.string())),
        lambda: pa.array(["y"] * rows, pa.large_string()),
        lambda: pa.array(rng.integers(0, 2**63, rows).astype(np.uint64) * np.uint64(2)),
        lambda: pa.array(rng.random(rows).astype(np.float16)),
    )
    column = makers[int(rng.integers(len(makers)))]()
    if rng.random() < 0.3 and rows and not pa.types.is_null(column.type):
        keep = pa.array(rng.random(rows) < 0.8)
        column = pa.compute.if_else(keep, column, pa.scalar(None, column.type)) if _can_choose(column.type) else column
    return column


def _can_choose(kind: pa.DataType) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or pa.types.is_float16(kind))


def damage_table(table: pa.Table, rng: np.random.Generator) -> pa.Table:
    """Replace, rename, drop or repeat columns and rows."""
    for _ in range(int(rng.integers(1, 4))):
        if not table.num_columns:
            break
        at, kind = int(rng.integers(table.num_columns)), rng.integers(6)
        name = table.column_names[at]
        if kind <= 2:
            table = table.set_column(at, name, strange_column(table.num_rows, rng))
        elif kind == 3:
            table = table.remove_column(at)
        elif kind == 4:
            table = table.append_column(str(rng.choice(HOSTILE_TEXT)), table.column(at))
        else:
            table = table.take(rng.integers(max(table.num_rows, 1), size=int(rng.integers(0, 2 * table.num_rows + 1))))
    return table
