"""What the benchmarks' commands do with their arguments."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from deconfound.errors import UsageError
from deconfound.evaluation import PAPER_FAMILY_NAMES
from deconfound.formatting import quote, to_jsonable
from deconfound.report.figures import require_matplotlib
from deconfound.reward import EVERY, family_by_name
from deconfound.threads import thread_count as cores
from deconfound_bench.articles import read_articles
from deconfound_bench.reproduction import reproduction
from deconfound_bench.results import Cell, Score, read_scores
from deconfound_bench.sweep import Bar, Benchmark, Only, digest, select, sweep
from deconfound_bench.synthetic import constants
from deconfound_bench.synthetic.benchmark import Synthetic, articles_digest
from deconfound_bench.synthetic.targeted import TARGETED_FAMILIES
from deconfound_bench.tables import (
    direct_against_dr,
    excess_table,
    overall,
    overall_table,
    to_markdown,
    to_text,
    values_table,
    winner_grid,
    winner_map,
)
from deconfound_bench.views import View, write_views

SEEDS = 30
QUICK_SEEDS = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """A benchmark, what of it is run unless told otherwise, and how it is shown; the first view is printed."""

    benchmark: Benchmark
    cells: tuple[Cell, ...]
    families: tuple[str, ...]
    folder: Path
    views: tuple[View, ...]
    seeds: int = SEEDS
    only: Only | None = None  # which families are run in which cells, unless families are named
    more: Callable[[Sequence[Score], Path], Sequence[Path]] | None = None  # what else is written, and where


def synthetic(arguments: argparse.Namespace) -> int:
    """The controlled validation: the grid, a small version of it, or the targeted regime."""
    folder = Path(arguments.output) / "targeted" if arguments.targeted else Path(arguments.output)
    articles = None if arguments.articles is None else Path(arguments.articles)
    corpus = None if articles is None else read_articles(articles)
    if corpus is not None and not arguments.quiet:
        sys.stderr.writelines(f"{corpus.source}: {line}\n" for line in corpus.dropped)
    families, seeds = PAPER_FAMILY_NAMES, SEEDS
    if arguments.quick:
        name, setting, cells, seeds = "synthetic-quick", constants.QUICK, constants.quick_cells(), QUICK_SEEDS
    elif arguments.targeted:
        name, setting, cells = "synthetic-targeted", constants.TARGETED, constants.targeted_cells()
        families = TARGETED_FAMILIES
    else:
        name, setting, cells = "synthetic", constants.GRID, constants.grid_cells()
    benchmark = Synthetic(name, setting, folder / "pool", articles, articles_digest(corpus), _workers(arguments))
    return run(arguments, Plan(benchmark, cells, families, folder, (View("all", cells),), seeds))


def write_reproduction(arguments: argparse.Namespace) -> int:
    """The page that compares finished benchmarks with the paper."""
    page = reproduction([Path(path) for path in arguments.results])
    if arguments.output is None:
        sys.stdout.write(page)
    else:
        Path(arguments.output).write_text(page, encoding="utf-8")
    return 0


def show_excess(arguments: argparse.Namespace) -> int:
    """What each family loses to the best of the six on finished benchmarks."""
    table = excess_table([read_scores(Path(path)) for path in arguments.results])
    sys.stdout.write(to_markdown(table) if arguments.markdown else to_text(table))
    return 0


def run(arguments: argparse.Namespace, plan: Plan) -> int:
    """Sweep, write tables and pictures, show the most important of them."""
    require_matplotlib()
    cells = select(plan.cells, arguments.cells) if arguments.cells else plan.cells
    families, folder = _families(arguments.families, plan.families), plan.folder
    bar = Bar(arguments.quiet)
    seeds = _seeds(arguments.seeds, plan.seeds)
    only = None if arguments.families else plan.only
    scores = sweep(plan.benchmark, cells, seeds, families, folder, _workers(arguments), bar, only=only)
    bar("drawing tables and pictures", 0.0)
    written = [*write_views(scores, plan.views, folder / "tables"), *(plan.more(scores, folder) if plan.more else ())]
    bar.clear()
    first = next(shown for view in plan.views if (shown := view.of(scores)))
    sys.stdout.write(_as_json(plan.benchmark, scores, folder) if arguments.json else _as_text(first))
    if not (arguments.json or arguments.quiet):
        told = f"{folder / 'results.parquet'}, {len(written)} tables and pictures in {folder / 'tables'}"
        sys.stderr.write(f"kept: {told}\n")
    return 0


def _as_text(scores: Sequence[Score]) -> str:
    tables = [winner_grid(winner_map(scores)), overall_table(overall(scores)), values_table(direct_against_dr(scores))]
    return "\n\n".join(to_text(table) for table in tables)


def _as_json(benchmark: Benchmark, scores: Sequence[Score], folder: Path) -> str:
    told = {
        "benchmark": benchmark.name,
        "results": str(folder / "results.parquet"),
        "digest": digest(scores),
        "constants": json.loads(benchmark.constants),
        "overall": [to_jsonable(asdict(standing)) for standing in overall(scores).standings],
    }
    return json.dumps(told, indent=2, allow_nan=False) + "\n"


def _families(text: str, usual: Sequence[str]) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        return tuple(usual)
    if names == ["all"]:
        return tuple(family.name for family in EVERY)
    if len(set(names)) < 2:
        every = ", ".join(family.name for family in EVERY)
        raise UsageError(f"--families: a benchmark compares; name at least two of {every}.")
    return tuple(family_by_name(name).name for name in names)


def _seeds(text: str, usual: int) -> range:
    """The first N seeds, or those from A to B."""
    first, dash, last = text.partition("-")
    try:
        found = range(int(first), int(last) + 1) if dash else range(int(text) if text else usual)
    except ValueError:
        found = range(0)
    if not found:
        raise UsageError(f"--seeds takes a number of seeds like 30 or a range like 1000-1029, not {quote(text)}.")
    return found


def _workers(arguments: argparse.Namespace) -> int:
    return cores() if arguments.workers is None else int(arguments.workers)
