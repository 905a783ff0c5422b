"""A benchmark out of a hash to sweep over, and what is left of a sweep: scores, runs begun, tasks finished."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path

from deconfound_bench.results import Cell, Choice, Score
from deconfound_bench.sweep import Bar, Task, digest, sweep

from deconfound.errors import DataError, Problem

CELLS = tuple(Cell(c, n, m, "plain") for c, n, m in product((0.0, 0.9), (100, 200), (10, 20)))
SEEDS = (0, 1, 2)
FAMILIES = ("second", "first")  # not in the order of the alphabet
TASKS = 4 * len(SEEDS)  # the fake groups cells by confounding and n_log


@dataclass(frozen=True, slots=True)
class Fake:
    """Scores out of a hash; with a diary of what ran, a nap and a trouble to order."""

    diary: Path
    nap: float = 0.0
    trouble: str = ""
    where: tuple[str, int] = ("0.9-100", 1)
    version: int = 1
    timed: bool = False
    name: str = "fake"

    @property
    def constants(self) -> str:
        return json.dumps({"version": self.version, "level": 0.1 + 0.2})

    def group(self, cell: Cell) -> str:
        return f"{cell.confounding}-{cell.n_log}"

    def prepare(self, directory: Path, progress: Callable[[str, float], None]) -> None:
        progress("preparing", 0.5)
        (directory / "salt").write_text("salt")

    def open(self, directory: Path) -> FakeWorker:
        if self.trouble == "open":
            raise DataError([Problem("salt", "is spoilt", "Buy new salt.")])
        self.diary.mkdir(exist_ok=True)
        return FakeWorker(self, (directory / "salt").read_text(), Life(self.diary / "alive"))


class Life:
    """A lock held as long as its process or its owner lives; no process identifier is as sure a sign."""

    def __init__(self, path: Path) -> None:
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT)
        fcntl.flock(self.handle, fcntl.LOCK_SH)

    def __del__(self) -> None:
        os.close(self.handle)


@dataclass(frozen=True, slots=True)
class FakeWorker:
    fake: Fake
    salt: str
    life: Life | None

    def run(self, task: Task) -> list[Score]:
        with (self.fake.diary / "runs").open("a") as file:
            deaf = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
            file.write(f"{task.group} {task.seed} {os.environ.get('OPENBLAS_NUM_THREADS')} {deaf} {os.getpid()}\n")
        if self.fake.trouble and (task.group, task.seed) == self.fake.where:
            self.fail()
        time.sleep(self.fake.nap)
        scores = [self.score(cell, task.seed, family) for cell, family in task.wanted]
        return scores[1:] if self.fake.trouble == "lazy" else scores

    def fail(self) -> None:
        if self.fake.trouble == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fake.trouble == "raise":
            raise ValueError("a wheel came off")
        if self.fake.trouble == "interrupt":
            raise KeyboardInterrupt

    def score(self, cell: Cell, seed: int, family: str) -> Score:
        drawn = sha256(f"{self.salt} {cell} {seed} {family}".encode()).digest()
        numbers = [int.from_bytes(drawn[i : i + 6], "big") / 3**30 for i in range(5)]
        seconds = time.perf_counter() if self.fake.timed else 0.25
        choice = Choice(penalty=numbers[0] / 7, mode="fixed", basis=None if seed else "linear")
        return Score(self.fake.name, cell, seed, family, *numbers, float("nan"), seconds, choice)


def run(
    fake: Fake,
    folder: Path,
    workers: int = 1,
    cells: Sequence[Cell] = CELLS,
    seeds: Sequence[int] = SEEDS,
    families: Sequence[str] = FAMILIES,
) -> tuple[Score, ...]:
    return sweep(fake, cells, seeds, families, folder, workers, Bar(quiet=True))


def runs(fake: Fake) -> Counter[tuple[str, int]]:
    """How often each task was begun."""
    lines = (fake.diary / "runs").read_text().splitlines() if (fake.diary / "runs").exists() else []
    return Counter((line.split()[0], int(line.split()[1])) for line in lines)


def finished(folder: Path) -> set[tuple[str, int]]:
    bodies = [json.loads(path.read_text())["body"] for path in (folder / "tasks").glob("*.json")]
    return {(body["group"], body["seed"]) for body in bodies}


def expected(fake: Fake, cells: Iterable[Cell] = CELLS, seeds: Iterable[int] = SEEDS) -> str:
    worker = FakeWorker(fake, "salt", None)
    return digest([worker.score(*key) for key in product(cells, seeds, FAMILIES)])
