"""A JSON document and its binary parts, saved in one folder so that a reader sees the old set or the new one.

DIR
├── result.json                          the document: names every part with its checksum, and has one of its own
├── result-reward-0123456789abcdef.npz   a part: the end of its name is the beginning of its checksum
└── .result.lock                         only while a bundle is being saved

Parts are written first, under names that depend on their content. Replacing the document is the one step from the old
bundle to the new one. Then the old parts are deleted, and those that a killed save has left.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from deconfound.atomic import remove_leftovers, write_files, write_text
from deconfound.errors import DataError, Problem, UsageError
from deconfound.escaping import escape_json
from deconfound.file_lock import locked_file, require_lockable

PARTS, DIGEST = "parts", "sha256"  # keys that the document must not have itself
NAME_DIGITS = 16  # of a part's checksum in its name
WAIT_SECONDS = 10.0  # for another save of the same bundle
READ_ATTEMPTS = 20  # while other processes replace the bundle
MAX_FILE_GB = 4.0  # a larger file is not one that was saved here


@dataclass(frozen=True, slots=True)
class Bundle:
    """A document and the content of its parts by name."""

    document: dict[str, Any]
    parts: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class BundlePath:
    """Where a bundle is: its folder, the name of its document without ".json", and advice if it cannot be read."""

    folder: Path
    name: str
    fix: str

    @property
    def index(self) -> Path:
        """The document."""
        return self.folder / f"{self.name}.json"

    @property
    def lock(self) -> Path:
        """The lock file of a save."""
        return self.folder / f".{self.name}.lock"

    def part(self, name: str, content: bytes) -> Path:
        """The file of a part."""
        stem, suffix = name.rsplit(".", 1)
        return self.folder / f"{self.name}-{stem}-{_sha256(content)[:NAME_DIGITS]}.{suffix}"

    def files(self) -> list[Path]:
        """Every file in the folder that has the name of the document or of a part."""
        pattern = re.compile(rf"{re.escape(self.name)}-[a-z]+-[0-9a-f]{{{NAME_DIGITS}}}\.[a-z]+")
        names = [path for path in self.folder.iterdir() if pattern.fullmatch(path.name)]
        return [*([self.index] if self.index.exists() else []), *sorted(names)]

    def unusable(self, where: Path, what: str) -> DataError:
        """An error about a file of the bundle."""
        return DataError([Problem(str(where), what, self.fix)])


def save_bundle(path: BundlePath, bundle: Bundle, *, overwrite: bool = False) -> None:
    """Save a bundle, or replace the one that is there; other files are replaced only with ``overwrite``.

    Without locks, two saves at the same time can delete each other's parts. Loading reports that.
    """
    path.folder.mkdir(parents=True, exist_ok=True)
    with locked_file(path.lock, "save", WAIT_SECONDS, required=False):
        require_replaceable(path, overwrite=overwrite)
        files = {name: path.part(name, content) for name, content in bundle.parts.items()}
        document = _as_read_back({**bundle.document, PARTS: _part_entries(files, bundle.parts)})
        try:
            write_files({files[name]: content for name, content in bundle.parts.items()})
            text = escape_json(
                json.dumps({**document, DIGEST: _document_digest(document)}, indent=2, ensure_ascii=False)
            )
            write_text(path.index, f"{text}\n")
        finally:
            _remove_old_parts(path)
            remove_leftovers(path.folder)


def load_bundle(path: BundlePath, names: Collection[str]) -> Bundle:
    """Read a bundle with these parts; raise a ``DataError`` if it is missing, or if anything is not as it was saved."""
    for _ in range(READ_ATTEMPTS):
        text = _read(path, path.index)
        try:
            return _load(path, text, names)
        except DataError:
            if _read(path, path.index) == text:
                raise
    raise path.unusable(path.index, "other processes replace it all the time")


def require_replaceable(path: BundlePath, *, overwrite: bool = False) -> None:
    """Refuse a folder whose lock is not ours, or whose document is not a bundle's; ``overwrite`` replaces any file."""
    require_lockable(path.lock)
    if not os.path.lexists(path.index):
        return
    if not path.index.is_file():
        raise UsageError(f"{path.index} exists and is not an ordinary file. Choose another folder with -o.")
    if not overwrite and _own_document(path.index) is None:
        what = f"{path.index} exists and is {_describe(path.index)}"
        raise UsageError(f"{what}. Choose another folder with -o, or replace the file with --overwrite.")


def is_part_of_bundle(file: Path) -> bool:
    """Whether a file is the document of a bundle or one of its parts; replacing it alone would break the bundle."""
    index = file if file.suffix == ".json" else file.with_name(f"{file.name.split('-')[0]}.json")
    document = _own_document(index)
    return document is not None and (file == index or file.name in _part_names(document))


def _load(path: BundlePath, text: bytes, names: Collection[str]) -> Bundle:
    document = _parse(text)
    if document is None:
        raise path.unusable(path.index, "it is not a file that deconfound saved, or it is damaged")
    if not isinstance(document.get(PARTS), dict) or not isinstance(document.get(DIGEST), str):
        raise path.unusable(path.index, "it has no checksums: another version of deconfound wrote it")
    if not _is_intact(document):
        raise path.unusable(path.index, "its content was changed after it was saved")
    if document[PARTS].keys() != set(names):
        raise path.unusable(path.index, "it names other parts than it must have")
    parts = {name: _load_part(path, name, entry) for name, entry in document[PARTS].items()}
    return Bundle({key: value for key, value in document.items() if key not in (PARTS, DIGEST)}, parts)


def _load_part(path: BundlePath, name: str, entry: Any) -> bytes:  # noqa: ANN401  (any JSON)
    if _file_name(entry) is None:
        raise path.unusable(path.index, "it does not name its parts")
    file = path.folder / entry["file"]
    content = _read(path, file) if file.parent == path.folder else b""
    if _sha256(content) != entry.get(DIGEST) or path.part(name, content) != file:
        what = f"it is not the file that {path.index.name} was saved with: it is damaged or of another result"
        raise path.unusable(file, what)
    return content


def _read(path: BundlePath, file: Path) -> bytes:
    try:
        return _read_regular_file(file)
    except FileNotFoundError as error:
        raise path.unusable(file, "no such file") from error
    except OSError as error:
        raise path.unusable(file, f"it cannot be read ({error.strerror or error})") from error


def _read_regular_file(file: Path) -> bytes:
    """The content of a file; a named pipe would keep the reader waiting, and a huge file would fill the memory."""
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not an ordinary file")
        if status.st_size > MAX_FILE_GB * 1e9:
            raise OSError(f"it is larger than {MAX_FILE_GB:g} GB")
        return stream.read()


def _parse(text: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(
            text, object_pairs_hook=_without_repeated_keys, parse_float=_finite, parse_constant=_finite
        )
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of the document; of two values under one key, readers would choose differently."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _finite(text: str) -> float:
    """A number of the document; those that are not finite are written as null, and never as themselves."""
    if not math.isfinite(number := float(text)):
        raise ValueError("a number is not finite")
    return number


def _own_document(index: Path) -> dict[str, Any] | None:
    """The document of a bundle; None if the file is something else, or missing."""
    try:
        document = _parse(_read_regular_file(index))
    except OSError:
        return None
    is_bundle = document is not None and isinstance(document.get(PARTS), dict) and _is_intact(document)
    return document if is_bundle else None


def _describe(index: Path) -> str:
    """What a file is that has the name of a document and is none."""
    try:
        document = _parse(_read_regular_file(index)) or {}
    except OSError:
        document = {}
    if {"schema", "version"} <= document.keys() and PARTS not in document:
        return "a result in one file, as `-o FILE.json` writes it, and not part of a saved folder"
    return "not a file that deconfound saved"


def _is_intact(document: Mapping[str, Any]) -> bool:
    try:
        return document.get(DIGEST) == _document_digest({key: document[key] for key in document if key != DIGEST})
    except RecursionError:
        return False


def _as_read_back(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document after a trip through JSON: its checksum must not depend on tuples or on keys that are numbers."""
    content: dict[str, Any] = json.loads(json.dumps(document, allow_nan=False))
    return content


def _document_digest(document: Mapping[str, Any]) -> str:
    """Checksum of the content; it does not depend on how the JSON is laid out."""
    return _sha256(json.dumps(document, sort_keys=True, separators=(",", ":")).encode())


def _part_entries(files: Mapping[str, Path], parts: Mapping[str, bytes]) -> dict[str, Any]:
    return {name: {"file": files[name].name, DIGEST: _sha256(parts[name])} for name in files}


def _part_names(document: Mapping[str, Any]) -> set[str]:
    return {name for name in map(_file_name, document.get(PARTS, {}).values()) if name is not None}


def _file_name(entry: object) -> str | None:
    """The file that an entry names; no file has a name with NUL."""
    name = entry.get("file") if isinstance(entry, dict) else None
    return name if isinstance(name, str) and "\0" not in name else None


def _remove_old_parts(path: BundlePath) -> None:
    """Delete parts that the document does not name; the name of a file must agree with its content."""
    current = _part_names(_own_document(path.index) or {})
    for file in path.files():
        if file == path.index or file.name in current:
            continue
        with suppress(OSError):
            if _sha256(_read_regular_file(file))[:NAME_DIGITS] in file.name:
                file.unlink()


def _sha256(content: bytes) -> str:
    return sha256(content).hexdigest()
