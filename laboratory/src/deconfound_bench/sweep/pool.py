"""Run tasks one after another here, or side by side in processes that never outlive this one."""

from __future__ import annotations

import multiprocessing
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from deconfound.errors import DeconfoundError
from deconfound_bench.sweep.birth import quiet_birth
from deconfound_bench.sweep.files import to_text
from deconfound_bench.sweep.parent import end_with_parent
from deconfound_bench.sweep.task import Benchmark, SweepError, Task, Worker

AHEAD = 2  # tasks in flight for each worker; more would only be lost when the sweep is stopped
PULSE = 1.0  # seconds without news after which the clock is shown to move

Keep = Callable[[Task, str], None]


@dataclass(frozen=True, slots=True)
class Work:
    """Tasks of one benchmark and the processes to run them in."""

    benchmark: Benchmark
    shared: Path
    tasks: tuple[Task, ...]
    workers: int


@dataclass(slots=True)
class Desk:
    """A benchmark in the process that runs its tasks; opened by the first one, so that its failure has a name."""

    benchmark: Benchmark
    shared: Path
    worker: Worker | None = None

    def run(self, task: Task) -> str:
        """Scores of a task, as text; wrong ones are the task's failure."""
        if self.worker is None:
            self.worker = self.benchmark.open(self.shared)
        scores = self.worker.run(task)
        if sorted(one.key for one in scores) != sorted(task.keys):
            raise ValueError("the scores it gave are not the ones it was asked for")
        if any(one.benchmark != self.benchmark.name for one in scores):
            raise ValueError(f"its scores are not filed under {self.benchmark.name}")
        return to_text(scores)


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception as text: not every exception survives the way from one process to another."""

    what: str
    trace: str

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """Errors meant for the user say all there is to say; others need their traceback."""
        if isinstance(error, DeconfoundError):
            return cls(str(error), "")
        return cls(f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)))


def run_tasks(work: Work, keep: Keep, pulse: Callable[[], None]) -> None:
    """Run every task and hand its scores to ``keep``, in the order in which they finish."""
    if min(work.workers, len(work.tasks)) > 1:
        _in_processes(work, keep, pulse)
    else:
        _here(work, keep)


def _here(work: Work, keep: Keep) -> None:
    desk = Desk(work.benchmark, work.shared)
    for task in work.tasks:
        try:
            scores = desk.run(task)
        except Exception as error:
            raise _failed(task, Failure.of(error)) from error
        keep(task, scores)


def _in_processes(work: Work, keep: Keep, pulse: Callable[[], None]) -> None:
    # Forked children would inherit locks of BLAS threads that do not exist in them.
    context = multiprocessing.get_context("spawn")
    count, others = min(work.workers, len(work.tasks)), multiprocessing.active_children()
    start = (work.benchmark, work.shared)
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_start, initargs=start)
    try:
        _feed(pool, work.tasks, AHEAD * count, keep, pulse)
    except BaseException:
        for child in multiprocessing.active_children():
            if child not in others:
                child.kill()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _feed(pool: ProcessPoolExecutor, tasks: tuple[Task, ...], most: int, keep: Keep, pulse: Callable[[], None]) -> None:
    waiting, running = deque(tasks), dict[Future[str | Failure], Task]()
    failures: list[SweepError] = []
    try:
        while waiting or running:
            while waiting and len(running) < most:
                with quiet_birth():
                    running[pool.submit(_attempt, waiting[0])] = waiting[0]
                waiting.popleft()
            wait(running, timeout=PULSE, return_when=FIRST_COMPLETED)
            failures += _collect(running, keep)
            if failures:
                waiting.clear()
                running = {future: task for future, task in running.items() if not future.cancel()}
            pulse()
    except BrokenProcessPool as error:
        raise _died(list(running.values())) from error
    if failures:
        raise failures[0]


def _collect(running: dict[Future[str | Failure], Task], keep: Keep) -> list[SweepError]:
    """Keep what has finished; what a dead worker takes with it comes last, so that nothing good is lost to it."""
    failures = []
    for future in sorted((one for one in running if one.done()), key=lambda one: one.exception() is not None):
        answer = future.result()
        task = running.pop(future)
        if isinstance(answer, Failure):
            failures.append(_failed(task, answer))
        else:
            keep(task, answer)
    return failures


def _failed(task: Task, failure: Failure) -> SweepError:
    return SweepError(f"Task {task.title} failed: {failure.what.rstrip('.')}.", failure.trace)


def _died(tasks: list[Task]) -> SweepError:
    titles = "; ".join(task.title for task in tasks)
    what = "A worker process died, killed from outside or out of memory"
    return SweepError(f"{what}. In flight were: {titles}. With fewer --workers less memory is needed.")


# A pool offers its processes no other place for what they keep between tasks.
_DESK: ContextVar[Desk] = ContextVar("desk")


def _start(benchmark: Benchmark, shared: Path) -> None:
    end_with_parent()
    _DESK.set(Desk(benchmark, shared))


def _attempt(task: Task) -> str | Failure:
    try:
        return _DESK.get().run(task)
    except Exception as error:
        return Failure.of(error)
