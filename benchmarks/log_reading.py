"""How fast is a long log read in batches, and does its memory depend on the number of rows?

    python -m benchmarks.log_reading --rows 250000

A log of about 1 kB of text per row is written as Parquet, as CSV and as compressed JSON lines, with this number of rows
and with four times as many. Each is read twice, as ``evaluate`` does: the first pass checks every row and takes the
samples, the second yields all rows again. Each reading runs in a process of its own, whose peak memory is printed. MB/s
count decoded bytes and seconds of the processor. The exit code is 1 if four times the rows need 10 % more memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from deconfound.loading import load

MEGABYTE = 1e6
GROWTH = 4
MAX_GROWTH = 1.10  # of memory
ROWS_AT_ONCE = 10_000
VOCABULARY = [f"{head}{tail}" for head in ("re", "un", "par", "in", "voice", "order") for tail in range(500)]
MODELS = ("cedar", "maple", "oak")
CONTEXTS = 300  # that are replayed and in the experiment
ENDINGS = ("parquet", "csv", "jsonl.gz")


def _texts(rng: np.random.Generator, rows: int, words: int) -> list[str]:
    drawn = rng.integers(len(VOCABULARY), size=(rows, words))
    return [" ".join(VOCABULARY[at] for at in row) for row in drawn]


def tables(rows: int) -> Iterator[pa.Table]:
    """The log in pieces; every hundredth row is on a replayed context."""
    for number, start in enumerate(range(0, rows, ROWS_AT_ONCE)):
        rng = np.random.default_rng([1, number])
        count = min(ROWS_AT_ONCE, rows - start)
        contexts = _texts(rng, count, 60)
        for at in range(0, count, 100):
            contexts[at] = f"question {rng.integers(CONTEXTS)}"
        yield pa.table(
            {
                "context": contexts,
                "model": rng.choice(MODELS, count).tolist(),
                "output": _texts(rng, count, 70),
                "outcome": rng.integers(0, 2, count),
                "user_id": [f"u{at}" for at in rng.integers(rows // 10 + 1, size=count)],
            }
        )


def write_log(path: Path, rows: int) -> None:
    """Write the log in the format of the file's name."""
    pieces = tables(rows)
    first = next(pieces)
    if path.suffix == ".parquet":
        with parquet.ParquetWriter(path, first.schema) as writer:
            for piece in (first, *pieces):
                writer.write_table(piece)
    elif path.suffix == ".csv":
        with arrow_csv.CSVWriter(path, first.schema) as writer:
            for piece in (first, *pieces):
                writer.write(piece)
    else:
        with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
            for piece in (first, *pieces):
                file.writelines(json.dumps(row) + "\n" for row in piece.to_pylist())


def write_others(folder: Path) -> None:
    """An experiment and a replay of the same contexts."""
    rows = [{"context": f"question {at}", "model": name} for at in range(CONTEXTS) for name in MODELS]
    replay = [row | {"output": f"{row['model']} on {row['context']}"} for row in rows]
    parquet.write_table(pa.Table.from_pylist(replay), folder / "replay.parquet")
    drawn = [replay[at] | {"outcome": at % 2} for at in range(0, len(replay), 2)]
    parquet.write_table(pa.Table.from_pylist(drawn), folder / "experiment.parquet")


def measure(path: Path) -> None:
    """Print rows, decoded bytes, seconds of the processor in both passes, and the peak memory in MB."""
    experiment, replay = (path.parent / f"{role}.parquet" for role in ("experiment", "replay"))
    start = time.process_time()
    study = load(log=path, experiment=experiment, replay=replay)
    first = time.process_time() - start
    if study.log_stream is None:
        raise ValueError("the log is too short for batches")
    rows = size = 0
    for part in study.log_stream.parts:
        for log in part.batches():
            rows, size = rows + len(log), size + log.arrow.nbytes
    second = time.process_time() - start - first
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps([rows, size, first, second, peak]))


def compare(folder: Path, ending: str, rows: int) -> bool:
    """Read logs of two lengths; whether the memory is the same."""
    peaks: list[float] = []
    for count in (rows, GROWTH * rows):
        path = folder / f"log.{ending}"
        write = [sys.executable, "-m", "benchmarks.log_reading", "--write", str(path), str(count)]
        subprocess.run(write, check=True)
        command = [sys.executable, "-m", "benchmarks.log_reading", "--measure", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        read, size, first, second, peak = json.loads(done.stdout)
        peaks.append(peak)
        print(
            f"{ending:9s} {read:9,} rows, file {path.stat().st_size / MEGABYTE:5,.0f} MB, {size / MEGABYTE:5,.0f} MB "
            f"decoded: first pass {size / MEGABYTE / first:4,.0f} MB/s, second {size / MEGABYTE / second:4,.0f} MB/s, "
            f"peak memory {peak:,.0f} MB",
            flush=True,
        )
        path.unlink()
    return peaks[1] <= MAX_GROWTH * peaks[0]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Speed and memory of reading a long log.")
    parser.add_argument("--rows", type=int, default=250_000)
    parser.add_argument("--formats", nargs="*", choices=ENDINGS, default=list(ENDINGS))
    parser.add_argument("--write", nargs=2, metavar=("FILE", "ROWS"), help="one log, for the processes of this run")
    parser.add_argument("--measure", metavar="FILE", help="one reading, for the processes of this run")
    given = parser.parse_args(arguments)
    if given.write:
        write_log(Path(given.write[0]), int(given.write[1]))
        return 0
    if given.measure:
        measure(Path(given.measure))
        return 0
    with tempfile.TemporaryDirectory() as name:
        write_others(Path(name))
        same = [compare(Path(name), ending, given.rows) for ending in given.formats]
    return 0 if all(same) else 1


if __name__ == "__main__":
    raise SystemExit(main())
