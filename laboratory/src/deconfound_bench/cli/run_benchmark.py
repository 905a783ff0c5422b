"""Run a benchmark from the command line: options, sweep, tables and figures, printed summary."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from deconfound.cli.engine_arguments import add_engine_options, parse_engine
from deconfound.cli.options import add_output_options
from deconfound.cli.output_path import check_output_folder, require_no_inputs
from deconfound.cli.terminal import write_message, write_result
from deconfound.errors import UsageError
from deconfound.formatting import quote, to_jsonable
from deconfound.report.figures import require_matplotlib
from deconfound.reward import EVERY, family_by_name
from deconfound.threads import thread_count as cores
from deconfound_bench.results import Cell, Score, scores_digest
from deconfound_bench.score_tables import (
    direct_vs_dr,
    overall_standings,
    standings_table,
    to_text,
    values_table,
    winner_grid,
    winner_map,
)
from deconfound_bench.sweep import Benchmark, FamilyFilter, SweepProgress, filter_cells, require_run_folder, run_sweep
from deconfound_bench.views import View, write_views

DEFAULT_SEEDS = 30
MAX_SEEDS = 10_000  # of one run; every one has tasks for all cells

ExtraOutputs: TypeAlias = Callable[[Sequence[Score], Path], Sequence[Path]]
"""Writes further files of a benchmark to its folder and returns their paths."""


@dataclass(frozen=True, slots=True)
class BenchmarkRun:
    """A benchmark, what is run by default, and how it is shown; the first view with scores is printed."""

    benchmark: Benchmark
    cells: tuple[Cell, ...]
    families: tuple[str, ...]
    folder: Path
    views: tuple[View, ...]
    seeds: int = DEFAULT_SEEDS
    family_filter: FamilyFilter | None = None  # which families run in which cells, unless --families is given
    extra_outputs: ExtraOutputs | None = None


def add_sweep_options(parser: argparse.ArgumentParser, folder: str) -> None:
    """Options that all benchmarks share."""
    parser.add_argument("--seeds", default="", metavar="N|A-B", help="the first N seeds, or seeds A to B (default 30)")
    parser.add_argument(
        "--cells", default="", metavar="NAME=VALUE,...", help="only these cells, e.g. confounding=0|0.9,n_log=20000"
    )
    parser.add_argument(
        "--families", default="", metavar="A,B,...", help="only these families, or all (default: those of the paper)"
    )
    add_engine_options(parser, workers="number of processes (default: one per core)")
    parser.add_argument(
        "-o",
        "--output",
        default=folder,
        metavar="DIR",
        help=f"output folder, new, empty or of an earlier run (default {folder})",
    )
    add_output_options(parser)


def run_benchmark(arguments: argparse.Namespace, run: BenchmarkRun) -> int:
    """Run the sweep, write tables and figures, and print the main tables."""
    require_matplotlib()
    cells = filter_cells(run.cells, arguments.cells) if arguments.cells else run.cells
    families, seeds = parse_families(arguments.families, run.families), parse_seeds(arguments.seeds, run.seeds)
    progress = SweepProgress(arguments.quiet)
    scores = run_sweep(
        run.benchmark,
        cells,
        seeds,
        families,
        run.folder,
        parse_engine(arguments),
        progress,
        family_filter=None if arguments.families else run.family_filter,
    )
    progress("writing tables and figures", 0.0)
    paths = list(write_views(scores, run.views, run.folder / "tables"))
    paths += run.extra_outputs(scores, run.folder) if run.extra_outputs else ()
    progress.clear()
    shown = next(selected for view in run.views if (selected := view.select(scores)))
    write_result(_to_json(run.benchmark, scores, run.folder) if arguments.json else _to_text(shown))
    if not (arguments.json or arguments.quiet):
        files = f"{run.folder / 'results.parquet'}, {len(paths)} tables and figures in {run.folder / 'tables'}"
        write_message(f"saved: {files}\n")
    return 0


def _to_text(scores: Sequence[Score]) -> str:
    tables = (
        winner_grid(winner_map(scores)),
        standings_table(overall_standings(scores)),
        values_table(direct_vs_dr(scores)),
    )
    return "\n\n".join(to_text(table) for table in tables)


def _to_json(benchmark: Benchmark, scores: Sequence[Score], folder: Path) -> str:
    document = {
        "benchmark": benchmark.name,
        "results": str(folder / "results.parquet"),
        "digest": scores_digest(scores),
        "constants": json.loads(benchmark.constants),
        "overall": [to_jsonable(asdict(standing)) for standing in overall_standings(scores).standings],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def parse_families(text: str, default: Sequence[str]) -> tuple[str, ...]:
    """The families named by --families."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        return tuple(default)
    available = tuple(family.name for family in EVERY)
    if names == ["all"]:
        return available
    if len(set(names)) < 2:
        raise UsageError(f"--families: a benchmark compares families; name at least two of {', '.join(available)}.")
    return tuple(family_by_name(name).name for name in names)


def parse_seeds(text: str, default: int) -> range:
    """The first N seeds, or those from A to B."""
    first, dash, last = text.partition("-")
    try:
        seeds = range(int(first), int(last) + 1) if dash else range(int(text) if text else default)
    except ValueError:
        seeds = range(0)
    if not seeds:
        raise UsageError(f"--seeds takes a number of seeds like 30 or a range like 1000-1029, not {quote(text)}.")
    if seeds[-1] - seeds[0] >= MAX_SEEDS:
        raise UsageError(f"--seeds: at most {MAX_SEEDS:,} seeds in one run, not {quote(text)}.")
    return seeds


def output_folder(arguments: argparse.Namespace, inputs: Sequence[Path], part: str = "") -> Path:
    """The folder of --output or a part of it, if a sweep may write there and none of its files is an input."""
    folder = check_output_folder(arguments.output) / part
    require_run_folder(folder)
    require_no_inputs([Path(top) / name for top, _, names in os.walk(folder) for name in names], inputs)
    return folder


def worker_count(arguments: argparse.Namespace) -> int:
    """The number of processes given by --workers, or one per core."""
    return parse_engine(arguments).workers or cores()
