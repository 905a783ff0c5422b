"""Run tasks one after another in this process, or in parallel in worker processes that end with this one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import final

from deconfound.errors import DeconfoundError
from deconfound_bench.sweep.folder import scores_to_text
from deconfound_bench.sweep.request import Benchmark, SweepError, Task, Worker

TASKS_IN_FLIGHT = 2  # per worker; further tasks would only be lost when the sweep is stopped
HEARTBEAT_SECONDS = 1.0  # the progress display is refreshed at least this often
SINGLE_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "DECONFOUND_THREADS",
)
"""Set to 1 before a worker starts: numerical libraries read them only when they are loaded."""

Save = Callable[[Task, str], None]


@dataclass(frozen=True, slots=True)
class TaskBatch:
    """Tasks of one benchmark, and the number of processes to run them in."""

    benchmark: Benchmark
    shared: Path
    tasks: tuple[Task, ...]
    workers: int


@final
class TaskRunner:
    """Runs tasks in one process. The benchmark is opened by the first task, so an error while opening names a task."""

    def __init__(self, benchmark: Benchmark, shared: Path) -> None:
        self._benchmark = benchmark
        self._shared = shared
        self._worker: Worker | None = None

    def run(self, task: Task) -> str:
        """The scores of a task as text; scores that were not requested are an error."""
        if self._worker is None:
            self._worker = self._benchmark.open(self._shared)
        scores = self._worker.run(task)
        if sorted(score.key for score in scores) != sorted(task.keys):
            raise ValueError("the returned scores are not the requested ones")
        if any(score.benchmark != self._benchmark.name for score in scores):
            raise ValueError(f"the returned scores do not belong to {self._benchmark.name}")
        return scores_to_text(scores)


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """An exception as text: not every exception can be sent from one process to another."""

    what: str
    trace: str

    @classmethod
    def from_exception(cls, error: Exception) -> TaskFailure:
        """Errors written for the user are complete without a traceback; unexpected ones need it."""
        if isinstance(error, DeconfoundError):
            return cls(str(error), "")
        return cls(f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)))


def run_tasks(batch: TaskBatch, save: Save, heartbeat: Callable[[], None]) -> None:
    """Run every task and pass its scores to ``save`` in the order of completion."""
    if min(batch.workers, len(batch.tasks)) > 1:
        _run_in_processes(batch, save, heartbeat)
    else:
        _run_here(batch, save)


def _run_here(batch: TaskBatch, save: Save) -> None:
    runner = TaskRunner(batch.benchmark, batch.shared)
    for task in batch.tasks:
        try:
            scores = runner.run(task)
        except Exception as error:
            raise _task_error(task, TaskFailure.from_exception(error)) from error
        save(task, scores)


def _run_in_processes(batch: TaskBatch, save: Save, heartbeat: Callable[[], None]) -> None:
    # Forked children would inherit locks of BLAS threads that do not exist in them.
    context = multiprocessing.get_context("spawn")
    count, other_children = min(batch.workers, len(batch.tasks)), multiprocessing.active_children()
    arguments = (batch.benchmark, batch.shared)
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_start_worker, initargs=arguments)
    try:
        _feed(pool, batch.tasks, TASKS_IN_FLIGHT * count, save, heartbeat)
    except BaseException:
        for child in multiprocessing.active_children():
            if child not in other_children:
                child.kill()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _feed(
    pool: ProcessPoolExecutor, tasks: tuple[Task, ...], limit: int, save: Save, heartbeat: Callable[[], None]
) -> None:
    waiting, running = deque(tasks), dict[Future[str | TaskFailure], Task]()
    failures: list[SweepError] = []
    try:
        while waiting or running:
            while waiting and len(running) < limit:
                with spawn_quietly():
                    running[pool.submit(_run_in_worker, waiting[0])] = waiting[0]
                waiting.popleft()
            wait(running, timeout=HEARTBEAT_SECONDS, return_when=FIRST_COMPLETED)
            failures += save_completed(running, save)
            if failures:
                waiting.clear()
                running = {future: task for future, task in running.items() if not future.cancel()}
            heartbeat()
    except BrokenProcessPool as error:
        raise _worker_died(list(running.values())) from error
    if failures:
        raise failures[0]


def save_completed(running: dict[Future[str | TaskFailure], Task], save: Save) -> list[SweepError]:
    """Save the completed tasks and remove them from ``running``; return the errors of failed ones.

    Futures broken by a dead worker raise, so they come last and every completed task is saved first.
    """
    failures = []
    done = (future for future in running if future.done())
    for future in sorted(done, key=lambda future: future.exception() is not None):
        answer = future.result()
        task = running.pop(future)
        if isinstance(answer, TaskFailure):
            failures.append(_task_error(task, answer))
        else:
            save(task, answer)
    return failures


def _task_error(task: Task, failure: TaskFailure) -> SweepError:
    return SweepError(f"Task {task.title} failed: {failure.what.rstrip('.')}.", failure.trace)


def _worker_died(tasks: list[Task]) -> SweepError:
    titles = "; ".join(task.title for task in tasks)
    what = "A worker process died: it was killed or ran out of memory"
    return SweepError(f"{what}. The running tasks were: {titles}. Fewer --workers need less memory.")


# The only place where a process of the pool can store its runner between tasks.
_RUNNER: ContextVar[TaskRunner] = ContextVar("runner")


def _start_worker(benchmark: Benchmark, shared: Path) -> None:
    end_with_parent()
    _RUNNER.set(TaskRunner(benchmark, shared))


def _run_in_worker(task: Task) -> str | TaskFailure:
    try:
        return _RUNNER.get().run(task)
    except Exception as error:
        return TaskFailure.from_exception(error)


def end_with_parent() -> None:
    """End this process as soon as its parent dies, even in the middle of a computation."""
    threading.Thread(target=_exit_after_parent, daemon=True).start()


def _exit_after_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def spawn_quietly() -> Iterator[None]:
    """Start children with one BLAS thread and SIGINT blocked; restore this process afterwards."""
    before = {name: os.environ.get(name) for name in SINGLE_THREAD_VARIABLES}
    with _defer_interrupts():
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.environ.update(dict.fromkeys(SINGLE_THREAD_VARIABLES, "1"))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _defer_interrupts() -> Iterator[None]:
    """Delay a Ctrl-C that arrives while a process is being started, and raise it afterwards.

    Blocking the signal in this thread is not enough: it may be delivered to one of the BLAS threads instead.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    deferred: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _frame: deferred.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if deferred:
            signal.raise_signal(signal.SIGINT)
