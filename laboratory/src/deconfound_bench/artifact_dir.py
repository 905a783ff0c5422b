"""Folders that are complete or absent, with a manifest of what they were built from and of every file's checksum."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from deconfound.atomic import TEMPORARY_NAME, sync_folder, temporary_path, write_text
from deconfound.errors import DataError, Problem, UsageError
from deconfound.file_lock import locked_file

MANIFEST = "manifest.json"
FILES = "files"  # of the manifest: checksum by name


def canonical_json(value: object) -> str:
    """Equal values give equal text; floats survive a round trip to the last bit."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def sha256_hex(text: str) -> str:
    """Checksum of a text."""
    return sha256(text.encode()).hexdigest()


@contextmanager
def building(directory: Path) -> Iterator[None]:
    """Lock a folder that may have to be built, and delete what a killed build has left beside it."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with locked_file(directory.parent / f".{directory.name}.lock", "sweep"):
        for path in directory.parent.glob(f".{directory.name}.*"):
            if path.is_dir() and not path.is_symlink() and TEMPORARY_NAME.fullmatch(path.name):
                shutil.rmtree(path)
        _require_own(directory)
        yield


@contextmanager
def atomic_directory(directory: Path) -> Iterator[Path]:
    """Yield a temporary folder to fill; it replaces ``directory`` when the block ends without an error."""
    temporary = temporary_path(directory)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        _require_own(directory)
        old = temporary_path(directory)
        if directory.exists():
            directory.rename(old)
        temporary.rename(directory)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(directory.parent)
    if old.exists():
        shutil.rmtree(old)


def write_manifest(directory: Path, manifest: dict[str, Any]) -> None:
    """Record what the folder was built from, and the checksums of its files."""
    checksums = {path.name: _checksum(path) for path in sorted(directory.iterdir())}
    write_text(directory / MANIFEST, json.dumps({**manifest, FILES: checksums}) + "\n")


def read_manifest(directory: Path) -> dict[str, Any]:
    """The recorded manifest; empty where the folder or its manifest is missing or damaged."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) and isinstance(manifest.get(FILES), dict) else {}


def is_current(directory: Path, version: int, digest: str) -> bool:
    """Whether this version of the code built the folder from these inputs, and no file has changed since."""
    manifest = read_manifest(directory)
    return (manifest.get("version"), manifest.get("digest")) == (version, digest) and not _changed(directory, manifest)


def require_intact(directory: Path) -> dict[str, Any]:
    """The manifest of a folder whose files are all as they were built."""
    manifest = read_manifest(directory)
    changed = _changed(directory, manifest) if manifest else [MANIFEST]
    if changed:
        what = "it is missing, damaged or of another run"
        raise DataError([Problem(str(directory / changed[0]), what, "Run the same command again to build it anew.")])
    return manifest


def _changed(directory: Path, manifest: dict[str, Any]) -> list[str]:
    return [
        name
        for name, checksum in manifest[FILES].items()
        if not (directory / name).is_file() or _checksum(directory / name) != checksum
    ]


def _require_own(directory: Path) -> None:
    """Refuse to replace a folder with anything in it that its manifest does not name."""
    if not directory.exists() and not directory.is_symlink():
        return
    found = {path.name for path in directory.iterdir()} if directory.is_dir() and not directory.is_symlink() else {"."}
    foreign = sorted(found - {MANIFEST, *read_manifest(directory).get(FILES, ())})
    if foreign:
        what = f"{directory / foreign[0]} was not written by deconfound, and {directory} has to be built"
        raise UsageError(f"{what}. Move it away, or choose another folder with -o.")


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
