"""A Ray cluster, or Ray on this computer. Ray gives the payload of a lost worker to another one."""

from __future__ import annotations

import socket
from threading import Lock
from types import TracebackType
from typing import Any, Self, final

from deconfound.engines.engine import MAX_TRIES, LostClusterError, LostWorkerError, Payload, Task
from deconfound.engines.task_runner import run_remote_task, task_header
from deconfound.engines.worker_answer import read_answer
from deconfound.errors import UsageError
from deconfound.formatting import quote

IN_FLIGHT_PER_CPU = 2
CONNECT_SECONDS = 10


@final
class RayEngine:
    """Runs tasks on the cluster at an address, or on ``workers`` processes of this computer without one."""

    def __init__(self, address: str | None, workers: int | None = None) -> None:
        self._address = address
        self._workers = workers
        self._cpus = 1
        self._remote: Any = None  # the library carries no types for it
        self._shared: dict[str, Any] = {}
        self._lock = Lock()

    @property
    def in_flight(self) -> int:
        """Two per processor."""
        return max(2, IN_FLIGHT_PER_CPU * self._cpus)

    def run(self, task: Task, payload: Payload) -> bytes:
        """Send the payload to the cluster and wait."""
        import ray

        header = task_header(task)
        with self._lock:
            if header not in self._shared:
                self._shared = {header: ray.put(task.shared)}
            shared = self._shared[header]
        try:
            answer: bytes = ray.get(self._remote.remote(header, shared, payload.content))
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError):
            raise LostWorkerError(payload.name, "The logs of Ray may say more.") from None
        except ray.exceptions.RayError as error:
            raise LostClusterError(f"{payload.name}: Ray could not run the task: {error}") from error
        return read_answer(answer, payload.name)

    def __enter__(self) -> Self:
        try:
            import ray
        except ImportError:
            raise UsageError('--engine ray needs Ray. Install it with: pip install "deconfound[ray]"') from None
        if self._address is not None:
            _require_answer(self._address)
        try:
            ray.init(self._address or "local", num_cpus=self._workers, log_to_driver=False, include_dashboard=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise UsageError(f"--scheduler {quote(self._address or 'local')}: Ray does not start ({error}).") from error
        self._cpus = int(ray.cluster_resources().get("CPU", 1))
        self._remote = ray.remote(max_retries=MAX_TRIES - 1)(run_remote_task)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnecting ends what still runs; a local Ray ends as a whole."""
        import ray

        self._shared = {}
        ray.shutdown()


def _require_answer(address: str) -> None:
    """Refuse an address at which nothing answers, where Ray would try for minutes; "auto" is left to Ray."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"--scheduler {quote(address)}: no Ray cluster answers there ({error}). Give the address that `ray start "
            "--head` prints, such as 10.0.0.5:6379."
        ) from error
