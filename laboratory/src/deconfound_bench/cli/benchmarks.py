"""The commands `deconfound bench synthetic`, `summarization`, `coding` and `instructions`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from deconfound.cli.options import EXIT_CODES, Commands
from deconfound.cli.terminal import write_message
from deconfound.errors import UsageError
from deconfound.evaluation import PAPER_FAMILY_NAMES
from deconfound.formatting import quote
from deconfound.reward import VARIANTS
from deconfound_bench.articles import read_articles
from deconfound_bench.cached.benchmark import BenchmarkSpec, CachedBenchmark
from deconfound_bench.cached.pool import load_cached_pool
from deconfound_bench.cached.target_r2 import fit_targets, target_r2_table, write_target_fits
from deconfound_bench.cli.run_benchmark import (
    DEFAULT_SEEDS,
    BenchmarkRun,
    ExtraOutputs,
    add_sweep_options,
    output_folder,
    run_benchmark,
    worker_count,
)
from deconfound_bench.grid import Grid
from deconfound_bench.results import Cell, Score
from deconfound_bench.score_tables import write_table
from deconfound_bench.synthetic import constants
from deconfound_bench.synthetic.benchmark import TARGETED_FAMILIES, SyntheticBenchmark, corpus_digest
from deconfound_bench.tasks.coding.spec import coding_cells, coding_spec, read_coding_grid
from deconfound_bench.tasks.coding.weight_figures import write_coding_outputs
from deconfound_bench.tasks.instructions import instruction_cells, instructions_spec, read_instructions_grid
from deconfound_bench.tasks.summarization import (
    HARD_CONTEXTS,
    grid_notes,
    main_cells,
    read_judged_grid,
    summarization_spec,
    value_cells,
    winner_map_cells,
)
from deconfound_bench.views import View

QUICK_SEEDS = 3
MIN_CONTEXTS = 10  # that --contexts accepts


def add_synthetic_benchmark(commands: Commands) -> None:
    """Add `synthetic`."""
    parser = commands.add_parser(
        "synthetic",
        help="the controlled validation: summarization programs and simulated users",
        description="Real summarization programs on news-like articles; users, outcomes and choices are simulated from "
        "a known process. If it is interrupted, the same command continues where it stopped.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--articles", metavar="FILE", help="your own articles instead of the built-in ones")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--quick", action="store_true", help="a small version that takes less than a minute")
    kind.add_argument(
        "--targeted", action="store_true", help="the paper's regime for doubly robust values instead of the grid"
    )
    add_sweep_options(parser, "deconfound-synthetic")
    parser.set_defaults(run=run_synthetic)


def run_synthetic(arguments: argparse.Namespace) -> int:
    """The grid, a small version of it, or the targeted regime."""
    articles = None if arguments.articles is None else Path(arguments.articles)
    inputs = () if articles is None else (articles,)
    folder = output_folder(arguments, inputs, "targeted" if arguments.targeted else "")
    corpus = None if articles is None else read_articles(articles)
    if corpus is not None and not arguments.quiet:
        write_message("".join(f"{corpus.source}: {line}\n" for line in corpus.dropped))
    families, seeds = PAPER_FAMILY_NAMES, DEFAULT_SEEDS
    if arguments.quick:
        name, setting, cells, seeds = "synthetic-quick", constants.QUICK, constants.quick_cells(), QUICK_SEEDS
    elif arguments.targeted:
        name, setting, cells = "synthetic-targeted", constants.TARGETED, constants.targeted_cells()
        families = TARGETED_FAMILIES
    else:
        name, setting, cells = "synthetic", constants.GRID, constants.grid_cells()
    workers = worker_count(arguments)
    benchmark = SyntheticBenchmark(name, setting, folder / "pool", articles, corpus_digest(corpus), workers)
    return run_benchmark(arguments, BenchmarkRun(benchmark, cells, families, folder, (View("all", cells),), seeds))


def add_cached_benchmarks(commands: Commands) -> None:
    """Add `summarization`, `coding` and `instructions`."""
    summarization = commands.add_parser(
        "summarization", help="judged summaries of news articles under two reward maps", epilog=EXIT_CODES
    )
    _add_grid_option(summarization)
    summarization.add_argument(
        "--contexts", default="", metavar="N|all", help="only the N hardest contexts (default 48)"
    )
    add_sweep_options(summarization, "deconfound-summarization")
    summarization.set_defaults(run=run_summarization)
    coding = commands.add_parser(
        "coding", help="patches for real issues under twenty-five reward definitions", epilog=EXIT_CODES
    )
    _add_grid_option(coding)
    add_sweep_options(coding, "deconfound-coding")
    coding.set_defaults(run=run_coding)
    instructions = commands.add_parser("instructions", help="answers of chat models", epilog=EXIT_CODES)
    _add_grid_option(instructions)
    add_sweep_options(instructions, "deconfound-instructions")
    instructions.set_defaults(run=run_instructions)


def _add_grid_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--grid",
        required=True,
        metavar="DIR",
        help="folder with contexts.parquet and outputs.parquet, one output per context and model",
    )


def run_summarization(arguments: argparse.Namespace) -> int:
    """Judged summaries under two reward maps."""
    grid = read_judged_grid(Path(arguments.grid))
    spec = summarization_spec(grid, parse_contexts(arguments.contexts, grid))
    shown = None if arguments.families else PAPER_FAMILY_NAMES  # families requested by name appear in every view
    views = (
        View("settings", main_cells(), shown),
        View("winner-map", winner_map_cells()),
        View("values", value_cells(), shown),
    )
    _print_notes(arguments, grid, grid_notes(grid))
    benchmark = _cached_benchmark(arguments, spec, grid)
    run = BenchmarkRun(
        benchmark,
        tuple(sorted({cell for view in views for cell in view.cells})),
        (*PAPER_FAMILY_NAMES, *(variant.name for variant in VARIANTS)),
        _output_folder(arguments),
        views,
        family_filter=lambda cell, family: family in PAPER_FAMILY_NAMES or cell in winner_map_cells(),
        extra_outputs=partial(write_r2_outputs, benchmark),
    )
    return run_benchmark(arguments, run)


def run_coding(arguments: argparse.Namespace) -> int:
    """Patches under twenty-five reward definitions."""
    grid = read_coding_grid(Path(arguments.grid))
    benchmark = _cached_benchmark(arguments, coding_spec(grid), grid)
    return _run_simple(arguments, benchmark, grid, coding_cells(), partial(write_all_coding_outputs, benchmark))


def run_instructions(arguments: argparse.Namespace) -> int:
    """Answers of chat models."""
    grid = read_instructions_grid(Path(arguments.grid))
    benchmark = _cached_benchmark(arguments, instructions_spec(grid), grid)
    return _run_simple(arguments, benchmark, grid, instruction_cells(), partial(write_r2_outputs, benchmark))


def _run_simple(
    arguments: argparse.Namespace,
    benchmark: CachedBenchmark,
    grid: Grid,
    cells: tuple[Cell, ...],
    extra_outputs: ExtraOutputs,
) -> int:
    """A cached benchmark with one view of all cells."""
    _print_notes(arguments, grid, ())
    run = BenchmarkRun(
        benchmark,
        cells,
        PAPER_FAMILY_NAMES,
        _output_folder(arguments),
        (View("all", cells),),
        extra_outputs=extra_outputs,
    )
    return run_benchmark(arguments, run)


def _cached_benchmark(arguments: argparse.Namespace, spec: BenchmarkSpec, grid: Grid) -> CachedBenchmark:
    return CachedBenchmark(spec, Path(arguments.grid), grid.digest, _output_folder(arguments) / "pool")


def _output_folder(arguments: argparse.Namespace) -> Path:
    return output_folder(arguments, list(Path(arguments.grid).iterdir()))


def write_r2_outputs(benchmark: CachedBenchmark, scores: Sequence[Score], folder: Path) -> list[Path]:
    """Write the held-out R² of the target, as a table and as a Parquet file."""
    # A sweep without unfinished tasks has not looked at the pool, which may have been deleted or damaged since.
    benchmark.prepare(benchmark.pool, lambda _stage, _done: None)
    fits = fit_targets(load_cached_pool(benchmark.pool), sorted({score.seed for score in scores}))
    path = write_target_fits(folder / "alignment.parquet", benchmark.name, fits)
    return [path, *write_table(folder / "tables", "alignment", target_r2_table(benchmark.name, fits))]


def write_all_coding_outputs(benchmark: CachedBenchmark, scores: Sequence[Score], folder: Path) -> list[Path]:
    """Write the R² outputs and, for a complete run, the tables and figures over both weights of the reward."""
    complete = {score.cell for score in scores} == set(coding_cells())
    complete = complete and set(PAPER_FAMILY_NAMES) <= {score.family for score in scores}
    weight_outputs = write_coding_outputs(scores, folder / "tables") if complete else ()
    return [*write_r2_outputs(benchmark, scores, folder), *weight_outputs]


def parse_contexts(text: str, grid: Grid) -> int | None:
    """The number of contexts given by --contexts; None for all."""
    available = len(grid.contexts)
    if text == "all" or (not text and available <= HARD_CONTEXTS):
        return None
    if not text:
        return HARD_CONTEXTS
    if text.isdecimal() and MIN_CONTEXTS <= int(text) <= available:
        return int(text)
    accepted = f"all, or a number from {MIN_CONTEXTS} to {available}, the number of contexts of the grid"
    if available < MIN_CONTEXTS:
        accepted = f"only all, because the grid has {available} contexts"
    raise UsageError(f"--contexts takes {accepted}, not {quote(text)}.")


def _print_notes(arguments: argparse.Namespace, grid: Grid, notes: tuple[str, ...]) -> None:
    """Print what was omitted or replaced; the constants of the results record it, too."""
    if not arguments.quiet:
        for line in (*grid.omissions, *grid.notes, *notes):
            write_message(f"{grid.name}: {line}\n")
