"""Write files in one step: a kill, a full disk or a power failure leaves the old file or the new one, never a part.

The new content is written to a temporary file beside the old one, which is then replaced. A temporary file is locked
while its writer lives. One without a lock is left over from a killed writer; the next write in its folder deletes it.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO

from deconfound.system_lock import try_lock

TEMPORARY_SUFFIX = ".deconfound-tmp"
TEMPORARY_NAME = re.compile(rf"\..+\.[0-9a-f]{{16}}{re.escape(TEMPORARY_SUFFIX)}")
MAX_NAME_BYTES = 200  # of the part of a temporary name that shows the final one; file systems allow 255 in total


def write_text(path: Path, text: str) -> None:
    """Replace a file by a text in UTF-8; line ends are written as they are."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file."""
    write_files({path: content})


def write_files(contents: Mapping[Path, bytes], outdated: Sequence[Path] = ()) -> None:
    """Replace several files in their order; if one of them cannot be written, none is replaced.

    ``outdated`` files disappear when everything is written and nothing is replaced yet, so that a kill leaves no new
    file beside them.
    """
    staged: list[tuple[Path, Path]] = []
    try:
        with ExitStack() as open_files:
            for path, content in contents.items():
                target = Path(os.path.realpath(path))  # a symbolic link stays one
                temporary, file = open_temporary(target)
                staged.append((temporary, target))
                open_files.enter_context(file)
                _fill(file, content, path)
            if sys.platform == "win32":  # open files cannot be renamed there
                open_files.close()
            for temporary, target in staged:
                with suppress(OSError):  # a new file has the default permissions
                    temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            with _set_aside(outdated):
                for temporary, target in staged:
                    temporary.replace(target)
    except BaseException:
        for temporary, _ in staged:
            temporary.unlink(missing_ok=True)
        raise
    for folder in {target.parent for _, target in staged}:
        sync_folder(folder)
        remove_leftovers(folder)


@contextmanager
def _set_aside(outdated: Sequence[Path]) -> Iterator[None]:
    """Give files other names, and delete them after the block; if it fails, all of them are as they were."""
    paths = [Path(os.path.realpath(path)) for path in outdated]
    aside: list[tuple[Path, Path]] = []
    try:
        for path in filter(Path.exists, paths):
            temporary = temporary_path(path)
            path.replace(temporary)
            aside.append((temporary, path))
        for folder in {path.parent for path in paths}:
            sync_folder(folder)
        try:
            yield
        except BaseException:
            for path in paths:
                path.unlink(missing_ok=True)  # a new one
            raise
    except BaseException:
        for temporary, path in aside:
            temporary.replace(path)
        raise
    for temporary, _ in aside:
        temporary.unlink(missing_ok=True)


def temporary_path(path: Path) -> Path:
    """A new name beside the path; ``TEMPORARY_NAME`` recognizes it."""
    name = path.name if len(os.fsencode(path.name)) <= MAX_NAME_BYTES else sha256(os.fsencode(path.name)).hexdigest()
    return path.with_name(f".{name}.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")


def open_temporary(target: Path) -> tuple[Path, IO[bytes]]:
    """A new file beside the target, locked while it is open."""
    while True:
        path = temporary_path(target)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with suppress(OSError):  # not every file system has locks; then nothing is ever taken for a leftover
            # Another process may have taken the file for a leftover before it was locked.
            if not (try_lock(handle) and path.exists()):
                os.close(handle)
                path.unlink(missing_ok=True)
                continue
        return path, os.fdopen(handle, "wb", buffering=0)


def check_writable(folder: Path) -> None:
    """Raise an ``OSError`` unless a file can be created in the folder, or in the existing folder nearest above it."""
    existing = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    temporary, file = open_temporary(existing / "probe")
    file.close()
    temporary.unlink(missing_ok=True)


def remove_leftovers(folder: Path, held: int | None = None) -> list[Path]:
    """Delete the temporary files of killed writers and return their paths; those of running writers stay.

    ``held`` is an open file that is locked by this process: a temporary name that leads to it is a leftover, too.
    """
    with os.scandir(folder) as entries:
        found = [Path(e.path) for e in entries if TEMPORARY_NAME.fullmatch(e.name) and e.is_file(follow_symlinks=False)]
    return [path for path in found if _remove_second_name(path, held) or _remove_if_dead(path)]


def _remove_second_name(path: Path, held: int | None) -> bool:
    """Delete another name of an open file, which a process that was killed between two steps has left behind."""
    with suppress(OSError):
        if held is not None and os.path.samestat(path.lstat(), os.fstat(held)):
            path.unlink(missing_ok=True)
            return True
    return False


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries, so that new names survive a power failure."""
    # Windows cannot open folders, and some network file systems cannot sync them: entries are written a little later.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _fill(file: IO[bytes], content: bytes, path: Path) -> None:
    rest = memoryview(content)
    try:
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except OSError as error:
        error.filename = str(path)  # the system names no file for errors of an open one
        raise


def _remove_if_dead(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        if not try_lock(handle):
            return False
        path.unlink()
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
