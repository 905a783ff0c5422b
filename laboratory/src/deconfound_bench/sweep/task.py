"""What a benchmark offers to the sweep, and the pieces its work is cut into."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from deconfound.errors import DeconfoundError, UsageError
from deconfound_bench.results import Cell, Score

Key = tuple[Cell, int, str]  # cell, seed, family
Only = Callable[[Cell, str], bool]  # whether a family is wanted in a cell
Progress = Callable[[str, float], None]  # the stage, and how much of it is done
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work: every wanted score of one group of cells with one seed."""

    group: str
    seed: int
    wanted: tuple[tuple[Cell, str], ...]  # (cell, family) pairs

    @property
    def title(self) -> str:
        """How messages name it."""
        return f"{self.group}, seed {self.seed}"

    @property
    def keys(self) -> tuple[Key, ...]:
        """What the scores it makes are known by."""
        return tuple((cell, self.seed, family) for cell, family in self.wanted)


class Worker(Protocol):
    """A benchmark made ready in one process."""

    def run(self, task: Task) -> Sequence[Score]:
        """Give one score for each wanted pair.

        A score depends on its cell, seed and family alone: what else the task asks for depends on what an earlier,
        interrupted sweep has left to do.
        """


class Benchmark(Protocol):
    """What ``sweep`` needs to know; it is pickled once for each worker process, so it should be small."""

    @property
    def name(self) -> str:
        """What its scores are filed under."""

    @property
    def constants(self) -> str:
        """Canonical JSON of every constant and every input's digest; results made with others are not reused."""

    def group(self, cell: Cell) -> str:
        """Name the cells whose work is shared; the same group and seed make one task."""

    def prepare(self, directory: Path, progress: Progress) -> None:
        """Make the files that all tasks share; called before any work, and again after an interruption."""

    def open(self, directory: Path) -> Worker:
        """Get ready in a worker process, from the files that ``prepare`` has left."""


class SweepError(DeconfoundError):
    """A sweep that could not finish; what it had finished is kept.

    ``trace`` tells where an unforeseen error came from, as text: it may have happened in another process.
    """

    exit_code = 1

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


@dataclass(frozen=True, slots=True)
class Ask:
    """Everything a sweep is asked for, in the order of its table."""

    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]
    families: tuple[str, ...]
    only: Only | None = None

    def of(self, cell: Cell) -> tuple[str, ...]:
        """The families asked for in a cell."""
        return tuple(family for family in self.families if self.only is None or self.only(cell, family))

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every score asked for."""
        return tuple((cell, seed, family) for cell in self.cells for seed in self.seeds for family in self.of(cell))


def asked(cells: Sequence[Cell], seeds: Sequence[int], families: Sequence[str], only: Only | None = None) -> Ask:
    """Take each thing once; cells and seeds in ascending order, families as given."""
    numbers = sorted(_some([int(seed) for seed in seeds], "seed"))
    return Ask(tuple(sorted(_some(cells, "cell"))), tuple(numbers), tuple(_some(families, "family")), only)


def _some(items: Sequence[T], what: str) -> list[T]:
    if not items:
        raise UsageError(f"There is nothing to run: name at least one {what}.")
    return list(dict.fromkeys(items))


def tasks_for(benchmark: Benchmark, ask: Ask, known: Collection[Key]) -> tuple[Task, ...]:
    """Cut what is not known yet into tasks; seeds outermost, so that all cells have their first seeds early."""
    groups: dict[str, list[Cell]] = {}
    for cell in ask.cells:
        groups.setdefault(benchmark.group(cell), []).append(cell)
    tasks = []
    for seed in ask.seeds:
        for group, members in groups.items():
            pairs = ((cell, family) for cell in members for family in ask.of(cell))
            wanted = tuple((cell, family) for cell, family in pairs if (cell, seed, family) not in known)
            if wanted:
                tasks.append(Task(group, seed, wanted))
    return tuple(tasks)
