"""The folder of a sweep: locked by one sweep at a time, tied to one set of constants, with every finished task saved.

DIR
├── constants.json    the benchmark and constants that the results belong to
├── .sweep.lock       only while a sweep runs; the system releases the lock even if the sweep is killed
├── shared/           files that the benchmark prepared for its tasks
├── tasks/            one file per finished task
└── results.parquet   the table, written when every requested score is available
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, final

from deconfound.atomic import TEMPORARY_NAME, remove_leftovers, write_text
from deconfound.errors import UsageError
from deconfound.file_lock import locked_file, require_lockable
from deconfound_bench.artifact_dir import canonical_json, read_manifest, sha256_hex
from deconfound_bench.results import Score
from deconfound_bench.sweep.request import Benchmark, ScoreKey, Task

SCHEMA = 1  # of the task files
LOCK = ".sweep.lock"
LOCKS = (LOCK, ".pool.lock")  # ``artifact_dir.building`` makes the second one
TASK_NAME = re.compile(r"\d{5,}-[0-9a-f]{16}\.json")

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
    require_run_folder(path)
    with _locked(path):
        stored = _stored_fingerprint(path / "constants.json", message)
        if stored not in (None, fingerprint):
            raise _other_constants(path)
        scores = _load_finished(path / "tasks", fingerprint, message)
        if stored is None:
            write_text(path / "constants.json", f"{json.dumps(description, indent=2, sort_keys=True)}\n")
        yield SweepFolder(path, fingerprint, scores)


def require_run_folder(path: Path) -> None:
    """Refuse a folder with contents of its own: a sweep writes and deletes files, and they must be those of a sweep."""
    for name in LOCKS:
        require_lockable(path / name)
    if path.is_dir() and not _is_run_folder(path):
        what = f"{path} is not empty and is not a folder of `deconfound bench`"
        raise UsageError(f"{what}. Choose another folder with -o, a new or an empty one.")


def _is_run_folder(path: Path) -> bool:
    if _has_constants(path) or any(_stored_body(task) is not None for task in _task_files(path / "tasks")):
        return True
    return all(_is_start_of_run(entry) for entry in path.iterdir())


def _has_constants(path: Path) -> bool:
    try:
        stored = json.loads((path / "constants.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(stored, dict) and stored.keys() == {"benchmark", "constants"}


def _is_start_of_run(entry: Path) -> bool:
    """Whether a run that was stopped early can have left this, or a run with other options in its own folder."""
    if entry.name in LOCKS or TEMPORARY_NAME.fullmatch(entry.name):
        return True
    if not entry.is_dir():
        return False
    if entry.name in ("tasks", "shared"):
        return not any(entry.iterdir()) or all(TEMPORARY_NAME.fullmatch(one.name) for one in entry.iterdir())
    return bool(read_manifest(entry)) if entry.name == "pool" else _is_run_folder(entry)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    _make_directories(path)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked_file(path / LOCK, "sweep"))
        except OSError as error:
            raise _unwritable(path, error) from error
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


def _task_files(folder: Path) -> list[Path]:
    """Files with the name of a task's."""
    return sorted(path for path in folder.glob("*.json") if TASK_NAME.fullmatch(path.name))


def _load_finished(folder: Path, fingerprint: str, message: Message) -> dict[ScoreKey, Score]:
    """The scores of every complete task file; damaged and temporary files are deleted, other files are left alone."""
    finished: dict[ScoreKey, Score] = {}
    deleted = remove_leftovers(folder)
    for path in _task_files(folder):
        scores = read_task(path, fingerprint)
        if scores is None:
            path.unlink()
            deleted.append(path)
        else:
            finished.update((score.key, score) for score in scores)
    if deleted:
        message(f"{folder}: deleted {len(deleted)} incomplete or damaged files; their tasks are run again.")
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
    write_text(folder / task_file_name(task), f"{text}\n")


def read_task(path: Path, fingerprint: str) -> tuple[Score, ...] | None:
    """The scores of a saved task; None if the file is damaged."""
    body = _stored_body(path)
    if body is None:
        return None
    folder = path.parent.parent
    if body["schema"] != SCHEMA:
        hint = choose_other_folder_hint(folder)
        raise UsageError(f"{folder} contains results of another version of deconfound. {hint}")
    if body["constants"] != fingerprint:
        raise _other_constants(folder)
    return tuple(Score.from_record(row) for row in body["scores"])


def _stored_body(path: Path) -> dict[str, Any] | None:
    """The content of a task file; None if its checksum is wrong."""
    try:
        stored = json.loads(path.read_bytes())
        body: dict[str, Any] = stored["body"]
        return body if stored["sha256"] == sha256_hex(canonical_json(body)) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _other_constants(folder: Path) -> UsageError:
    hint = choose_other_folder_hint(folder)
    return UsageError(f"{folder} contains results of a benchmark with other constants or inputs. {hint}")


def choose_other_folder_hint(folder: Path) -> str:
    """Advice for a folder that cannot be used."""
    return f"Choose another folder with -o, or delete {folder} if its results are no longer needed."
