"""How regret moves with one budget, and with the confounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound_bench.results import Cell, Score
from deconfound_bench.tables.estimate import Estimate, over_seeds
from deconfound_bench.tables.paired import AXES, Axis, Level, Paired, levels, paired

UNEVEN = "The levels stand for different settings of the other axes, so they do not compare like with like."


@dataclass(frozen=True, slots=True)
class Curve:
    """Mean regret of each family at each level of one axis, averaged over the cells of that level."""

    benchmark: str
    axis: Axis
    levels: tuple[Level, ...]
    families: tuple[str, ...]
    regret: tuple[tuple[Estimate, ...], ...]  # a family a row, a level a column
    cells: int
    seeds: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """The curve at one setting of the other budgets; ``fixed`` names the axes that do not move in it."""

    at: Cell  # only its ``fixed`` coordinates mean anything
    fixed: tuple[Axis, ...]
    curve: Curve


def by_budget(scores: Sequence[Score], axis: Axis) -> Curve:
    """Average the regret over all cells that share a level of ``axis``."""
    if axis not in AXES:
        raise UsageError(f"axis must be one of {', '.join(AXES)}, not {axis!r}.")
    return _curve(paired(scores, ("regret",)), axis)


def panels(scores: Sequence[Score], axis: Axis) -> tuple[Panel, ...]:
    """Cut ``by_budget`` by the other budgets and the reward; the confounding, unless it is the axis, is averaged."""
    grid = paired(scores, ("regret",))
    fixed = tuple(other for other in AXES if other not in (axis, "confounding"))
    groups: dict[tuple[Level, ...], list[Cell]] = {}
    for cell in grid.cells:
        groups.setdefault(tuple(getattr(cell, other) for other in fixed), []).append(cell)
    return tuple(Panel(cells[0], fixed, _curve(grid.where(cells), axis)) for _, cells in sorted(groups.items()))


def at_levels(grid: Paired, axis: Axis, values: FloatArray) -> tuple[tuple[Estimate, ...], ...]:
    """Average ``values`` (cells, families, seeds) over the cells of each level: a family a row, a level a column."""
    columns = []
    for level in levels(grid.cells, axis):
        at = [i for i, cell in enumerate(grid.cells) if getattr(cell, axis) == level]
        columns.append([over_seeds(each) for each in values[at].mean(axis=0)])
    return tuple(zip(*columns, strict=True))


def uneven(cells: Sequence[Cell], axis: Axis) -> tuple[str, ...]:
    """A warning if the levels of an axis were not all run in the same settings of the others."""
    others = [other for other in AXES if other != axis]
    settings: dict[Level, set[tuple[Level, ...]]] = {}
    for cell in cells:
        settings.setdefault(getattr(cell, axis), set()).add(tuple(getattr(cell, other) for other in others))
    first = next(iter(settings.values()))
    return () if all(each == first for each in settings.values()) else (UNEVEN,)


def _curve(grid: Paired, axis: Axis) -> Curve:
    return Curve(
        grid.benchmark,
        axis,
        levels(grid.cells, axis),
        grid.families,
        at_levels(grid, axis, grid.values[0]),
        len(grid.cells),
        len(grid.seeds),
        (*grid.notes, *uneven(grid.cells, axis)),
    )
