"""A benchmark whose scores come from a hash, for testing sweeps, and helpers that inspect what a sweep has run."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path

from deconfound_bench.results import Cell, Hyperparameters, Score, scores_digest
from deconfound_bench.sweep import Opener, SweepProgress, Task, run_sweep

from deconfound.engines import EngineOptions
from deconfound.errors import DataError, Problem

CELLS = tuple(Cell(c, n, m, "plain") for c, n, m in product((0.0, 0.9), (100, 200), (10, 20)))
SEEDS = (0, 1, 2)
FAMILIES = ("second", "first")  # deliberately not in alphabetical order
TASKS = 4 * len(SEEDS)  # the benchmark groups cells by confounding and n_log


@dataclass(frozen=True, slots=True)
class FakeBenchmark:
    """Scores from a hash; it records what ran, can take a given time per task, and can fail in a given task."""

    history: Path
    task_seconds: float = 0.0
    fault: str = ""
    faulty_task: tuple[str, int] = ("0.9-100", 1)
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

    def opener(self, directory: Path) -> Opener:
        return Opener(__name__, open_fake.__name__, self.settings(directory))

    def settings(self, directory: Path) -> str:
        return json.dumps({**asdict(self), "history": str(self.history), "directory": str(directory)})


def open_fake(settings: str) -> FakeWorker:
    document = json.loads(settings)
    directory, history = Path(document.pop("directory")), Path(document.pop("history"))
    faulty_task = tuple(document.pop("faulty_task"))
    benchmark = FakeBenchmark(history, faulty_task=faulty_task, **document)
    if benchmark.fault == "open":
        raise DataError([Problem("salt", "is damaged", "Write it again.")])
    history.mkdir(exist_ok=True)
    return FakeWorker(benchmark, (directory / "salt").read_text(), ProcessLock(history / "alive"))


class ProcessLock:
    """A lock held for the lifetime of a process; unlike a process id, it cannot be reused by another process."""

    def __init__(self, path: Path) -> None:
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT)
        fcntl.flock(self.handle, fcntl.LOCK_SH)

    def __del__(self) -> None:
        os.close(self.handle)


@dataclass(frozen=True, slots=True)
class FakeWorker:
    benchmark: FakeBenchmark
    salt: str
    lock: ProcessLock | None

    def run(self, task: Task) -> list[Score]:
        with (self.benchmark.history / "runs").open("a") as file:
            blocked = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
            threads = os.environ.get("OPENBLAS_NUM_THREADS")
            file.write(f"{task.group} {task.seed} {threads} {blocked} {os.getpid()}\n")
        with (self.benchmark.history / "keys").open("a") as file:
            file.writelines(f"{key!r}\n" for key in task.keys)
        if self.benchmark.fault and (task.group, task.seed) == self.benchmark.faulty_task:
            self.fail()
        time.sleep(self.benchmark.task_seconds)
        scores = [self.score(cell, task.seed, family) for cell, family in task.pairs]
        return scores[1:] if self.benchmark.fault == "incomplete" else scores

    def fail(self) -> None:
        if self.benchmark.fault == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.benchmark.fault == "raise":
            raise ValueError("division of nothing")
        if self.benchmark.fault == "interrupt":
            raise KeyboardInterrupt

    def score(self, cell: Cell, seed: int, family: str) -> Score:
        digest = sha256(f"{self.salt} {cell} {seed} {family}".encode()).digest()
        numbers = [int.from_bytes(digest[i : i + 6], "big") / 3**30 for i in range(5)]
        seconds = time.perf_counter() if self.benchmark.timed else 0.25
        hyperparameters = Hyperparameters(penalty=numbers[0] / 7, mode="fixed", basis=None if seed else "linear")
        return Score(self.benchmark.name, cell, seed, family, *numbers, float("nan"), seconds, hyperparameters)


def run_fake_sweep(
    benchmark: FakeBenchmark,
    folder: Path,
    workers: int = 1,
    cells: Sequence[Cell] = CELLS,
    seeds: Sequence[int] = SEEDS,
    families: Sequence[str] = FAMILIES,
    engine: EngineOptions | None = None,
) -> tuple[Score, ...]:
    options = engine or EngineOptions(workers=workers)
    return run_sweep(benchmark, cells, seeds, families, folder, options, SweepProgress(quiet=True))


def sweep_process(folder: str, history: str, task_seconds: str, workers: str) -> None:
    """A sweep in its own process, for tests that stop it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run_fake_sweep(FakeBenchmark(Path(history), float(task_seconds)), Path(folder), int(workers))
    except KeyboardInterrupt:
        sys.exit(130)


def run_counts(benchmark: FakeBenchmark) -> Counter[tuple[str, int]]:
    """How often each task was started."""
    path = benchmark.history / "runs"
    lines = path.read_text().splitlines() if path.exists() else []
    return Counter((line.split()[0], int(line.split()[1])) for line in lines)


def finished_tasks(folder: Path) -> set[tuple[str, int]]:
    bodies = [json.loads(path.read_text())["body"] for path in (folder / "tasks").glob("*.json")]
    return {(body["group"], body["seed"]) for body in bodies}


def expected_digest(benchmark: FakeBenchmark, cells: Iterable[Cell] = CELLS, seeds: Iterable[int] = SEEDS) -> str:
    worker = FakeWorker(benchmark, "salt", None)
    return scores_digest([worker.score(*key) for key in product(cells, seeds, FAMILIES)])
