"""The finished table of a sweep, and a digest to compare two of them by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from deconfound_bench.results import COLUMNS, INTEGERS, STRINGS, Score, record, to_table
from deconfound_bench.sweep.files import canonical, checksum, write
from deconfound_bench.sweep.task import Benchmark


def write_results(path: Path, benchmark: Benchmark, scores: Sequence[Score], families: Sequence[str]) -> None:
    """Write the table, and what it was made with into its metadata; the same scores give the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = to_table(scores, families)
    made_with = {"benchmark": benchmark.name, "constants": benchmark.constants}
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(made_with), sink, compression="zstd", version="2.6")
    write(path, sink.getvalue().to_pybytes())


def digest(scores: Iterable[Score]) -> str:
    """Compare two sweeps at a glance: one hash of everything but the times, whatever the order of the scores."""
    ordered = sorted(scores, key=lambda one: one.key)
    return checksum(canonical([_plain(one) for one in ordered]))


def _plain(score: Score) -> list[object]:
    """A row in the types of its columns: 1 and 1.0 are the same confounding."""
    row = record(score)
    return [_typed(name, row[name]) for name in COLUMNS if name != "seconds"]


def _typed(name: str, value: str | float | None) -> object:
    if value is None or name in STRINGS:
        return value
    return int(value) if name in INTEGERS else float(value)
