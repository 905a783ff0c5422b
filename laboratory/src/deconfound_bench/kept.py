"""Folders of arrays that appear whole or not at all, and say what they were made from."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TOLD = "pool.json"


@contextmanager
def appearing(directory: Path) -> Iterator[Path]:
    """A folder to fill under another name, which takes its own when all is written."""
    made = directory.with_name(f"{directory.name}.{os.getpid()}.tmp")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    yield made
    shutil.rmtree(directory, ignore_errors=True)
    made.rename(directory)


def tell(directory: Path, told: dict[str, Any]) -> None:
    """Write down what the folder was made from."""
    (directory / TOLD).write_text(json.dumps(told) + "\n", encoding="utf-8")


def told(directory: Path) -> dict[str, Any]:
    """What the folder says it was made from; nothing if there is none, or half of one."""
    try:
        found = json.loads((directory / TOLD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_kept(directory: Path, version: int, digest: str) -> bool:
    """Whether the folder was made by this version from these inputs."""
    found = told(directory)
    return (found.get("version"), found.get("digest")) == (version, digest)
