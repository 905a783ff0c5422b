"""Files and folders that are complete or absent, and a manifest that records what a folder was built from."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"


def canonical_json(value: object) -> str:
    """Equal values give equal text; floats survive a round trip to the last bit."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def sha256_hex(text: str) -> str:
    """Checksum of a text."""
    return sha256(text.encode()).hexdigest()


def atomic_write(path: Path, content: bytes) -> None:
    """Replace a file in one step: a crash or a power failure leaves the old file or the new one, never a part."""
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
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Flush the directory entry, so that the new name also survives a power failure."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        # Some network file systems cannot sync a directory; the entry is then written a little later.
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def atomic_directory(directory: Path) -> Iterator[Path]:
    """Yield a temporary folder to fill; it replaces ``directory`` when the block ends without an error."""
    temporary = directory.with_name(f"{directory.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    yield temporary
    shutil.rmtree(directory, ignore_errors=True)
    temporary.rename(directory)


def write_manifest(directory: Path, manifest: dict[str, Any]) -> None:
    """Record what the folder was built from."""
    (directory / MANIFEST).write_text(json.dumps(manifest) + "\n", encoding="utf-8")


def read_manifest(directory: Path) -> dict[str, Any]:
    """The recorded manifest; empty where the folder or its manifest is missing or damaged."""
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def is_current(directory: Path, version: int, digest: str) -> bool:
    """Whether the folder was built by this version of the code from these inputs."""
    manifest = read_manifest(directory)
    return (manifest.get("version"), manifest.get("digest")) == (version, digest)
