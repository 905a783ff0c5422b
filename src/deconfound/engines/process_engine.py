"""Worker processes on this computer. A worker that dies is replaced, and its payload is tried again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from queue import Empty, LifoQueue
from threading import Lock, Semaphore
from types import TracebackType
from typing import BinaryIO, Self, cast, final

from deconfound.engines.engine import MAX_TRIES, LostWorkerError, Payload, Task
from deconfound.engines.pipe_messages import read_parts, write_parts
from deconfound.engines.task_runner import task_header
from deconfound.engines.worker_answer import read_answer
from deconfound.errors import UsageError

IN_FLIGHT_PER_WORKER = 2
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "DECONFOUND_THREADS",
    ),
    "1",
)
"""Set before a worker starts: numerical libraries read them only when they are loaded."""

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from deconfound.engines.worker_process import main; main()"
)
"""A worker finds modules where this process does. Unlike ``multiprocessing``, it does not run the main script again."""


@final
class ProcessEngine:
    """Runs tasks in processes of their own, which are started when they are first needed."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._turns = Semaphore(workers)
        self._idle: LifoQueue[_Worker] = LifoQueue()
        self._started: set[_Worker] = set()
        self._lock = Lock()
        self._closed = False

    @property
    def in_flight(self) -> int:
        """Two per process: the next payload is there when one is finished."""
        return IN_FLIGHT_PER_WORKER * self._workers

    def run(self, task: Task, payload: Payload) -> bytes:
        """Send the payload to an idle process."""
        header = task_header(task)
        with self._turns:
            for _ in range(MAX_TRIES):
                content = self._try(header, task, payload)
                if content is not None:
                    return read_answer(content, payload.name)
        raise LostWorkerError(payload.name, "Fewer --workers need less memory.")

    def _try(self, header: str, task: Task, payload: Payload) -> bytes | None:
        """The answer of a worker; None if it died."""
        worker = self._take_worker()
        try:
            content = worker.ask(header, task.shared, payload.content)
        except (EOFError, OSError):
            self._end(worker)
            return None
        self._idle.put(worker)
        return content

    def _take_worker(self) -> _Worker:
        with suppress(Empty):
            return self._idle.get_nowait()
        with self._lock:  # so that none is started after the others were ended
            if self._closed:
                raise UsageError("The engine is closed.")
            worker = _Worker()
            self._started.add(worker)
            return worker

    def _end(self, worker: _Worker) -> None:
        worker.end()
        with self._lock:
            self._started.discard(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all processes; the threads that wait for their answers then end by themselves."""
        with self._lock:
            self._closed = True
            started, self._started = self._started, set()
        for worker in started:
            worker.kill()
        for worker in started:
            worker.end()


@final
class _Worker:
    """One process, and what it has been sent."""

    def __init__(self) -> None:
        if not sys.executable:
            raise UsageError("Worker processes need a Python program, and this process has none; use threads.")
        self._process = subprocess.Popen(  # noqa: S603  (our own interpreter and code)
            [sys.executable, "-c", START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
            start_new_session=True,  # a Ctrl-C in the terminal is for the parent
        )
        self._header = ""

    def ask(self, header: str, shared: bytes, payload: bytes) -> bytes:
        """Wait for the answer; ``EOFError`` or ``OSError`` if the process has died."""
        new_shared = b"" if header == self._header else shared
        write_parts(cast(BinaryIO, self._process.stdin), [header.encode(), new_shared, payload])
        self._header = header
        return read_parts(cast(BinaryIO, self._process.stdout), 1)[0]

    def kill(self) -> None:
        """Without a chance to clean up: whatever it writes, it writes in one step or not at all."""
        with suppress(OSError):
            self._process.kill()

    def end(self) -> None:
        """Kill it, and leave neither an open pipe nor an entry in the system's table of processes."""
        self.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                cast(BinaryIO, stream).close()
