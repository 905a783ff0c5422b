"""Which family does best where, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.formatting import did_you_mean, join_names, quote
from deconfound_bench.results import Cell, Score
from deconfound_bench.tables.estimate import Estimate, over_seeds
from deconfound_bench.tables.paired import Paired, paired

Verdict: TypeAlias = Literal["lower", "higher", "not found"]


@dataclass(frozen=True, slots=True)
class Win:
    """The best two families of a cell; ``gap`` is the runner-up's regret minus the winner's, seed by seed."""

    cell: Cell
    winner: str
    runner_up: str
    regret: Estimate  # of the winner
    gap: Estimate


@dataclass(frozen=True, slots=True)
class WinnerMap:
    """The winner of every cell.

    Both families of a gap were picked on the seeds that measure it, so gaps lean away from zero: one below two errors
    says nothing about the order, one a little above says less than it seems to.
    """

    benchmark: str
    wins: tuple[Win, ...]
    seeds: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Regret of one family minus another's in one cell."""

    cell: Cell
    difference: Estimate
    verdict: Verdict  # of the left family against the right one


@dataclass(frozen=True, slots=True)
class Differences:
    """One family against another, cell by cell and on average."""

    benchmark: str
    left: str
    right: str
    cells: tuple[Difference, ...]
    average: Estimate
    seeds: int
    notes: tuple[str, ...]


def winner_map(scores: Sequence[Score]) -> WinnerMap:
    """Find the lowest mean regret of each cell; of equals, the first in the package's order of families."""
    grid = paired(scores, ("regret",))
    if len(grid.families) < 2:
        raise UsageError(
            f"A winner needs a runner-up, and the only family here is {grid.families[0]}. Run another one."
        )
    wins = tuple(_win(grid, cell, regret) for cell, regret in zip(grid.cells, grid.values[0], strict=True))
    return WinnerMap(grid.benchmark, wins, len(grid.seeds), grid.notes)


def differences(scores: Sequence[Score], left: str, right: str) -> Differences:
    """Say where one family's regret is lower or higher than another's, and where no difference is found.

    Other families need not be complete. With many cells about one in twenty passes two errors by chance alone.
    """
    known = sorted({one.family for one in scores})
    for family in (left, right):
        if family not in known:
            near = did_you_mean(family, known)
            raise UsageError(
                f"No score is of family {quote(family)}{near or '.'} The scores are of {join_names(known)}."
            )
    if left == right:
        raise UsageError(f"A family does not differ from itself: {quote(left)} is named twice.")
    grid = paired(scores, ("regret",), (left, right))
    each = grid.values[0][:, grid.families.index(left)] - grid.values[0][:, grid.families.index(right)]
    cells = tuple(_difference(cell, row) for cell, row in zip(grid.cells, each, strict=True))
    return Differences(grid.benchmark, left, right, cells, over_seeds(each.mean(axis=0)), len(grid.seeds), grid.notes)


def _win(grid: Paired, cell: Cell, regret: FloatArray) -> Win:
    """The best two of one cell, from its regrets (families, seeds)."""
    first, second = np.argsort(regret.mean(axis=1), kind="stable")[:2]
    gap = over_seeds(regret[second] - regret[first])
    return Win(cell, grid.families[first], grid.families[second], over_seeds(regret[first]), gap)


def _difference(cell: Cell, each: FloatArray) -> Difference:
    difference = over_seeds(each)
    found: Verdict = "lower" if difference.mean < 0 else "higher"
    return Difference(cell, difference, found if difference.clear else "not found")
