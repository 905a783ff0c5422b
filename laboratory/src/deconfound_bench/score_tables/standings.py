"""Which family wins in each cell, and how the families rank over all cells and benchmarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deconfound.data import Mask
from deconfound.design import FloatArray, IntArray
from deconfound.errors import UsageError
from deconfound.formatting import pluralize
from deconfound.reward import FAMILIES
from deconfound_bench.results import Cell, Score
from deconfound_bench.score_tables.score_cube import (
    Estimate,
    ScoreCube,
    bootstrap_standard_errors,
    mean_over_seeds,
    score_cube,
)

PAPER_FAMILIES = tuple(family.name for family in FAMILIES)


@dataclass(frozen=True, slots=True)
class Win:
    """The best two families of a cell; ``gap`` is the runner-up's regret minus the winner's, paired by seed."""

    cell: Cell
    winner: str
    runner_up: str
    regret: Estimate  # of the winner
    gap: Estimate


@dataclass(frozen=True, slots=True)
class WinnerMap:
    """The winner of every cell.

    Winner and runner-up are chosen on the seeds that also measure the gap, so gaps are biased away from zero: a gap
    below two standard errors is no evidence about the order, and one slightly above is weak evidence.
    """

    benchmark: str
    wins: tuple[Win, ...]
    seeds: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FamilyStanding:
    """One family over all cells."""

    family: str
    wins: int  # cells in which no other family has a lower mean regret
    rank: Estimate  # of its mean regret, averaged over cells
    top3: int  # cells in which at most two families have a lower mean regret
    excess: Estimate  # percent over the lowest mean regret of the cell, averaged over cells
    regret: Estimate  # averaged over cells


@dataclass(frozen=True, slots=True)
class OverallStandings:
    """All families, sorted by average rank."""

    benchmark: str
    standings: tuple[FamilyStanding, ...]
    cells: int
    seeds: int
    notes: tuple[str, ...]


def winner_map(scores: Sequence[Score]) -> WinnerMap:
    """The lowest mean regret of each cell; ties go to the first family in the package's order."""
    cube = score_cube(scores, ("regret",))
    if len(cube.families) < 2:
        raise UsageError(f"A winner needs a runner-up, and the only family is {cube.families[0]}. Run another one.")
    wins = tuple(_win(cube, cell, regret) for cell, regret in zip(cube.cells, cube.values[0], strict=True))
    return WinnerMap(cube.benchmark, wins, len(cube.seeds), cube.notes)


def _win(cube: ScoreCube, cell: Cell, regret: FloatArray) -> Win:
    """The best two families of one cell, from its regrets (families, seeds)."""
    first, second = np.argsort(regret.mean(axis=1), kind="stable")[:2]
    gap = mean_over_seeds(regret[second] - regret[first])
    return Win(cell, cube.families[first], cube.families[second], mean_over_seeds(regret[first]), gap)


def overall_standings(scores: Sequence[Score], seed: int = 0) -> OverallStandings:
    """Compare the families over all cells; families with equal regret share rank and win.

    The excess is relative to the best family of the cell and therefore undefined where that has zero regret; such cells
    are omitted from it. ``seed`` is that of the bootstrap behind the standard errors of rank and excess.
    """
    cube = score_cube(scores, ("regret",))
    regret = cube.values[0]
    means = regret.mean(axis=2)
    n_better = _count_lower(means)
    defined = means.min(axis=1) > 0
    ranks, rank_se = shared_ranks(means).mean(axis=0), bootstrap_standard_errors(regret, _mean_ranks, seed)
    excess, excess_se = _excess(means[defined]), bootstrap_standard_errors(regret[defined], _excess, seed)
    standings = [
        FamilyStanding(
            family,
            int((n_better[:, at] == 0).sum()),
            Estimate(float(ranks[at]), float(rank_se[at])),
            int((n_better[:, at] < 3).sum()),
            Estimate(float(excess[at]), float(excess_se[at])),
            mean_over_seeds(regret[:, at].mean(axis=0)),
        )
        for at, family in enumerate(cube.families)
    ]
    standings.sort(key=lambda standing: standing.rank.mean)
    notes = _standings_notes(cube, n_better, defined)
    return OverallStandings(cube.benchmark, tuple(standings), len(cube.cells), len(cube.seeds), notes)


def shared_ranks(means: FloatArray) -> FloatArray:
    """Ranks along the last axis, 1 for the lowest; equal values share the mean of their ranks."""
    lower, equal = _count_lower(means), (means[..., None, :] == means[..., :, None]).sum(axis=-1)
    return np.asarray(lower + (equal + 1) / 2, dtype=np.float64)


def _count_lower(means: FloatArray) -> IntArray:
    """For each family, how many families of the cell have a lower mean."""
    return np.asarray((means[..., None, :] < means[..., :, None]).sum(axis=-1), dtype=np.int64)


def _mean_ranks(means: FloatArray) -> FloatArray:
    return np.asarray(shared_ranks(means).mean(axis=-2), dtype=np.float64)


def _excess(means: FloatArray) -> FloatArray:
    """Percent over the best family of each cell, averaged over cells, of means (..., cells, families)."""
    if means.shape[-2] == 0:
        return np.full((*means.shape[:-2], means.shape[-1]), np.nan)
    return _mean_excess(means, means.min(axis=-1, keepdims=True))


def _mean_excess(means: FloatArray, best: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):  # a bootstrap draw may contain only seeds without regret
        return np.asarray(100 * (means / best - 1).mean(axis=-2), dtype=np.float64)


def _standings_notes(cube: ScoreCube, n_better: IntArray, defined: Mask) -> tuple[str, ...]:
    notes = list(cube.notes)
    shared = int(((n_better == 0).sum(axis=1) > 1).sum())
    if shared:
        notes.append(f"In {pluralize(shared, 'cell')} families with equal regret share the win.")
    if not defined.all():
        notes.append(f"The excess omits {pluralize(int((~defined).sum()), 'cell')} in which the lowest regret is zero.")
    return tuple(notes)


def excess_over_best(scores: Sequence[Score], seed: int = 0) -> dict[str, Estimate]:
    """By family: percent of regret over the lowest of the paper's six in each cell, averaged over cells.

    A negative value is better than the best of the six, chosen with hindsight in every cell. Cells whose lowest regret
    is zero and families that were not run in every cell are omitted.
    """
    cells = {score.cell for score in scores}
    cells_of_family = Counter(family for _, family in {(score.cell, score.family) for score in scores})
    complete = [family for family, count in cells_of_family.items() if count == len(cells)]
    cube = score_cube(scores, ("regret",), complete)
    paper = [at for at, family in enumerate(cube.families) if family in PAPER_FAMILIES]
    if len(paper) < 2:
        raise UsageError(f"The excess is over the best of {', '.join(PAPER_FAMILIES)}; run at least two of them.")
    regret = cube.values[0]
    regret = regret[regret.mean(axis=2)[:, paper].min(axis=1) > 0]

    def excess(means: FloatArray) -> FloatArray:
        return _mean_excess(means, means[..., paper].min(axis=-1, keepdims=True))

    means, errors = excess(regret.mean(axis=2)), bootstrap_standard_errors(regret, excess, seed)
    rows = zip(cube.families, means, errors, strict=True)
    return {family: Estimate(float(mean), float(error)) for family, mean, error in rows}
