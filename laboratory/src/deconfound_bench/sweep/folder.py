"""The folder of a sweep: one sweep at a time, one set of constants, every finished task kept.

DIR
├── constants.json    what the results were made with
├── lock              held while a sweep runs; the system lets go of it however the sweep ends
├── shared/           what the benchmark prepared for its tasks
├── tasks/            one file a finished task
└── results.parquet   the table, written when everything asked for is there
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deconfound.errors import UsageError
from deconfound_bench.results import Score
from deconfound_bench.sweep.files import (
    canonical,
    checksum,
    elsewhere,
    from_text,
    other_constants,
    read_task,
    write,
    write_task,
)
from deconfound_bench.sweep.task import Benchmark, Key, Task

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Folder:
    """A locked folder and the scores found in it or added since."""

    path: Path
    fingerprint: str
    known: dict[Key, Score]

    @property
    def shared(self) -> Path:
        """Where the benchmark keeps what its tasks have in common."""
        return self.path / "shared"

    @property
    def results(self) -> Path:
        """Where the table goes."""
        return self.path / "results.parquet"

    def keep(self, task: Task, scores: str) -> None:
        """Write a finished task; what is known is what a later run would read."""
        write_task(self.path / "tasks", task, scores, self.fingerprint)
        self.known.update((one.key, one) for one in from_text(scores))


@contextmanager
def opened(path: Path, benchmark: Benchmark, say: Say) -> Iterator[Folder]:
    """Hold the folder for one sweep of one benchmark, with everything usable that it contains."""
    described = {"benchmark": benchmark.name, "constants": json.loads(benchmark.constants)}
    fingerprint = checksum(canonical(described))
    with _locked(path):
        stored = _stored(path / "constants.json", say)
        if stored not in (None, fingerprint):
            raise other_constants(path)
        known = _found(path / "tasks", fingerprint, say)
        if stored is None:
            write(path / "constants.json", f"{json.dumps(described, indent=2, sort_keys=True)}\n".encode())
        yield Folder(path, fingerprint, known)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    import fcntl

    _make(path)
    try:
        file = (path / "lock").open("a+", encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = f"process {file.read().strip() or 'unknown'}"
            what = f"{path} is in use by another sweep ({holder})"
            raise UsageError(f"{what}. Wait until it has finished, or choose another folder with -o.") from None
        except OSError as error:
            what = f"{path} cannot be locked ({error.strerror})"
            raise UsageError(f"{what}. Choose a folder on a local disk with -o.") from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _make(path: Path) -> None:
    try:
        for folder in (path, path / "tasks", path / "shared"):
            folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{error.filename} is a file where a folder is needed. {elsewhere(path)}") from error
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be written ({error.strerror}). Choose another folder with -o.")


def _stored(path: Path, say: Say) -> str | None:
    """What the folder's constants are known by, or nothing if it has none that can be read."""
    try:
        return checksum(canonical(json.loads(path.read_bytes())))
    except FileNotFoundError:
        return None
    except ValueError:
        say(f"{path} is damaged and is written again.")
        return None


def _found(folder: Path, fingerprint: str, say: Say) -> dict[Key, Score]:
    """Scores of every whole task file; whatever else an interrupted run has left is removed."""
    known: dict[Key, Score] = {}
    broken = [*sorted(folder.glob(".*.tmp"))]
    for path in sorted(folder.glob("*.json")):
        scores = read_task(path, fingerprint)
        if scores is None:
            broken.append(path)
        else:
            known.update((one.key, one) for one in scores)
    for path in broken:
        path.unlink()
    if broken:
        say(f"{folder}: {len(broken)} half-written or damaged files are removed and their work is done again.")
    return known
