"""What the commands of the cached benchmarks do with their arguments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from deconfound.errors import UsageError
from deconfound.evaluation import PAPER_FAMILY_NAMES
from deconfound.formatting import quote
from deconfound.reward import VARIANTS
from deconfound_bench.cached.alignment import alignment, alignment_table, write_alignment
from deconfound_bench.cached.benchmark import Cached, Recipe
from deconfound_bench.cached.pool import load_cached_pool
from deconfound_bench.cli.commands import Plan, run
from deconfound_bench.coding.pictures import write_coding
from deconfound_bench.coding.recipe import coding as coding_recipe
from deconfound_bench.coding.recipe import coding_cells, read_patches
from deconfound_bench.grid import Grid
from deconfound_bench.instructions.recipe import instruction_cells, read_answers
from deconfound_bench.instructions.recipe import instructions as instructions_recipe
from deconfound_bench.results import Cell, Score
from deconfound_bench.summarization import recipe as summaries
from deconfound_bench.tables import to_csv, to_markdown, to_text
from deconfound_bench.tables.write import write_file
from deconfound_bench.views import View

More: TypeAlias = Callable[[Sequence[Score], Path], Sequence[Path]]
FEWEST = 10  # contexts to cut a benchmark down to


def summarization(arguments: argparse.Namespace) -> int:
    """Judged summaries under two reward maps."""
    grid = summaries.read_judged(Path(arguments.grid))
    recipe = summaries.summarization(grid, _contexts(arguments.contexts, grid))
    shown = None if arguments.families else PAPER_FAMILY_NAMES  # who is asked for by name is shown everywhere
    views = (
        View("settings", summaries.main_cells(), shown),
        View("winner-map", summaries.map_cells()),
        View("values", summaries.value_cells(), shown),
    )
    cells = tuple(sorted({cell for view in views for cell in view.cells}))
    families = (*PAPER_FAMILY_NAMES, *(variant.name for variant in VARIANTS))
    _tell(arguments, grid, summaries.about(grid))
    plan = Plan(
        _cached(arguments, recipe, grid),
        cells,
        families,
        Path(arguments.output),
        views,
        only=lambda cell, family: family in PAPER_FAMILY_NAMES or cell in summaries.map_cells(),
        more=partial(write_aligned, recipe.name),
    )
    return run(arguments, plan)


def coding(arguments: argparse.Namespace) -> int:
    """Patches under twenty-five definitions of the reward."""
    grid = read_patches(Path(arguments.grid))
    recipe = coding_recipe(grid)
    return _plain(arguments, recipe, grid, coding_cells(), partial(write_patches, recipe.name))


def instructions(arguments: argparse.Namespace) -> int:
    """Answers of chat models."""
    grid = read_answers(Path(arguments.grid))
    recipe = instructions_recipe(grid)
    return _plain(arguments, recipe, grid, instruction_cells(), partial(write_aligned, recipe.name))


def write_aligned(name: str, scores: Sequence[Score], folder: Path) -> list[Path]:
    """How far seen and judged traits tell the target, as a table to read and as one to keep."""
    aligned = alignment(load_cached_pool(folder / "pool"), sorted({one.seed for one in scores}))
    table = alignment_table(name, aligned)
    texts = {".txt": to_text(table), ".md": to_markdown(table), ".csv": to_csv(table)}
    shown = [write_file(folder / "tables", f"alignment{ending}", text.encode()) for ending, text in texts.items()]
    return [write_alignment(folder / "alignment.parquet", name, aligned), *shown]


def write_patches(name: str, scores: Sequence[Score], folder: Path) -> list[Path]:
    """The same, and the maps over both weights of the reward."""
    whole = {one.cell for one in scores} == set(coding_cells()) and set(PAPER_FAMILY_NAMES) <= {
        one.family for one in scores
    }
    return [*write_aligned(name, scores, folder), *(write_coding(scores, folder / "tables") if whole else ())]


def _plain(arguments: argparse.Namespace, recipe: Recipe, grid: Grid, cells: tuple[Cell, ...], more: More) -> int:
    _tell(arguments, grid, ())
    views = (View("all", cells),)
    benchmark, folder = _cached(arguments, recipe, grid), Path(arguments.output)
    return run(arguments, Plan(benchmark, cells, PAPER_FAMILY_NAMES, folder, views, more=more))


def _cached(arguments: argparse.Namespace, recipe: Recipe, grid: Grid) -> Cached:
    return Cached(recipe, Path(arguments.grid), grid.digest, Path(arguments.output) / "pool")


def _contexts(text: str, grid: Grid) -> int | None:
    there = len(grid.contexts)
    if text == "all" or (not text and there <= summaries.HARD):
        return None
    if not text:
        return summaries.HARD
    if text.isdecimal() and FEWEST <= int(text) <= there:
        return int(text)
    some = f"all or a number from {FEWEST} to {there}, as many as the grid has"
    accepted = some if there >= FEWEST else f"only all where the grid has {there} contexts"
    raise UsageError(f"--contexts takes {accepted}, not {quote(text)}.")


def _tell(arguments: argparse.Namespace, grid: Grid, more: tuple[str, ...]) -> None:
    """What was left out or stood in for; it is in the constants of the result, too."""
    if not arguments.quiet:
        for line in (*grid.dropped, *grid.notes, *more):
            sys.stderr.write(f"{grid.name}: {line}\n")
