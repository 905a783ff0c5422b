"""How well the models' values and their order are found, directly and doubly robustly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deconfound_bench.results import Score
from deconfound_bench.tables.budgets import at_levels, uneven
from deconfound_bench.tables.estimate import Estimate, over_seeds
from deconfound_bench.tables.paired import Level, levels, paired

BOTH = ("rmse_model_direct", "rmse_model_dr")
ORDER = ("top1", "top3", "rmse_context")


@dataclass(frozen=True, slots=True)
class TwoWays:
    """Errors of the models' values by both estimators; ``difference`` is DR minus direct, seed by seed."""

    family: str
    direct: Estimate
    dr: Estimate
    difference: Estimate
    dr_better: int  # cells where DR has the lower mean error


@dataclass(frozen=True, slots=True)
class DirectAgainstDr:
    """Both estimators of the models' values, a row a family."""

    benchmark: str
    rows: tuple[TwoWays, ...]
    cells: int
    seeds: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DrCurve:
    """Both estimators along the size of the experiment: a family a row, a level a column."""

    benchmark: str
    levels: tuple[Level, ...]
    families: tuple[str, ...]
    direct: tuple[tuple[Estimate, ...], ...]
    dr: tuple[tuple[Estimate, ...], ...]
    difference: tuple[tuple[Estimate, ...], ...]
    cells: int
    seeds: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """How one family orders the models, and its error on single contexts."""

    family: str
    top1: Estimate
    top3: Estimate
    rmse_context: Estimate


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order of the models as each family finds it."""

    benchmark: str
    rows: tuple[Order, ...]
    cells: int
    seeds: int
    notes: tuple[str, ...]


def direct_against_dr(scores: Sequence[Score]) -> DirectAgainstDr:
    """Ask of each family whether the doubly robust correction brings the models' values nearer to the truth."""
    grid = paired(scores, BOTH)
    direct, dr = grid.values
    better = (dr.mean(axis=2) < direct.mean(axis=2)).sum(axis=0)
    difference = dr - direct
    rows = tuple(
        TwoWays(
            family,
            over_seeds(direct[:, at].mean(axis=0)),
            over_seeds(dr[:, at].mean(axis=0)),
            over_seeds(difference[:, at].mean(axis=0)),
            int(better[at]),
        )
        for at, family in enumerate(grid.families)
    )
    return DirectAgainstDr(grid.benchmark, rows, len(grid.cells), len(grid.seeds), grid.notes)


def dr_curve(scores: Sequence[Score]) -> DrCurve:
    """Follow the same comparison as the experiment grows, averaged over the cells of each size."""
    grid = paired(scores, BOTH)
    direct, dr = grid.values
    return DrCurve(
        grid.benchmark,
        levels(grid.cells, "n_experiment"),
        grid.families,
        at_levels(grid, "n_experiment", direct),
        at_levels(grid, "n_experiment", dr),
        at_levels(grid, "n_experiment", dr - direct),
        len(grid.cells),
        len(grid.seeds),
        (*grid.notes, *uneven(grid.cells, "n_experiment")),
    )


def ranking(scores: Sequence[Score]) -> Ranking:
    """Average over all cells how much of the true top is found and how large single errors are."""
    grid = paired(scores, ORDER)
    averages = [each.mean(axis=0) for each in grid.values]
    rows = tuple(Order(family, *(over_seeds(each[at]) for each in averages)) for at, family in enumerate(grid.families))
    return Ranking(grid.benchmark, rows, len(grid.cells), len(grid.seeds), grid.notes)
