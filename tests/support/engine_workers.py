"""Clusters on this computer, their processes, and files for their tasks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deconfound.engines import Payload

ROOT = Path(__file__).parents[2]
START_SECONDS = 60.0


def write_parts(folder: Path) -> list[Payload]:
    """Three Parquet files with four row groups each: one payload per row group, in the order of the files."""
    random = np.random.default_rng(5)
    for number in range(3):
        values = random.normal(size=(2000, 3)) * 10.0 ** random.integers(-8, 8, size=(2000, 1))
        table = pa.table({name: values[:, at] for at, name in enumerate("abc")})
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=500)
    return read_parts(folder)


def read_parts(folder: Path) -> list[Payload]:
    """The payloads of files that exist."""
    return [
        Payload(f"{path.name} group {group}", json.dumps({"path": str(path), "groups": [group]}).encode())
        for path in sorted(folder.glob("part-*.parquet"))
        for group in range(4)
    ]


def process_ends(process: int, seconds: float = 5.0) -> bool:
    """Whether a process is gone in time; one that only waits to be collected by its parent is gone."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def worker_environment() -> dict[str, str]:
    """Workers find our package and the tasks of the tests."""
    paths = [str(ROOT), *(path for path in sys.path if path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "DASK_DISTRIBUTED__WORKER__DAEMON": "True"}


@contextmanager
def running(command: Sequence[str], log: Path, environment: dict[str, str] | None = None) -> Iterator[subprocess.Popen]:
    """A process in a group of its own, which ends with the block, and its children with it."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, env=environment or worker_environment(), stdout=file, stderr=file, start_new_session=True
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for_line(log: Path, text: str, process: subprocess.Popen) -> str:
    """The first line of a log that contains a text."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        for line in log.read_text(errors="replace").splitlines():
            if text in line:
                return line
        assert process.poll() is None, log.read_text(errors="replace")
        time.sleep(0.05)
    raise AssertionError(f"{text!r} never appeared:\n{log.read_text(errors='replace')}")


@contextmanager
def dask_cluster(workers: int, folder: Path | None = None, threads: int = 1) -> Iterator[str]:
    """The address of a scheduler with some workers, each in its own process with a nanny that restarts it."""
    with ExitStack() as stack:
        folder = folder or Path(stack.enter_context(_temporary_folder()))
        log = folder / "scheduler.log"
        dask = [sys.executable, "-m", "dask"]
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        scheduler = stack.enter_context(running([*dask, "scheduler", *options], log))
        address = wait_for_line(log, "Scheduler at:", scheduler).split()[-1]
        local = [
            "--local-directory",
            str(folder),
            "--no-dashboard",
            "--nthreads",
            str(threads),
            "--nworkers",
            str(workers),
        ]
        worker = stack.enter_context(running([*dask, "worker", address, *local], folder / "worker.log"))
        for _ in range(workers):
            wait_for_line(folder / "worker.log", "Registered to", worker)
        yield address


@contextmanager
def _temporary_folder() -> Iterator[str]:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        yield folder
