"""Scores as an array over cells, families and seeds, and means over seeds with standard errors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from deconfound.data import Mask
from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.escaping import escape_line
from deconfound.formatting import join_names, pluralize, quote
from deconfound.reward import EVERY
from deconfound_bench.results import Cell, Score

Axis: TypeAlias = Literal["confounding", "n_log", "n_experiment", "reward"]
Level: TypeAlias = float | int | str
T = TypeVar("T")
AXES: tuple[Axis, ...] = ("confounding", "n_log", "n_experiment", "reward")

CLEAR_SE = 2.0  # standard errors that a difference must exceed to be reported as clear
ZERO_ATOL = 1e-12  # a smaller mean is a zero with rounding error
MAX_DECIMALS = 6
BOOTSTRAP_DRAWS = 1000  # the relative error of a bootstrap standard error is then about 2 %
RERUN_HINT = "Run the benchmark again with the same -o: finished tasks are reused and only the rest is run."


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its standard error, which is NaN with a single seed."""

    mean: float
    standard_error: float

    @property
    def exceeds_two_se(self) -> bool:
        """Whether the mean differs from zero by more than two standard errors."""
        return abs(self.mean) > ZERO_ATOL and abs(self.mean) > CLEAR_SE * self.standard_error

    @property
    def decimals(self) -> int | None:
        """Decimals that show one digit of the standard error, or two if the first is a 1; None without an error."""
        if not math.isfinite(self.standard_error) or round(self.standard_error, MAX_DECIMALS) == 0:
            return None
        exponent = math.floor(math.log10(self.standard_error))
        first_digit = round(self.standard_error / 10**exponent, 1)
        return min(max(-exponent + (1 if first_digit < 2 else 0), 0), MAX_DECIMALS)

    def format(self, decimals: int | None = None) -> str:
        """Mean ± standard error, with the decimals given or those that the standard error justifies."""
        if not math.isfinite(self.mean):
            return "–"
        if self.decimals is None:
            return f"{self.mean:.4g}" if math.isnan(self.standard_error) else f"{self.mean:.4g} ± 0"
        places = self.decimals if decimals is None else decimals
        return f"{self.mean:.{places}f} ± {self.standard_error:.{places}f}"


def mean_over_seeds(values: FloatArray) -> Estimate:
    """Mean of one value per seed, with standard error sd / sqrt(seeds).

    To compare two families, pass per-seed differences. To average over cells, pass per-seed averages: all cells use
    the same seeds, so their sampling noise does not average out over cells.
    """
    seeds = len(values)
    standard_error = float(np.std(values, ddof=1)) / math.sqrt(seeds) if seeds > 1 else math.nan
    return Estimate(float(np.mean(values)), standard_error)


def bootstrap_standard_errors(
    values: FloatArray, statistic: Callable[[FloatArray], FloatArray], seed: int
) -> FloatArray:
    """Standard errors of a statistic of the means, by resampling whole seeds with replacement.

    ``values`` is (cells, families, seeds); ``statistic`` maps means (draws, cells, families) to (draws, families). A
    jackknife overstates the standard errors of average ranks by a factor of 1.2 to 1.8 on simulated benchmarks, since
    ranks are not smooth; this bootstrap is within 10 %.
    """
    seeds = values.shape[2]
    if seeds < 2:
        return np.full(values.shape[1], np.nan)
    counts = np.random.default_rng(seed).multinomial(seeds, np.full(seeds, 1 / seeds), size=BOOTSTRAP_DRAWS)
    means = np.moveaxis(values @ (counts.T / seeds), 2, 0)
    draws = statistic(means)
    standard_errors: FloatArray = np.full(values.shape[1], np.nan)
    defined = np.isfinite(draws).all(axis=0)
    standard_errors[defined] = draws[:, defined].std(axis=0, ddof=1)
    return standard_errors


@dataclass(frozen=True, slots=True)
class ScoreCube:
    """Metrics of one benchmark without gaps; ``notes`` lists what was omitted."""

    benchmark: str
    cells: tuple[Cell, ...]
    families: tuple[str, ...]
    seeds: tuple[int, ...]
    values: FloatArray  # (metrics, cells, families, seeds)
    notes: tuple[str, ...] = ()

    def select_cells(self, cells: Iterable[Cell]) -> ScoreCube:
        """The same scores in some of the cells."""
        selected = set(cells)
        index = [i for i, cell in enumerate(self.cells) if cell in selected]
        values = np.ascontiguousarray(self.values[:, index])
        return replace(self, cells=tuple(self.cells[i] for i in index), values=values)


def score_cube(scores: Sequence[Score], metrics: Sequence[str], families: Sequence[str] | None = None) -> ScoreCube:
    """Arrange scores by cell, family and seed.

    A missing score is an error that names its cell, because means over different seeds are not comparable. A score
    with a non-finite metric is omitted together with the scores it is paired with, and the notes say so: first
    families without any finite value, then cells in which some family has none, then every seed with a gap.
    """
    chosen = tuple(scores) if families is None else tuple(score for score in scores if score.family in families)
    if not chosen:
        raise UsageError("There are no scores. Run the benchmark first.")
    names = sorted({score.benchmark for score in chosen})
    if len(names) > 1:
        raise UsageError(f"The scores belong to several benchmarks ({join_names(names)}). Make separate tables.")
    by_key = {score.key: score for score in chosen}
    if len(by_key) < len(chosen):
        cell, seed, family = Counter(score.key for score in chosen).most_common(1)[0][0]
        raise UsageError(f"{_describe(cell, family)} has more than one score with seed {seed}. Remove the duplicates.")
    cells, seeds = sorted({score.cell for score in chosen}), sorted({score.seed for score in chosen})
    ordered = order_families({score.family for score in chosen} if families is None else families)
    _require_complete(by_key.keys(), cells, ordered, seeds)
    rows = [[[by_key[cell, seed, family] for seed in seeds] for family in ordered] for cell in cells]
    values = np.array([[[[getattr(one, m) for one in b] for b in a] for a in rows] for m in metrics], dtype=np.float64)
    return _finite_part(ScoreCube(names[0], tuple(cells), ordered, tuple(seeds), values), metrics)


def order_families(families: Iterable[str]) -> tuple[str, ...]:
    """Families in the order of the package, then unknown ones by name."""
    order = [family.name for family in EVERY]
    return tuple(sorted(set(families), key=lambda name: (order.index(name) if name in order else len(order), name)))


def axis_levels(cells: Iterable[Cell], axis: Axis) -> tuple[Level, ...]:
    """The values of one coordinate of the cells."""
    return tuple(sorted({getattr(cell, axis) for cell in cells}))


def format_level(axis: Axis, level: Level) -> str:
    """One level as text."""
    if isinstance(level, str):
        return escape_line(level)
    return f"{level:g}" if axis == "confounding" else f"{level:,}"


def format_cell(cell: Cell, axes: Iterable[Axis] = AXES) -> str:
    """A cell, or some of its coordinates, as text."""
    return ", ".join(f"{axis} {format_level(axis, getattr(cell, axis))}" for axis in axes)


def varying_axes(cells: Sequence[Cell]) -> tuple[Axis, ...]:
    """Coordinates in which the cells differ."""
    return tuple(axis for axis in AXES if len(axis_levels(cells, axis)) > 1)


def _describe(cell: Cell, family: str) -> str:
    return f"Cell {format_cell(cell)}: family {quote(family)}"


def _require_complete(
    present: Iterable[tuple[Cell, int, str]], cells: Sequence[Cell], families: Sequence[str], seeds: Sequence[int]
) -> None:
    keys = set(present)
    missing = [
        key for cell in cells for family in families for seed in seeds if (key := (cell, seed, family)) not in keys
    ]
    if not missing:
        return
    cell, _, family = missing[0]
    missing_seeds = [seed for other, seed, whose in missing if (other, whose) == (cell, family)]
    what = "no score at all" if len(missing_seeds) == len(seeds) else f"no score with seed {join_names(missing_seeds)}"
    total = len(cells) * len(families) * len(seeds)
    raise UsageError(
        f"{_describe(cell, family)} has {what} ({len(missing):,} of {total:,} scores are missing). {RERUN_HINT}"
    )


def _finite_part(cube: ScoreCube, metrics: Sequence[str]) -> ScoreCube:
    """Omit what has no finite value: first families, then cells, then seeds."""
    finite = np.asarray(np.isfinite(cube.values).all(axis=0))
    if finite.all():
        return cube
    what = " or ".join(metrics)
    families = np.asarray(finite.any(axis=(0, 2)))
    cells = np.asarray(np.asarray(finite[:, families].any(axis=2)).all(axis=1))
    seeds = np.asarray(finite[cells][:, families].all(axis=(0, 1)))
    if not (families.any() and cells.any() and seeds.any()):
        raise UsageError(f"No seed has a finite {what} for every family in any cell. Inspect the results.")
    used_cells, omitted_cells = _partition(cube.cells, cells)
    used_families, omitted_families = _partition(cube.families, families)
    used_seeds, omitted_seeds = _partition(cube.seeds, seeds)
    notes = []
    if omitted_families:
        notes.append(f"Omitted because they have no finite {what} in any cell: {join_names(omitted_families)}.")
    if omitted_cells:
        count, first = pluralize(len(omitted_cells), "cell"), format_cell(omitted_cells[0])
        notes.append(f"Omitted: {count} in which some family has no finite {what} (first: {first}).")
    if omitted_seeds:
        notes.append(f"Omitted: seed {join_names(omitted_seeds)}, which has no finite {what} in some cell.")
    # Contiguous, because the rounding of sums depends on the memory layout.
    values = np.ascontiguousarray(cube.values[:, cells][:, :, families][..., seeds])
    return ScoreCube(cube.benchmark, used_cells, used_families, used_seeds, values, tuple(notes))


def _partition(items: Sequence[T], selected: Mask) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """The selected items and the others."""
    pairs = list(zip(items, selected, strict=True))
    return tuple(item for item, is_in in pairs if is_in), tuple(item for item, is_in in pairs if not is_in)
