"""A cached benchmark as the sweep runner sees it; the grids and their users differ, the rest is the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from deconfound_bench.cached.contests import HELD_OUT, CachedRing
from deconfound_bench.cached.pool import BUCKETS, load_cached_pool, make_cached_pool
from deconfound_bench.cached.pool import VERSION as POOL_VERSION
from deconfound_bench.cached.world import FAR, World
from deconfound_bench.contenders import contender
from deconfound_bench.contest import compete
from deconfound_bench.entries import FOLDS
from deconfound_bench.grid import Grid
from deconfound_bench.kept import is_kept
from deconfound_bench.results import Cell, Score
from deconfound_bench.sweep import Progress, Task

VERSION = 4


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a grid becomes a world, and every number that decides it."""

    name: str
    read: Callable[[Path], Grid]
    world: Callable[[Grid], World]
    numbers: str  # canonical JSON of its constants
    proxies: int
    longest_log: int
    longest_experiment: int


@dataclass(frozen=True, slots=True)
class Cached:
    """One recipe on one grid."""

    recipe: Recipe
    grid: Path
    grid_digest: str
    pool: Path  # where the grid in numbers is kept

    @property
    def name(self) -> str:
        """What its scores are filed under."""
        return self.recipe.name

    @property
    def constants(self) -> str:
        """Canonical JSON of all that decides the numbers."""
        recipe = self.recipe
        listed = {
            "benchmark": recipe.name,
            "version": VERSION,
            "grid": self.grid_digest,
            "buckets": BUCKETS,
            "held_out": HELD_OUT,
            "proxies": recipe.proxies,
            "proxies_cut": FAR,
            "folds": FOLDS,
            "longest_log": recipe.longest_log,
            "longest_experiment": recipe.longest_experiment,
            **json.loads(recipe.numbers),
        }
        return json.dumps(listed, sort_keys=True)

    def group(self, cell: Cell) -> str:
        """One draw of contexts, users and models serves all rewards and sizes of the experiment."""
        return f"confounding {cell.confounding:g}, {cell.n_log} log rows"

    def prepare(self, directory: Path, progress: Progress) -> None:  # noqa: ARG002  (the pool has a folder of its own)
        """Make the pool, unless it is kept already."""
        digest = hashlib.sha256(self.constants.encode()).hexdigest()
        if is_kept(self.pool, POOL_VERSION, digest):
            return
        progress("reading the grid", 0.0)
        grid = self.recipe.read(self.grid)
        progress("looking at the outputs", 0.0)
        world = self.recipe.world(grid)
        progress("hashing and multiplying", 0.0)
        make_cached_pool(grid, world, self.recipe.proxies).save(self.pool, digest)

    def open(self, directory: Path) -> CachedWorker:  # noqa: ARG002
        """Map the pool."""
        recipe = self.recipe
        return CachedWorker(
            recipe.name, CachedRing(load_cached_pool(self.pool), recipe.longest_log, recipe.longest_experiment)
        )


@dataclass(frozen=True, slots=True)
class CachedWorker:
    """The benchmark in one process."""

    name: str
    ring: CachedRing

    def run(self, task: Task) -> Sequence[Score]:
        """Let the families compete, draw by draw and size by size of the experiment."""
        scores = []
        cells = sorted({cell for cell, _ in task.wanted}, key=lambda cell: (_draw(cell), cell))
        for _, sizes in groupby(cells, key=_draw):
            contest = None
            for cell in sizes:
                contest = contest or self.ring.contest(cell, task.seed)
                contenders = [contender(family, cell) for wanted, family in task.wanted if wanted == cell]
                marks = compete(contest, contenders, cell.n_experiment, task.seed)
                scores += [mark.score(self.name, cell, task.seed) for mark in marks]
        return scores


def _draw(cell: Cell) -> Cell:
    """What its contest depends on: experiments of all sizes are the start of one."""
    return replace(cell, n_experiment=0)
