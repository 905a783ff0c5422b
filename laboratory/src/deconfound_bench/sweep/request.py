"""The interface between a benchmark and the sweep, the scores requested, and the tasks they are split into."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Protocol, TypeVar

from deconfound.errors import DeconfoundError, UsageError
from deconfound_bench.results import Cell, Score

ScoreKey = tuple[Cell, int, str]  # cell, seed, family
FamilyFilter = Callable[[Cell, str], bool]  # whether a family is run in a cell
Progress = Callable[[str, float], None]  # the stage and the share of it that is done
T = TypeVar("T")
CELL_FIELDS = tuple(field.name for field in fields(Cell))


@dataclass(frozen=True, slots=True)
class Task:
    """One unit of work: every requested score of one group of cells with one seed."""

    group: str
    seed: int
    pairs: tuple[tuple[Cell, str], ...]  # (cell, family)

    @property
    def title(self) -> str:
        """The name used in messages."""
        return f"{self.group}, seed {self.seed}"

    @property
    def keys(self) -> tuple[ScoreKey, ...]:
        """The keys of the scores that the task must return."""
        return tuple((cell, self.seed, family) for cell, family in self.pairs)


class Worker(Protocol):
    """A benchmark opened in one process."""

    def run(self, task: Task) -> Sequence[Score]:
        """Return one score per (cell, family) pair.

        A score may depend on its cell, seed and family only. The other pairs of a task differ between a fresh and a
        resumed sweep.
        """


@dataclass(frozen=True, slots=True)
class Opener:
    """How any process opens a benchmark: a function that it can import, and the text that the function takes."""

    module: str
    function: str
    settings: str  # JSON

    def open(self) -> Worker:
        """Call the function."""
        opener: Callable[[str], Worker] = getattr(importlib.import_module(self.module), self.function)
        return opener(self.settings)


class Benchmark(Protocol):
    """The interface ``run_sweep`` needs."""

    @property
    def name(self) -> str:
        """The value of the ``benchmark`` column."""

    @property
    def constants(self) -> str:
        """Canonical JSON of every constant and every input's digest; results with other constants are not reused."""

    def group(self, cell: Cell) -> str:
        """Name the group of cells that share work; each group and seed is one task."""

    def prepare(self, directory: Path, progress: Progress) -> None:
        """Build the files that all tasks share; called at the start and again after an interruption."""

    def opener(self, directory: Path) -> Opener:
        """How workers load the files that ``prepare`` built; all paths in it are absolute."""


class SweepError(DeconfoundError):
    """A sweep that could not finish; completed tasks remain saved.

    ``trace`` is the traceback of an unexpected error, as text because it may come from another process.
    """

    exit_code = 1

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """All scores requested from a sweep, in the order of the result table."""

    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]
    families: tuple[str, ...]
    family_filter: FamilyFilter | None = None

    def families_in(self, cell: Cell) -> tuple[str, ...]:
        """The families requested in a cell."""
        return tuple(f for f in self.families if self.family_filter is None or self.family_filter(cell, f))

    @property
    def keys(self) -> tuple[ScoreKey, ...]:
        """The keys of all requested scores."""
        return tuple(
            (cell, seed, family) for cell in self.cells for seed in self.seeds for family in self.families_in(cell)
        )


def make_request(
    cells: Sequence[Cell], seeds: Sequence[int], families: Sequence[str], family_filter: FamilyFilter | None = None
) -> SweepRequest:
    """Remove duplicates; cells and seeds are sorted, families stay in the given order."""
    unique_seeds = sorted(_unique([int(seed) for seed in seeds], "seed"))
    return SweepRequest(
        tuple(sorted(_unique(cells, "cell"))), tuple(unique_seeds), tuple(_unique(families, "family")), family_filter
    )


def _unique(items: Sequence[T], what: str) -> list[T]:
    if not items:
        raise UsageError(f"There is nothing to run: request at least one {what}.")
    return list(dict.fromkeys(items))


def split_into_tasks(benchmark: Benchmark, request: SweepRequest, finished: Collection[ScoreKey]) -> tuple[Task, ...]:
    """Split the unfinished scores into tasks; seeds are the outer loop, so all cells get their first seeds early."""
    groups: dict[str, list[Cell]] = {}
    for cell in request.cells:
        groups.setdefault(benchmark.group(cell), []).append(cell)
    tasks = []
    for seed in request.seeds:
        for group, cells in groups.items():
            requested = ((cell, family) for cell in cells for family in request.families_in(cell))
            pairs = tuple((cell, family) for cell, family in requested if (cell, seed, family) not in finished)
            if pairs:
                tasks.append(Task(group, seed, pairs))
    return tuple(tasks)


def filter_cells(cells: Sequence[Cell], text: str) -> tuple[Cell, ...]:
    """Select the cells that meet every condition of a text such as ``confounding=0.9,n_experiment=20|100``.

    Alternatives are separated by bars, or given as several conditions of the same name.
    """
    conditions = _parse_conditions(text)
    for name, values in conditions.items():
        _require_values(cells, name, values)
    selected = tuple(cell for cell in cells if all(_matches(cell, name, conditions[name]) for name in conditions))
    if not selected:
        listing = "\n".join(f"  {describe_cell(cell)}" for cell in cells)
        raise UsageError(f"--cells {text}: no cell meets all conditions at once. The cells are\n{listing}")
    return selected


def _parse_conditions(text: str) -> dict[str, list[str]]:
    conditions: dict[str, list[str]] = {}
    for condition in text.split(","):
        name, equals, values = (part.strip() for part in condition.partition("="))
        if name not in CELL_FIELDS or not equals:
            example = "confounding=0.9,n_experiment=20|100"
            names = f"The names are {', '.join(CELL_FIELDS)}"
            raise UsageError(f'--cells takes conditions like {example}, not "{condition.strip()}". {names}.')
        conditions.setdefault(name, []).extend(value.strip() for value in values.split("|"))
    return conditions


def describe_cell(cell: Cell) -> str:
    """A cell in the syntax of ``filter_cells``."""
    return ",".join(f"{name}={getattr(cell, name)}" for name in CELL_FIELDS)


def _require_values(cells: Sequence[Cell], name: str, values: Sequence[str]) -> None:
    for value in values:
        if not any(_matches(cell, name, [value]) for cell in cells):
            available = ", ".join(str(level) for level in sorted({getattr(cell, name) for cell in cells}))
            raise UsageError(f'--cells: no cell has {name}="{value}". The values of {name} are {available}.')


def _matches(cell: Cell, name: str, values: Sequence[str]) -> bool:
    setting = getattr(cell, name)
    return setting in (values if isinstance(setting, str) else [_to_number(value) for value in values])


def _to_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
