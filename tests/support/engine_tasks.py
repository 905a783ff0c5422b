"""Tasks for tests of engines: workers import this module by its name."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from deconfound.array_archive import arrays_from_bytes, arrays_to_bytes
from deconfound.engines import Payload, Task
from deconfound.errors import DataError, EvidenceError, Problem, UsageError
from deconfound.threads import end_if_stopped

MODULE = __name__
Run = Callable[[bytes], bytes]


def task(function: Callable[[bytes], Run], shared: bytes = b"") -> Task:
    return Task(MODULE, function.__name__, shared)


def payloads(*contents: object) -> list[Payload]:
    """One payload per content, as JSON; they are named part 0, part 1 and so on."""
    return [Payload(f"part {at}", json.dumps(content).encode()) for at, content in enumerate(contents)]


def repeat(shared: bytes) -> Run:
    """The shared text and the payload, and where this ran."""
    return lambda content: shared + b" " + content


def identify(shared: bytes) -> Run:  # noqa: ARG001
    """Process, and settings that a worker must have."""

    def run(content: bytes) -> bytes:  # noqa: ARG001
        time.sleep(0.05)
        print("printing must not disturb")  # noqa: T201
        blocked = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        threads = os.environ.get("OPENBLAS_NUM_THREADS")
        return json.dumps({"process": os.getpid(), "blocked": blocked, "threads": threads}).encode()

    return run


def wait(shared: bytes) -> Run:
    """Wait as long as the payload says; ``shared`` is a folder where it is written down who waits."""

    def run(content: bytes) -> bytes:
        seconds = json.loads(content)
        with (Path(shared.decode()) / "started").open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(seconds)
        return content

    return run


def take_steps(shared: bytes) -> Run:
    """As many short steps as the payload says, each of which is written down in the folder ``shared``."""

    def run(content: bytes) -> bytes:
        for step in range(json.loads(content)):
            end_if_stopped()
            with (Path(shared.decode()) / "steps").open("a") as file:
                file.write(f"{step}\n")
            time.sleep(0.01)
        return content

    return run


def die(shared: bytes) -> Run:
    """Kill its own process: always for a payload "always", the first time for "once"."""
    folder = Path(shared.decode())

    def run(content: bytes) -> bytes:
        what = json.loads(content)
        mark = folder / f"died-{what}"
        if what == "always" or (what == "once" and not mark.exists()):
            with mark.open("a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return content

    return run


def fail(shared: bytes) -> Run:
    """Raise the error that the payload names."""
    errors: dict[str, Exception] = {
        "data": DataError([Problem("a.csv row 2", "no outcome", "Add it."), Problem("b.csv", "empty", "Fill it.")]),
        "usage": UsageError("Not like this."),
        "evidence": EvidenceError("Too few rows."),
        "value": ValueError("division of\nnothing"),
        "memory": MemoryError("too large"),
    }

    def run(content: bytes) -> bytes:
        name = json.loads(content)
        if name == "file":
            Path("/nowhere/at all").read_bytes()
        if name == "disk":
            Path(shared.decode()).write_bytes(bytes(10_000_000))
        if name in errors:
            raise errors[name]
        return content

    return run


def refuse_to_open(shared: bytes) -> Run:  # noqa: ARG001
    raise DataError([Problem("salt", "is damaged", "Write it again.")])


def sum_columns(shared: bytes) -> Run:
    """Column sums and Gram matrix of some row groups of a Parquet file, after a pause of ``shared`` seconds.

    Numbers of all sizes: their sum depends on the order of addition. Before a pause the process is written down beside
    the file.
    """
    pause = float(shared or b"0")

    def run(content: bytes) -> bytes:
        part = json.loads(content)
        with pq.ParquetFile(part["path"]) as file:
            table = file.read_row_groups(part["groups"])
        values = np.column_stack([column.to_numpy() for column in table.columns])
        if pause:
            with Path(part["path"]).with_name("started").open("a") as file:
                file.write(f"{os.getpid()}\n")
            time.sleep(pause)
        return arrays_to_bytes({"sum": values.sum(0), "gram": values.T @ values, "rows": np.array([len(values)])})

    return run


def read_sums(content: bytes) -> dict[str, np.ndarray]:
    return arrays_from_bytes(content, ("sum", "gram", "rows"))


def add_sums(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: first[name] + second[name] for name in first}
