"""Finished tasks on disk: files that are either whole or not there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from deconfound.errors import UsageError
from deconfound_bench.results import Score, record, score
from deconfound_bench.sweep.task import Task

SCHEMA = 1


def write(path: Path, content: bytes) -> None:
    """Put a file in place at once: a crash or a power cut leaves the old one or the new one."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Make a new name in a folder last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        # Some network file systems know no such thing for folders; the name then lasts a moment later.
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def canonical(value: object) -> str:
    """One text for one value; floats are written so that they come back to the last bit."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def checksum(text: str) -> str:
    """Tell texts apart, and whole ones from damaged ones."""
    return sha256(text.encode()).hexdigest()


def to_text(scores: Iterable[Score]) -> str:
    """Scores as one line, to cross from a worker and to be kept."""
    return canonical([record(one) for one in scores])


def from_text(text: str) -> tuple[Score, ...]:
    """The scores that ``to_text`` wrote."""
    return tuple(score(row) for row in json.loads(text))


def task_name(task: Task) -> str:
    """A name that no other task has; more of the same group and seed may be asked for later."""
    wanted = [[repr(cell), family] for cell, family in task.wanted]
    return f"{task.seed:05d}-{checksum(canonical([task.group, wanted]))[:16]}.json"


def write_task(folder: Path, task: Task, scores: str, fingerprint: str) -> None:
    """Keep a finished task."""
    body = {
        "schema": SCHEMA,
        "constants": fingerprint,
        "group": task.group,
        "seed": task.seed,
        "scores": json.loads(scores),
    }
    text = canonical({"sha256": checksum(canonical(body)), "body": body})
    write(folder / task_name(task), f"{text}\n".encode())


def read_task(path: Path, fingerprint: str) -> tuple[Score, ...] | None:
    """The scores of a kept task, or nothing when the file is damaged."""
    try:
        stored = json.loads(path.read_bytes())
        body: dict[str, Any] = stored["body"]
        if stored["sha256"] != checksum(canonical(body)):
            return None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    folder = path.parent.parent
    if body["schema"] != SCHEMA:
        raise UsageError(f"{folder} holds results of another version of deconfound. {elsewhere(folder)}")
    if body["constants"] != fingerprint:
        raise other_constants(folder)
    return tuple(score(row) for row in body["scores"])


def other_constants(folder: Path) -> UsageError:
    """Refuse to mix results that do not belong together."""
    return UsageError(f"{folder} holds results of a benchmark with other constants or inputs. {elsewhere(folder)}")


def elsewhere(folder: Path) -> str:
    """What to do about a folder that cannot be used."""
    return f"Choose another folder with -o, or delete {folder} if its results are no longer needed."
