"""What runs, on what, and where: tasks, payloads and the one interface of all engines."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from deconfound.errors import DeconfoundError, UsageError

MAX_TRIES = 3  # of a payload whose worker dies; then the payload is what kills workers


@dataclass(frozen=True, slots=True)
class Task:
    """A function that every worker can import, named by its module, and what it needs once per worker.

    The function takes ``shared`` and returns the function that is applied to each payload: bytes in, bytes out. It
    must be safe to call from several threads. Nothing else travels: a worker never reads a pickle of our objects.
    """

    module: str
    function: str
    shared: bytes = b""


@dataclass(frozen=True, slots=True)
class Payload:
    """One piece of work; ``name`` is how messages call it, such as the name of a file."""

    name: str
    content: bytes


class Engine(Protocol):
    """Runs tasks on threads, processes or computers; leaving its ``with`` block ends whatever still runs."""

    @property
    def in_flight(self) -> int:
        """How many payloads to hand over before one is finished: enough to keep all workers busy, few in memory.

        With one, tasks run in the calling thread.
        """
        ...

    def run(self, task: Task, payload: Payload) -> bytes:
        """The result of the task; called by ``in_flight`` threads at once. A lost worker costs a retry.

        Errors written for users are raised as they were in the task; the others are a ``TaskError``, a
        ``LostWorkerError`` or a ``LostClusterError``.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class TaskError(DeconfoundError):
    """An unexpected error of a task; ``what`` is its kind and message, ``trace`` its traceback as text."""

    def __init__(self, name: str, what: str, trace: str) -> None:
        super().__init__(f"{name}: {what}")
        self.what = what
        self.trace = trace


class LostWorkerError(DeconfoundError):
    """A payload that was lost with its worker, too often."""

    def __init__(self, name: str, advice: str) -> None:
        super().__init__(
            f"{name}: the worker process died on it at every try: it was killed or ran out of memory. {advice}"
        )


class LostClusterError(UsageError):
    """The scheduler or all workers of a cluster are gone."""
