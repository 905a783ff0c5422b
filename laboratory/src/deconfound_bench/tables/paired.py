"""Scores as arrays in which every family met every cell with every seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from deconfound.data import Mask
from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.formatting import escape_control_characters, join_names, pluralize, quote
from deconfound.reward import EVERY
from deconfound_bench.results import Cell, Score

Axis: TypeAlias = Literal["confounding", "n_log", "n_experiment", "reward"]
Level: TypeAlias = float | int | str
T = TypeVar("T")
AXES: tuple[Axis, ...] = ("confounding", "n_log", "n_experiment", "reward")

AGAIN = "Run the benchmark again with the same -o: what is finished is kept and only the rest is run."


@dataclass(frozen=True, slots=True)
class Paired:
    """Metrics of one benchmark, without gaps; ``notes`` says what was left out to make it so."""

    benchmark: str
    cells: tuple[Cell, ...]
    families: tuple[str, ...]
    seeds: tuple[int, ...]
    values: FloatArray  # (metrics, cells, families, seeds)
    notes: tuple[str, ...] = ()

    def where(self, cells: Iterable[Cell]) -> Paired:
        """The same scores in some of the cells."""
        kept = set(cells)
        at = [i for i, cell in enumerate(self.cells) if cell in kept]
        return replace(self, cells=tuple(self.cells[i] for i in at), values=np.ascontiguousarray(self.values[:, at]))


def paired(scores: Sequence[Score], metrics: Sequence[str], families: Sequence[str] | None = None) -> Paired:
    """Line up scores by cell, family and seed.

    A score that is missing is an error that names its cell: a mean over other seeds is not comparable. A score whose
    metric is no finite number is left out together with what it is paired with, and the notes say so: a family without
    a single number goes, then a cell in which some family has none, then every seed that still misses one.
    """
    chosen = tuple(scores) if families is None else tuple(one for one in scores if one.family in families)
    if not chosen:
        raise UsageError("There are no scores to make a table of. Run the benchmark first.")
    names = sorted({one.benchmark for one in chosen})
    if len(names) > 1:
        raise UsageError(
            f"The scores are of several benchmarks ({join_names(names)}). Make the tables of each one apart."
        )
    by_key = {one.key: one for one in chosen}
    if len(by_key) < len(chosen):
        cell, seed, family = Counter(one.key for one in chosen).most_common(1)[0][0]
        raise UsageError(f"{_whose(cell, family)} has more than one score with seed {seed}. Keep one of them.")
    cells, seeds = sorted({one.cell for one in chosen}), sorted({one.seed for one in chosen})
    order = ordered({one.family for one in chosen} if families is None else families)
    _complete(by_key.keys(), cells, order, seeds)
    rows = [[[by_key[cell, seed, family] for seed in seeds] for family in order] for cell in cells]
    values = np.array([[[[getattr(one, m) for one in b] for b in a] for a in rows] for m in metrics], dtype=np.float64)
    return _finite(Paired(names[0], tuple(cells), order, tuple(seeds), values), metrics)


def ordered(families: Iterable[str]) -> tuple[str, ...]:
    """Families in the order of the package, unknown ones after them by name."""
    known = [family.name for family in EVERY]
    return tuple(sorted(set(families), key=lambda name: (known.index(name) if name in known else len(known), name)))


def levels(cells: Iterable[Cell], axis: Axis) -> tuple[Level, ...]:
    """Values that one coordinate of the cells takes."""
    return tuple(sorted({getattr(cell, axis) for cell in cells}))


def shown(axis: Axis, level: Level) -> str:
    """One level as people write it."""
    if isinstance(level, str):
        return escape_control_characters(level)
    return f"{level:g}" if axis == "confounding" else f"{level:,}"


def named(cell: Cell, axes: Iterable[Axis] = AXES) -> str:
    """A cell, or some of its coordinates, in words."""
    return ", ".join(f"{axis} {shown(axis, getattr(cell, axis))}" for axis in axes)


def varying(cells: Sequence[Cell]) -> tuple[Axis, ...]:
    """Coordinates in which the cells differ."""
    return tuple(axis for axis in AXES if len(levels(cells, axis)) > 1)


def _whose(cell: Cell, family: str) -> str:
    return f"Cell {named(cell)}: family {quote(family)}"


def _complete(
    present: Iterable[tuple[Cell, int, str]], cells: Sequence[Cell], families: Sequence[str], seeds: Sequence[int]
) -> None:
    there = set(present)
    missing = [
        key for cell in cells for family in families for seed in seeds if (key := (cell, seed, family)) not in there
    ]
    if not missing:
        return
    cell, _, family = missing[0]
    lacking = [seed for where, seed, whose in missing if (where, whose) == (cell, family)]
    what = "no score at all" if len(lacking) == len(seeds) else f"no score with seed {join_names(lacking)}"
    total = len(cells) * len(families) * len(seeds)
    raise UsageError(f"{_whose(cell, family)} has {what} ({len(missing):,} of {total:,} scores are missing). {AGAIN}")


def _finite(grid: Paired, metrics: Sequence[str]) -> Paired:
    """Leave out what has no finite number, whole families first, then cells, then seeds."""
    good = np.asarray(np.isfinite(grid.values).all(axis=0))
    if good.all():
        return grid
    what = " or ".join(metrics)
    families = np.asarray(good.any(axis=(0, 2)))
    cells = np.asarray(np.asarray(good[:, families].any(axis=2)).all(axis=1))
    seeds = np.asarray(good[cells][:, families].all(axis=(0, 1)))
    if not (families.any() and cells.any() and seeds.any()):
        raise UsageError(
            f"No seed has a finite {what} for every family in any cell. Look for the cause in the results."
        )
    kept_cells, lost_cells = _split(grid.cells, cells)
    kept_families, lost_families = _split(grid.families, families)
    kept_seeds, lost_seeds = _split(grid.seeds, seeds)
    notes = []
    if lost_families:
        notes.append(f"Left out for want of a finite {what} anywhere: {join_names(lost_families)}.")
    if lost_cells:
        count = pluralize(len(lost_cells), "cell")
        notes.append(f"Left out: {count} where some family never has a finite {what} (first: {named(lost_cells[0])}).")
    if lost_seeds:
        notes.append(f"Left out: seed {join_names(lost_seeds)}, without a finite {what} in some cell.")
    values = np.ascontiguousarray(grid.values[:, cells][:, :, families][..., seeds])  # sums round by memory order
    return Paired(grid.benchmark, kept_cells, kept_families, kept_seeds, values, tuple(notes))


def _split(things: Sequence[T], keep: Mask) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """What is kept and what is lost."""
    pairs = list(zip(things, keep, strict=True))
    return tuple(thing for thing, kept in pairs if kept), tuple(thing for thing, kept in pairs if not kept)
