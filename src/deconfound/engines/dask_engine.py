"""The workers of a Dask cluster. Dask gives the payload of a lost worker to another one."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError, Future
from pydoc import locate
from threading import Lock, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Self, final

from deconfound.engines.engine import LostClusterError, LostWorkerError, Payload, Task, TaskError
from deconfound.engines.task_runner import run_remote_task, task_header
from deconfound.engines.worker_answer import read_answer
from deconfound.errors import UsageError
from deconfound.formatting import quote

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as RemoteFuture

CONNECT_SECONDS = 10
FIRST_WORKER_SECONDS = 10  # that a scheduler without workers is waited for
CHECK_SECONDS = 5.0  # how often a wait looks whether the cluster is still there
MAX_SECONDS_WITHOUT_WORKERS = 60.0  # a cluster that restarts its workers is given this long
IN_FLIGHT_PER_THREAD = 2
SAME_PACKAGE = "Install the same version of deconfound where the scheduler and the workers run."


@final
class DaskEngine:
    """Runs tasks on the cluster of a scheduler. Files that tasks read must have the same path on every node."""

    def __init__(self, scheduler: str, max_seconds_without_workers: float = MAX_SECONDS_WITHOUT_WORKERS) -> None:
        self._scheduler = scheduler
        self._patience = max_seconds_without_workers
        self._client: Client | None = None
        self._threads = 1
        self._last_worker_seen = 0.0
        self._shared: dict[str, RemoteFuture[bytes]] = {}
        self._lock = Lock()

    @property
    def in_flight(self) -> int:
        """Two per thread of the workers that were there at the start."""
        return max(2, IN_FLIGHT_PER_THREAD * self._threads)

    def run(self, task: Task, payload: Payload) -> bytes:
        """Send the payload to the cluster and wait."""
        from distributed import KilledWorker

        try:
            header = task_header(task)
            shared = self._send_shared(header, task)
            future = self._connected.submit(run_remote_task, header, shared, payload.content, pure=False)
            answer = self._wait(future)
        except KilledWorker:
            raise LostWorkerError(payload.name, "The logs of the Dask workers may say more.") from None
        except (UsageError, TaskError):
            raise
        except Exception as error:
            raise self._explain(error, payload) from error
        return read_answer(answer, payload.name)

    def _send_shared(self, header: str, task: Task) -> RemoteFuture[bytes]:
        """What all payloads share, sent once, as a task: Dask repeats a task whose result is lost with its worker."""
        with self._lock:
            if header not in self._shared:
                self._shared = {header: self._connected.submit(bytes, task.shared, pure=False)}
            return self._shared[header]

    def _wait(self, future: RemoteFuture[bytes]) -> bytes:
        while True:
            try:
                answer: bytes = future.result(timeout=CHECK_SECONDS)
            except TimeoutError:
                self._require_workers()
            else:
                return answer

    def _require_workers(self) -> None:
        if self._connected.nthreads():
            self._last_worker_seen = time.monotonic()
        elif time.monotonic() - self._last_worker_seen > self._patience:
            raise LostClusterError(
                f"The Dask scheduler {self._scheduler} has had no workers for {self._patience:g} seconds. "
                f"Start some with: dask worker {self._scheduler}"
            )

    def _explain(self, error: Exception, payload: Payload) -> Exception:
        """Errors of Dask itself: a task answers with its own."""
        if isinstance(error, CancelledError | OSError):
            return LostClusterError(f"The connection to the Dask scheduler {self._scheduler} was lost.")
        what = f"{type(error).__name__}: {error}"
        return TaskError(payload.name, f"Dask could not run the task: {what}. {SAME_PACKAGE}", "")

    @property
    def _connected(self) -> Client:
        if self._client is None:
            raise LostClusterError(f"The connection to the Dask scheduler {self._scheduler} is closed.")
        return self._client

    def __enter__(self) -> Self:
        self._client, self._threads = _connect_in_time(self._scheduler)
        self._last_worker_seen = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closing the connection cancels what still runs for it."""
        client, self._client, self._shared = self._client, None, {}
        if client is not None:
            client.close(timeout=CHECK_SECONDS)


def _connect_in_time(scheduler: str) -> tuple[Client, int]:
    """A connection and the number of threads of all workers.

    Dask waits forever for a program that accepts a connection and says nothing, so it waits on a thread of its own.
    """
    connected: Future[tuple[Client, int]] = Future()

    def connect() -> None:
        try:
            connected.set_result(_connect(scheduler))
        except Exception as error:
            connected.set_exception(error)

    Thread(target=connect, name="deconfound-connect", daemon=True).start()
    try:
        return connected.result(3 * CONNECT_SECONDS)
    except TimeoutError:
        raise _no_answer(scheduler, "something accepts connections, but does not answer") from None


def _connect(scheduler: str) -> tuple[Client, int]:
    try:
        from distributed import Client
    except ImportError:
        raise UsageError('--engine dask needs Dask. Install it with: pip install "deconfound[dask]"') from None
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise _no_answer(scheduler, str(error)) from error
    try:
        _require_workers_with_package(client, scheduler)
    except UsageError:
        client.close(timeout=CHECK_SECONDS)
        raise
    return client, sum(client.nthreads().values())


def _no_answer(scheduler: str, why: str) -> UsageError:
    return UsageError(
        f"--scheduler {quote(scheduler)}: no Dask scheduler answers there ({why}). Give the address that `dask "
        "scheduler` prints, such as tcp://10.0.0.5:8786."
    )


def _require_workers_with_package(client: Client, scheduler: str) -> None:
    """A worker that cannot import a function would die of it, and the next worker after it."""
    try:
        client.wait_for_workers(1, timeout=FIRST_WORKER_SECONDS)
    except TimeoutError:
        raise UsageError(
            f"The Dask scheduler {scheduler} has no workers. Start some with: dask worker {scheduler}"
        ) from None
    found = client.run(locate, f"{run_remote_task.__module__}.{run_remote_task.__name__}", on_error="return")
    without = [worker for worker, function in found.items() if function is not run_remote_task]
    if without:
        raise UsageError(f"deconfound cannot be imported on the Dask worker {without[0]}. {SAME_PACKAGE}")
