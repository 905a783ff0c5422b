"""How long does an evaluation of a long log take, and how much memory?

    python -m benchmarks.long_log --rows 1000000 4000000

A log with about 1 KB of text per row is written as Parquet files to a temporary folder. A new process then loads and
evaluates it: with ``auto``, with all six families of the paper on the same sums, or with none, which is
features and sums alone. Printed are rows, megabytes of text, elapsed and processor seconds, speed, and the largest
memory of that process. On a machine that others use, elapsed seconds say little; processor seconds are those of all
threads together. With several numbers of rows, the exit code is 1 if memory grows by more than 10 % between the first
and another.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.long_log_studies import World, write_log
from deconfound.data import Study
from deconfound.evaluation import PAPER_FAMILY_NAMES, prepare
from deconfound.features import FeatureSpec
from deconfound.features.spread_pass import run_pass
from deconfound.features.summed_study import plan_pass
from deconfound.loading import load
from deconfound.prepared_study import FOLDS
from deconfound.progress import no_progress
from deconfound.reward import Auto
from deconfound.threads import one_blas_thread

MEGABYTE = 1e6
EXPERIMENT_ROWS = 600
WORLD_SEED, STRENGTH = 0, 0.5
SENTENCES = 12  # per output: 1 KB of text per row
MAX_GROWTH = 1.1  # of memory, with the number of rows


@dataclass(frozen=True)
class Run:
    """What one process used."""

    elapsed: float
    processor: float
    peak_megabytes: float


def main() -> int:
    """Write the study, evaluate it in a new process, and print one line per choice of families."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000])
    parser.add_argument("--families", choices=("none", "auto", "all", "every"), default="auto")
    parser.add_argument("--study", type=Path, help="evaluate the study in this folder and print what it took")
    arguments = parser.parse_args()
    if arguments.study is not None:
        _evaluate(arguments.study, arguments.families)
        return 0
    chosen = ("none", "auto", "all") if arguments.families == "every" else (arguments.families,)
    print("      rows    MB  families  elapsed s  processor s  MB/s of processor  peak MB", flush=True)
    peaks: dict[str, list[float]] = {families: [] for families in chosen}
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            megabytes = write_study(Path(folder), rows) / MEGABYTE
            for families in chosen:
                run = _run(Path(folder), families)
                peaks[families].append(run.peak_megabytes)
                speed = megabytes / run.processor
                print(
                    f"{rows:>10,} {megabytes:>5.0f}  {families:<8}  {run.elapsed:>9.0f}  {run.processor:>11.0f}  "
                    f"{speed:>17.1f}  {run.peak_megabytes:>7,.0f}",
                    flush=True,
                )
    return int(any(max(peak) > MAX_GROWTH * peak[0] for peak in peaks.values()))


def write_study(folder: Path, rows: int) -> int:
    """Write the three tables; returns the bytes of the log's texts."""
    world = World(WORLD_SEED, STRENGTH, sentences=SENTENCES)
    experiment, replay, _ = world.experiment_and_replay(EXPERIMENT_ROWS)
    (folder / "log").mkdir()
    size = write_log(world, rows, experiment, folder / "log")
    pq.write_table(experiment, folder / "experiment.parquet")
    pq.write_table(replay, folder / "replay.parquet")
    return size


def _run(folder: Path, families: str) -> Run:
    command = [sys.executable, "-m", "benchmarks.long_log", "--study", str(folder), "--families", families]
    start = time.monotonic()
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    processor, peak = (float(number) for number in output.split()[-2:])
    return Run(time.monotonic() - start, processor, peak)


def _evaluate(folder: Path, families: str) -> None:
    experiment, replay = folder / "experiment.parquet", folder / "replay.parquet"
    study = load(log=folder / "log", experiment=experiment, replay=replay)
    if families == "none":
        _sum_only(study)
    else:
        prepared = prepare(study)
        for family in (Auto(),) if families == "auto" else PAPER_FAMILY_NAMES:
            prepared.evaluate(family)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / MEGABYTE)


def _sum_only(study: Study) -> None:
    stream = study.log_stream
    if stream is None:
        raise SystemExit("This log is short enough to be read as a whole; take more rows.")
    with one_blas_thread():
        run_pass(plan_pass(study, FeatureSpec(), FOLDS, 0).log_pass, stream, no_progress)


if __name__ == "__main__":
    raise SystemExit(main())
