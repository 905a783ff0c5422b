"""The folder of a sweep: locked by one sweep at a time, tied to one set of constants, with every finished task saved.

DIR
├── constants.json    the benchmark and constants that the results belong to
├── lock              locked while a sweep runs; the system releases it even if the sweep is killed
├── shared/           files that the benchmark prepared for its tasks
├── tasks/            one file per finished task
└── results.parquet   the table, written when every requested score is available
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from deconfound.errors import UsageError
from deconfound_bench.artifact_dir import atomic_write, canonical_json, sha256_hex
from deconfound_bench.results import Score
from deconfound_bench.sweep.request import Benchmark, ScoreKey, Task

SCHEMA = 1  # of the task files

Message = Callable[[str], None]


@final
class SweepFolder:
    """A locked folder, and the scores that were loaded from it or added since."""

    def __init__(self, path: Path, fingerprint: str, scores: dict[ScoreKey, Score]) -> None:
        self.path = path
        self.fingerprint = fingerprint
        self.scores = scores

    @property
    def shared(self) -> Path:
        """The folder of the files that all tasks share."""
        return self.path / "shared"

    @property
    def results(self) -> Path:
        """The path of the result table."""
        return self.path / "results.parquet"

    def save(self, task: Task, scores: str) -> None:
        """Save a finished task; its scores are read back from the saved text, as a resumed sweep would read them."""
        write_task(self.path / "tasks", task, scores, self.fingerprint)
        self.scores.update((score.key, score) for score in scores_from_text(scores))


@contextmanager
def locked_folder(path: Path, benchmark: Benchmark, message: Message) -> Iterator[SweepFolder]:
    """Lock the folder for one sweep of one benchmark and load its finished tasks."""
    description = {"benchmark": benchmark.name, "constants": json.loads(benchmark.constants)}
    fingerprint = sha256_hex(canonical_json(description))
    with _locked(path):
        stored = _stored_fingerprint(path / "constants.json", message)
        if stored not in (None, fingerprint):
            raise _other_constants(path)
        scores = _load_finished(path / "tasks", fingerprint, message)
        if stored is None:
            atomic_write(path / "constants.json", f"{json.dumps(description, indent=2, sort_keys=True)}\n".encode())
        yield SweepFolder(path, fingerprint, scores)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    import fcntl

    _make_directories(path)
    try:
        file = (path / "lock").open("a+", encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = f"process {file.read().strip() or 'unknown'}"
            what = f"{path} is in use by another sweep ({owner})"
            raise UsageError(f"{what}. Wait until it has finished, or choose another folder with -o.") from None
        except OSError as error:
            what = f"{path} cannot be locked ({error.strerror})"
            raise UsageError(f"{what}. Choose a folder on a local disk with -o.") from error
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _make_directories(path: Path) -> None:
    try:
        for folder in (path, path / "tasks", path / "shared"):
            folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        hint = choose_other_folder_hint(path)
        raise UsageError(f"{error.filename} is a file where a folder is needed. {hint}") from error
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be written ({error.strerror}). Choose another folder with -o.")


def _stored_fingerprint(path: Path, message: Message) -> str | None:
    """The fingerprint of the stored constants; None if there are none or the file is damaged."""
    try:
        return sha256_hex(canonical_json(json.loads(path.read_bytes())))
    except FileNotFoundError:
        return None
    except ValueError:
        message(f"{path} is damaged and is written again.")
        return None


def _load_finished(folder: Path, fingerprint: str, message: Message) -> dict[ScoreKey, Score]:
    """The scores of every complete task file; damaged and temporary files are deleted."""
    finished: dict[ScoreKey, Score] = {}
    damaged = [*sorted(folder.glob(".*.tmp"))]
    for path in sorted(folder.glob("*.json")):
        scores = read_task(path, fingerprint)
        if scores is None:
            damaged.append(path)
        else:
            finished.update((score.key, score) for score in scores)
    for path in damaged:
        path.unlink()
    if damaged:
        message(f"{folder}: deleted {len(damaged)} incomplete or damaged files; their tasks are run again.")
    return finished


def scores_to_text(scores: Iterable[Score]) -> str:
    """Scores as one line of JSON, for sending between processes and for saving."""
    return canonical_json([score.to_record() for score in scores])


def scores_from_text(text: str) -> tuple[Score, ...]:
    """The inverse of ``scores_to_text``."""
    return tuple(Score.from_record(row) for row in json.loads(text))


def task_file_name(task: Task) -> str:
    """A name unique to the task's group, seed and pairs; a later sweep may request other pairs of the same group."""
    pairs = [[repr(cell), family] for cell, family in task.pairs]
    return f"{task.seed:05d}-{sha256_hex(canonical_json([task.group, pairs]))[:16]}.json"


def write_task(folder: Path, task: Task, scores: str, fingerprint: str) -> None:
    """Save a finished task with a checksum."""
    body = {
        "schema": SCHEMA,
        "constants": fingerprint,
        "group": task.group,
        "seed": task.seed,
        "scores": json.loads(scores),
    }
    text = canonical_json({"sha256": sha256_hex(canonical_json(body)), "body": body})
    atomic_write(folder / task_file_name(task), f"{text}\n".encode())


def read_task(path: Path, fingerprint: str) -> tuple[Score, ...] | None:
    """The scores of a saved task; None if the file is damaged."""
    try:
        stored = json.loads(path.read_bytes())
        body: dict[str, Any] = stored["body"]
        if stored["sha256"] != sha256_hex(canonical_json(body)):
            return None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    folder = path.parent.parent
    if body["schema"] != SCHEMA:
        hint = choose_other_folder_hint(folder)
        raise UsageError(f"{folder} contains results of another version of deconfound. {hint}")
    if body["constants"] != fingerprint:
        raise _other_constants(folder)
    return tuple(Score.from_record(row) for row in body["scores"])


def _other_constants(folder: Path) -> UsageError:
    hint = choose_other_folder_hint(folder)
    return UsageError(f"{folder} contains results of a benchmark with other constants or inputs. {hint}")


def choose_other_folder_hint(folder: Path) -> str:
    """Advice for a folder that cannot be used."""
    return f"Choose another folder with -o, or delete {folder} if its results are no longer needed."
