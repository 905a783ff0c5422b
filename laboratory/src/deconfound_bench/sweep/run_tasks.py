"""Run tasks on an engine: in this process, in worker processes that end with it, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deconfound.engines import Engine, EngineOptions, LostWorkerError, TaskError, map_as_completed, open_engine
from deconfound.errors import DeconfoundError
from deconfound.threads import thread_count
from deconfound_bench.sweep.request import Benchmark, SweepError, Task
from deconfound_bench.sweep.worker_task import engine_task, to_payload

Save = Callable[[Task, str], None]


@dataclass(frozen=True, slots=True)
class TaskBatch:
    """Tasks of one benchmark, and where to run them."""

    benchmark: Benchmark
    shared: Path
    tasks: tuple[Task, ...]
    options: EngineOptions

    def open_engine(self) -> Engine:
        """Tasks are mostly Python, so workers on this computer are processes; a single one is this process."""
        if self.options.engine not in ("local", "processes"):
            return open_engine(self.options)
        workers = min(self.options.workers or thread_count(), len(self.tasks))
        return open_engine(EngineOptions("local" if workers == 1 else "processes", workers=workers))


def run_tasks(batch: TaskBatch, save: Save, heartbeat: Callable[[], None]) -> None:
    """Run every task and pass its scores to ``save`` in the order of completion.

    After a failure no further task is started; those that are running are finished and saved.
    """
    task, failures = engine_task(batch.benchmark, batch.shared), list[SweepError]()
    with batch.open_engine() as engine:
        for number, future in map_as_completed(engine, task, map(to_payload, batch.tasks), heartbeat):
            error = future.exception()
            if error is None:
                save(batch.tasks[number], future.result().decode())
            else:
                failures.append(_task_error(batch.tasks[number], error))
    if failures:
        raise failures[0]


def _task_error(task: Task, error: BaseException) -> SweepError:
    if isinstance(error, LostWorkerError):
        return SweepError(str(error))
    if isinstance(error, TaskError):
        return SweepError(f"Task {task.title} failed: {error.what.rstrip('.')}.", error.trace)
    what = str(error) if isinstance(error, DeconfoundError) else f"{type(error).__name__}: {error}"
    return SweepError(f"Task {task.title} failed: {what.rstrip('.')}.")
