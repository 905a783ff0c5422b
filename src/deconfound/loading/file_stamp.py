"""Whether a file is still the one that was read before: a log in batches is read twice."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from deconfound.loading.files import file_error


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Size and time of the last change of a file."""

    size: int
    changed: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> FileStamp:
        """The stamp of a file as it is now."""
        stat = Path(path).stat()
        return cls(stat.st_size, stat.st_mtime_ns)


def require_unchanged(path: str, source: str, stamp: FileStamp) -> None:
    """Refuse a file that is gone or was written since."""
    try:
        found = FileStamp.of(path)
    except OSError:
        raise file_error(source, "the file is gone since it was first read", "Run again when it is back.") from None
    if found != stamp:
        fix = "Run again when nothing writes to it any more, or copy it first."
        raise file_error(source, "the file was changed while the log was read", fix)
