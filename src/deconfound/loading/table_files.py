"""The files of a table: one, several, a folder of them, or a pattern such as "logs/*.csv"."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import TypeAlias

from deconfound.errors import DataError, Problem
from deconfound.escaping import escape_line, readable_path
from deconfound.formatting import join_names
from deconfound.loading.files import CODECS, FORMATS, SUPPORTED

PathLike: TypeAlias = str | os.PathLike[str]
MAX_FILES = 10_000
HIDDEN = (".", "_")  # beginnings of names that tools give to files beside the data, such as _SUCCESS


def is_path(source: object) -> bool:
    """Whether a source is a path, or several."""
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(one, str | os.PathLike) for one in source)
    return isinstance(source, str | os.PathLike)


def path_name(source: PathLike | Sequence[PathLike]) -> str:
    """The name of files in messages: that of the file or the folder, or of the first and the number of the others."""
    if not isinstance(source, str | os.PathLike):
        others = f" and {len(source) - 1} more" if len(source) > 1 else ""
        return path_name(source[0]) + others
    return escape_line(readable_path(Path(source).name or source))


def find_files(source: PathLike | Sequence[PathLike]) -> list[Path]:
    """Every file of a table, by name; a path to nothing is returned as it is."""
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    files = [file for one in given for file in _expand(Path(one))]
    if len(files) > MAX_FILES:
        what = f"there are {len(files):,} files, and at most {MAX_FILES:,} can be read as one table"
        raise DataError([Problem(path_name(source), what, "Join them into fewer files.")])
    places = [os.path.realpath(file) for file in files]
    twice = next((file for at, file in enumerate(files) if places[at] in places[:at]), None) if len(files) > 1 else None
    if twice is not None:
        raise DataError([Problem(path_name(twice), "the file is named twice", "Name every file once.")])
    return files


def _expand(path: Path) -> list[Path]:
    if path.is_dir():
        return _tables_in(path)
    if path.exists() or not has_magic(str(path)):
        return [path]
    found = sorted(Path(one) for one in glob(str(path), recursive=True))  # noqa: PTH207  (it takes absolute patterns)
    if not found:
        raise DataError([Problem(path_name(path), "no file has a name like this", "Check the pattern and the folder.")])
    return [file for one in found for file in (_tables_in(one) if one.is_dir() else [one])]


def _tables_in(folder: Path) -> list[Path]:
    """The tables of a folder and the folders in it, without files that tools write beside them."""
    visible = [path for path in sorted(folder.rglob("*")) if not _is_hidden(path.relative_to(folder))]
    files = [path for path in visible if path.is_file()]
    tables = [path for path in files if _is_table(path)]
    if tables:
        return tables
    has = f"; it has {join_names([readable_path(path.name) for path in files])}" if files else ""
    what = f"there is no Parquet, CSV or JSONL file in this folder{has}"
    raise DataError([Problem(path_name(folder), what, SUPPORTED)])


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(HIDDEN) for part in path.parts)


def _is_table(path: Path) -> bool:
    extension = path.suffix.lower()
    if extension in CODECS:
        return FORMATS.get(Path(path.stem).suffix.lower()) not in (None, "parquet")
    return extension in FORMATS
