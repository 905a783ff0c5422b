"""Regret along one axis of the cells: a budget, the confounding or the reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound_bench.results import Cell, Score
from deconfound_bench.score_tables.score_cube import (
    AXES,
    Axis,
    Estimate,
    Level,
    ScoreCube,
    axis_levels,
    mean_over_seeds,
    score_cube,
)

UNEVEN_NOTE = "The levels were run in different settings of the other axes, so they are not directly comparable."


@dataclass(frozen=True, slots=True)
class RegretCurve:
    """Mean regret of each family at each level of one axis, averaged over the cells of that level."""

    benchmark: str
    axis: Axis
    levels: tuple[Level, ...]
    families: tuple[str, ...]
    regret: tuple[tuple[Estimate, ...], ...]  # one row per family, one column per level
    cells: int
    seeds: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """The curve at one setting of the other axes; ``fixed`` names the axes that are constant in it."""

    cell: Cell  # only its ``fixed`` coordinates are meaningful
    fixed: tuple[Axis, ...]
    curve: RegretCurve


def regret_by_axis(scores: Sequence[Score], axis: Axis) -> RegretCurve:
    """Regret averaged over all cells that share a level of ``axis``."""
    if axis not in AXES:
        raise UsageError(f"axis must be one of {', '.join(AXES)}, not {axis!r}.")
    return _curve(score_cube(scores, ("regret",)), axis)


def curve_panels(scores: Sequence[Score], axis: Axis) -> tuple[CurvePanel, ...]:
    """``regret_by_axis`` for each setting of the other axes; confounding is averaged unless it is the axis."""
    cube = score_cube(scores, ("regret",))
    fixed = tuple(other for other in AXES if other not in (axis, "confounding"))
    groups: dict[tuple[Level, ...], list[Cell]] = {}
    for cell in cube.cells:
        groups.setdefault(tuple(getattr(cell, other) for other in fixed), []).append(cell)
    return tuple(
        CurvePanel(cells[0], fixed, _curve(cube.select_cells(cells), axis)) for _, cells in sorted(groups.items())
    )


def means_by_level(cube: ScoreCube, axis: Axis, values: FloatArray) -> tuple[tuple[Estimate, ...], ...]:
    """Average ``values`` (cells, families, seeds) over the cells of each level; one row per family."""
    columns = []
    for level in axis_levels(cube.cells, axis):
        index = [i for i, cell in enumerate(cube.cells) if getattr(cell, axis) == level]
        columns.append([mean_over_seeds(row) for row in values[index].mean(axis=0)])
    return tuple(zip(*columns, strict=True))


def uneven_notes(cells: Sequence[Cell], axis: Axis) -> tuple[str, ...]:
    """A warning if the levels of an axis were not all run in the same settings of the other axes."""
    others = [other for other in AXES if other != axis]
    settings: dict[Level, set[tuple[Level, ...]]] = {}
    for cell in cells:
        settings.setdefault(getattr(cell, axis), set()).add(tuple(getattr(cell, other) for other in others))
    first = next(iter(settings.values()))
    return () if all(setting == first for setting in settings.values()) else (UNEVEN_NOTE,)


def _curve(cube: ScoreCube, axis: Axis) -> RegretCurve:
    return RegretCurve(
        cube.benchmark,
        axis,
        axis_levels(cube.cells, axis),
        cube.families,
        means_by_level(cube, axis, cube.values[0]),
        len(cube.cells),
        len(cube.seeds),
        (*cube.notes, *uneven_notes(cube.cells, axis)),
    )
