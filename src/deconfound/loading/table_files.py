"""The files of a table: one, several, a folder of them, or a pattern such as "logs/*.csv"."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import TypeAlias

from deconfound.errors import DataError, Problem
from deconfound.escaping import escape_line, readable_path
from deconfound.findings import Finding, Notice
from deconfound.formatting import join_names, pluralize
from deconfound.loading.files import CODECS, FORMATS, JSON, SPREADSHEETS, SUPPORTED
from deconfound.loading.folder_walk import files_in, matches_of

PathLike: TypeAlias = str | os.PathLike[str]
MAX_FILES = 10_000
HIDDEN = (".", "_")  # beginnings of names that tools give to files beside the data, such as _SUCCESS
MARKERS = (".crc", ".md5", ".sha1", ".sha256", ".ini", ".db")  # endings of files that systems write beside others
MAY_HAVE_ROWS = (*SPREADSHEETS, ".json", ".zip", ".gz", ".zst", ".bz2", ".avro", ".orc", ".feather", ".arrow")


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file of a table; ``below`` are the folders between it and the folder or pattern that the user named."""

    path: Path
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files of a table, and others beside them that are no tables."""

    tables: tuple[TableFile, ...]
    others: tuple[Path, ...] = ()

    def findings(self, source: str) -> tuple[Finding, ...]:
        """A note that names files of other kinds; a warning if some of them may have rows that are now missing."""
        if not self.others:
            return ()
        names = join_names([readable_path(path.name) for path in self.others])
        verb = "is" if len(self.others) == 1 else "are"
        count = f"{pluralize(len(self.others), 'file')} {verb} not read (no Parquet, CSV or JSON Lines)"
        message = f"{source}: {count}: {names}."
        doubtful = any(path.suffix.lower() in MAY_HAVE_ROWS for path in self.others)
        remedy = "If they have rows of this table, convert them to one of these formats." if doubtful else ""
        return (Finding("files left out", "warn" if doubtful else "pass", Notice(message, remedy)),)


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
    return [file.path for file in find_table(source).tables]


def find_table(source: PathLike | Sequence[PathLike]) -> FoundFiles:
    """Every file of a table with its folders, and the files beside them that are not read."""
    given = [Path(source)] if isinstance(source, str | os.PathLike) else [Path(one) for one in source]
    if len(given) > 1:  # a shell may have written out a pattern
        given = [path for path in given if is_table(path) or not _is_marker(path)] or given
    found = [_expand(path) for path in given]
    tables = [file for one in found for file in one.tables]
    if len(tables) > MAX_FILES:
        what = f"there are {len(tables):,} files, and at most {MAX_FILES:,} can be read as one table"
        raise DataError([Problem(path_name(source), what, "Join them into fewer files.")])
    _refuse_repeated(tables)
    if len(given) > 1:
        tables = _below_common_folder(tables)
    return FoundFiles(tuple(tables), tuple(path for one in found for path in one.others))


def _refuse_repeated(tables: Sequence[TableFile]) -> None:
    seen: set[str] = set()
    for file in tables:
        place = os.path.realpath(file.path)
        if place in seen:
            raise DataError([Problem(path_name(file.path), "the file is named twice", "Name every file once.")])
        seen.add(place)


def _below_common_folder(tables: Sequence[TableFile]) -> list[TableFile]:
    """Files that were named one by one are below the folder that they share."""
    folders = [Path(os.path.abspath(file.path)).parent for file in tables]  # noqa: PTH100  (links stay as they are)
    common = Path(os.path.commonpath(folders))
    pairs = zip(tables, folders, strict=True)
    return [file if file.below else TableFile(file.path, folder.relative_to(common).parts) for file, folder in pairs]


def _expand(path: Path) -> FoundFiles:
    if path.is_dir():
        return _in_folder(path)
    if path.exists() or not has_magic(str(path)):
        return FoundFiles((TableFile(path),))
    found = matches_of(str(path))
    if not found:
        raise DataError([Problem(path_name(path), "no file has a name like this", "Check the pattern and the folder.")])
    files = [file for one in found for file in (_visible_files(one) if one.is_dir() else [one])]
    if not any(is_table(file) or is_json(file) for file in files):
        return FoundFiles(tuple(map(TableFile, files)))  # each is reported by its kind
    return _tables_among(path, _named_part(path), [file for file in files if is_table(file) or not _is_marker(file)])


def _named_part(pattern: Path) -> Path:
    """The folder at the beginning of a pattern, up to the first part with a star."""
    parts = pattern.parts
    first = next(at for at, part in enumerate(parts) if has_magic(part))
    return Path(*parts[:first])


def _in_folder(folder: Path) -> FoundFiles:
    return _tables_among(folder, folder, _visible_files(folder))


def _visible_files(folder: Path) -> list[Path]:
    """The files of a folder and the folders in it, without those that tools write beside them."""
    return [path for path in files_in(folder, _is_visible) if not _is_marker(path)]


def _tables_among(named: Path, base: Path, files: Sequence[Path]) -> FoundFiles:
    chosen = [path for path in files if is_table(path)] or [path for path in files if is_json(path)]
    if chosen:
        tables, used = tuple(TableFile(path, path.relative_to(base).parts[:-1]) for path in chosen), set(chosen)
        return FoundFiles(tables, tuple(path for path in files if path not in used))
    has = f"; it has {join_names([readable_path(path.name) for path in files])}" if files else ""
    what = f"there is no Parquet, CSV or JSON file in this folder{has}"
    raise DataError([Problem(path_name(named), what, SUPPORTED)])


def _is_visible(path: Path) -> bool:
    return not path.name.startswith(HIDDEN) and not (path.is_symlink() and path.is_dir())


def _is_marker(path: Path) -> bool:
    return path.name.startswith(HIDDEN) or path.suffix.lower() in MARKERS


def is_table(path: Path) -> bool:
    """Whether a file is a table by its name."""
    extension = path.suffix.lower()
    if extension in CODECS:
        return FORMATS.get(Path(path.stem).suffix.lower()) not in (None, "parquet")
    return extension in FORMATS


def is_json(path: Path) -> bool:
    """Whether a file may be a table by its name: .json is one in a folder that has no other kind of table."""
    return (Path(path.stem) if path.suffix.lower() in CODECS else path).suffix.lower() == JSON
