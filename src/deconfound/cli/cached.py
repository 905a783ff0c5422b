"""What the commands of the cached benchmarks do with their arguments."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from deconfound.bench.cached.benchmark import Cached, Recipe
from deconfound.bench.coding.recipe import coding as coding_recipe
from deconfound.bench.coding.recipe import coding_cells, read_patches
from deconfound.bench.grid import Grid
from deconfound.bench.instructions.recipe import instruction_cells, read_answers
from deconfound.bench.instructions.recipe import instructions as instructions_recipe
from deconfound.bench.results import Cell
from deconfound.bench.summarization import recipe as summaries
from deconfound.bench.views import View
from deconfound.cli.bench import Plan, run
from deconfound.data import quoted
from deconfound.errors import UsageError
from deconfound.evaluation import PAPER_SIX
from deconfound.reward import VARIANTS

FEWEST = 10  # contexts to cut a benchmark down to


def summarization(arguments: argparse.Namespace) -> int:
    """Judged summaries under two reward maps."""
    grid = summaries.read_judged(Path(arguments.grid))
    recipe = summaries.summarization(grid, _contexts(arguments.contexts, grid))
    shown = None if arguments.families else PAPER_SIX  # who is asked for by name is shown everywhere
    views = (
        View("settings", summaries.main_cells(), shown),
        View("winner-map", summaries.map_cells()),
        View("values", summaries.value_cells(), shown),
    )
    cells = tuple(sorted({cell for view in views for cell in view.cells}))
    families = (*PAPER_SIX, *(variant.name for variant in VARIANTS))
    _tell(arguments, grid, summaries.about(grid))
    return run(arguments, Plan(_cached(arguments, recipe, grid), cells, families, Path(arguments.output), views))


def coding(arguments: argparse.Namespace) -> int:
    """Patches under twenty-five definitions of the reward."""
    grid = read_patches(Path(arguments.grid))
    return _plain(arguments, coding_recipe(grid), grid, coding_cells())


def instructions(arguments: argparse.Namespace) -> int:
    """Answers of chat models."""
    grid = read_answers(Path(arguments.grid))
    return _plain(arguments, instructions_recipe(grid), grid, instruction_cells())


def _plain(arguments: argparse.Namespace, recipe: Recipe, grid: Grid, cells: tuple[Cell, ...]) -> int:
    _tell(arguments, grid, ())
    plan = Plan(_cached(arguments, recipe, grid), cells, PAPER_SIX, Path(arguments.output), (View("all", cells),))
    return run(arguments, plan)


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
    raise UsageError(f"--contexts takes {accepted}, not {quoted(text)}.")


def _tell(arguments: argparse.Namespace, grid: Grid, more: tuple[str, ...]) -> None:
    """What was left out or stood in for; it is in the constants of the result, too."""
    if not arguments.quiet:
        for line in (*grid.dropped, *grid.notes, *more):
            sys.stderr.write(f"{grid.name}: {line}\n")
