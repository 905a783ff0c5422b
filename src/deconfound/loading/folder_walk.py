"""The files of a folder and of the folders in it, in the order of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from glob import glob
from pathlib import Path

from deconfound.errors import DataError, Problem
from deconfound.escaping import readable_path

MAX_DEPTH = 100  # of folders in folders: more are made by a mistake, and paths of 4,096 characters end soon after


def files_in(folder: Path, accept: Callable[[Path], bool]) -> Iterator[Path]:
    """Every file below a folder; ``accept`` says whether an entry, a file or a folder, is looked at."""
    waiting = [(folder, 0)]
    while waiting:
        entry, depth = waiting.pop()
        if not entry.is_dir():
            if entry.is_file():
                yield entry
            continue
        if depth > MAX_DEPTH:
            raise _too_deep(folder)
        waiting += [(inner, depth + 1) for inner in sorted(entry.iterdir(), reverse=True) if accept(inner)]


def matches_of(pattern: str) -> list[Path]:
    """The files and folders that a pattern names, by name."""
    try:
        return sorted(Path(match) for match in glob(pattern, recursive=True))  # noqa: PTH207  (it takes absolute ones)
    except RecursionError:
        raise _too_deep(Path(pattern)) from None


def _too_deep(place: Path) -> DataError:
    what = f"there are more than {MAX_DEPTH} folders inside each other"
    return DataError([Problem(readable_path(place), what, "Name the folder that has the files.")])
