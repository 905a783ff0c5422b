"""Run a task in the process of a worker: import it, open it once, refuse it if its code is not the caller's."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

from deconfound import __version__
from deconfound.engines.engine import Task
from deconfound.engines.worker_answer import answer
from deconfound.errors import UsageError
from deconfound.threads import one_blas_thread

PACKAGE = "deconfound"

Run = Callable[[bytes], bytes]


@lru_cache(maxsize=1)
def task_header(task: Task) -> str:
    """What a worker needs to find a task and to know that it is the same code: text, for any transport."""
    digest = hashlib.blake2b(task.shared, digest_size=16).hexdigest()
    header = {"module": task.module, "function": task.function, "shared": digest, "code": code_of(task.module)}
    return json.dumps(header, sort_keys=True)


def run_task(header: str, shared: bytes, payload: bytes) -> bytes:
    """The answer of a task to a payload, for ``read_answer``: what a worker process runs."""
    return answer(lambda: _OPENED.get(header, shared)(payload))


def run_remote_task(header: str, shared: bytes, payload: bytes) -> bytes:
    """The same in a process that others have started: the cluster decides how many tasks run there at once."""
    _use_one_thread()
    return run_task(header, shared, payload)


@lru_cache(maxsize=1)
def _use_one_thread() -> None:
    """For good: tasks of several threads that each restored the number would undo each other's limit."""
    os.environ.setdefault("DECONFOUND_THREADS", "1")
    one_blas_thread().__enter__()


def open_task(task: Task) -> Run:
    """The function of a task, opened; importing a task that does not exist is a defect, and raises as one."""
    opener: Callable[[bytes], Run] = getattr(importlib.import_module(task.module), task.function)
    return opener(task.shared)


class _Opened:
    """The task that was opened last: a worker usually has one task, and two would double its memory."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._header = ""
        self._run: Run | None = None

    def get(self, header: str, shared: bytes) -> Run:
        with self._lock:
            if self._run is None or self._header != header:
                self._run = None  # frees the memory of the task before
                document = json.loads(header)
                _require_same_code(document["code"], code_of(document["module"]))
                self._run = open_task(Task(document["module"], document["function"], shared))
                self._header = header
            return self._run


_OPENED = _Opened()


def _require_same_code(callers: dict[str, str], own: dict[str, str]) -> None:
    for package, code in callers.items():
        if own.get(package) != code:
            raise UsageError(
                f"A worker runs {own.get(package, 'no ' + package)}, but this command {code}: the numbers could "
                "differ. Install the same version on all workers and restart them."
            )


def code_of(module: str) -> dict[str, str]:
    """Version and a digest of the source of our package and of the one that the task is in."""
    packages = dict.fromkeys((PACKAGE, module.partition(".")[0]))
    return {package: code for package in packages if (code := _code_of_package(package))}


@lru_cache(maxsize=4)
def _code_of_package(package: str) -> str:
    """Empty for what is no package with a folder of its own."""
    found = find_spec(package)
    if found is None or found.origin is None or Path(found.origin).name != "__init__.py":
        return ""
    folder, digest = Path(found.origin).parent, hashlib.blake2b(digest_size=4)
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    version = f" {__version__}" if package == PACKAGE else ""
    return f"{package}{version} ({digest.hexdigest()})"
