"""What does a log take to read whose files have an unusual shape?

    python -m benchmarks.log_shapes

Three logs: 90,000 rows with 20 prompts of 20 KB in one Parquet file, where each prompt is stored once; 1,000 Parquet
files of 120 rows; 1,000 CSV files of 120 rows. Each is read in a process of its own, as ``evaluate`` does: a first pass
that checks every row and takes the samples, and a second one that yields all rows. Printed are seconds of the processor
and the peak memory.
"""

from __future__ import annotations

import argparse
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

from benchmarks.log_reading import CONTEXTS, MODELS, VOCABULARY, write_others
from deconfound.loading import load

SHAPES = ("prompts", "parquet", "csv")
PROMPT_ROWS, PROMPTS, PROMPT_LETTERS = 90_000, 20, 20_000
FILES, FILE_ROWS = 1_000, 120


def rows_of(numbers: np.ndarray, contexts: Sequence[str]) -> pa.Table:
    """Rows with these numbers; contexts recur, outputs and users do not."""
    return pa.table(
        {
            "context": [contexts[at % len(contexts)] for at in numbers],
            "model": [MODELS[at % len(MODELS)] for at in numbers],
            "output": [f"answer {at} {'and more ' * (at % 20)}" for at in numbers],
            "outcome": [float(at // 7 % 2) for at in numbers],
            "user_id": [f"u{at}" for at in numbers],
        }
    )


def prompt_pieces() -> Iterator[pa.Table]:
    """Rows with long prompts, some at a time: all of them would not fit into one column."""
    rng = np.random.default_rng(0)
    prompts = [" ".join(rng.choice(VOCABULARY, PROMPT_LETTERS // 3))[:PROMPT_LETTERS] for _ in range(PROMPTS)]
    for start in range(0, PROMPT_ROWS, 5_000):
        yield rows_of(np.arange(start, start + 5_000), prompts)


def write_shape(folder: Path, shape: str) -> None:
    """The log of one shape, in a folder of its name."""
    target = folder / shape
    target.mkdir()
    if shape == "prompts":
        parquet.write_table(pa.concat_tables(prompt_pieces()), target / "log.parquet")
        return
    contexts = [f"question {at}" for at in range(CONTEXTS)]
    for number in range(FILES):
        table = rows_of(np.arange(number * FILE_ROWS, (number + 1) * FILE_ROWS), contexts)
        if shape == "csv":
            arrow_csv.write_csv(table, target / f"part-{number:04}.csv")
        else:
            parquet.write_table(table, target / f"part-{number:04}.parquet")


def measure(log: Path) -> None:
    """Read a log, and print what that took."""
    experiment, replay = (log.parent / f"{role}.parquet" for role in ("experiment", "replay"))
    start = time.process_time()
    study = load(log=log, experiment=experiment, replay=replay)
    first = time.process_time() - start
    parts = () if study.log_stream is None else study.log_stream.parts
    rows = sum(len(batch) for part in parts for batch in part.batches())
    second = time.process_time() - start - first
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    how = f"second pass over {rows:,} rows {second:.1f} s, sample {len(study.log):,}" if parts else "not in batches"
    print(f"{log.name:8s} first pass {first:.1f} s, {how}, peak memory {peak:.2f} GB", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write and read each log."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--write", metavar="FOLDER", type=Path, help="one log, for the processes of this run")
    parser.add_argument("--measure", type=Path, metavar="FOLDER", help="one reading, for the processes of this run")
    given = parser.parse_args(arguments)
    if given.write:
        write_shape(given.write.parent, given.write.name)
        return
    if given.measure:
        measure(given.measure)
        return
    with tempfile.TemporaryDirectory() as name:
        write_others(Path(name))
        for shape in given.shapes:
            for step in ("--write", "--measure"):  # the memory of a process begins with that of its parent
                command = [sys.executable, "-m", "benchmarks.log_shapes", step, str(Path(name) / shape)]
                subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
