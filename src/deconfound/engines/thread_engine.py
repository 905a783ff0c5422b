"""This process and its threads: for compiled code that releases the interpreter's lock, and for one worker."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Event, Lock, Semaphore
from types import TracebackType
from typing import Self, final

from deconfound.engines.engine import Payload, Task
from deconfound.engines.task_runner import Run, open_task
from deconfound.engines.worker_answer import as_from_worker
from deconfound.errors import UsageError
from deconfound.threads import one_blas_thread, stoppable

IN_FLIGHT_PER_THREAD = 2


@final
class ThreadEngine:
    """Runs tasks in the threads that call it, ``workers`` of them at a time.

    One worker is the main thread: Ctrl-C ends its task at once, and the task may use threads of its own.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._turns = Semaphore(workers)
        self._opened: dict[Task, Run] = {}
        self._lock = Lock()
        self._stack = ExitStack()
        self._closed = Event()

    @property
    def in_flight(self) -> int:
        """Two per thread, so that a slow payload does not stop the others."""
        return 1 if self._workers == 1 else IN_FLIGHT_PER_THREAD * self._workers

    def run(self, task: Task, payload: Payload) -> bytes:
        """Apply the task here."""
        with self._turns:
            if self._closed.is_set():
                raise UsageError("The engine is closed.")
            try:
                with stoppable(self._closed):
                    return self._open(task)(payload.content)
            except Exception as error:
                raise as_from_worker(error, payload.name) from error

    def _open(self, task: Task) -> Run:
        with self._lock:
            if task not in self._opened:
                self._opened = {task: open_task(task)}
            return self._opened[task]

    def __enter__(self) -> Self:
        # Several BLAS threads would add up in another order than one, which the workers of other engines have.
        self._stack.enter_context(one_blas_thread())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Threads cannot be ended: after an error they finish the step that they run, and begin nothing else."""
        self._closed.set()
        self._stack.close()
