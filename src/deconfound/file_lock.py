"""Lock files of folders: recognized by their content, and free again when their process ends, even if it is killed."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from deconfound.atomic import open_temporary, remove_leftovers
from deconfound.errors import UsageError
from deconfound.system_lock import try_lock

RETRY_SECONDS = 0.02
CONTENT = re.compile(rb"lock of deconfound, process +(\d+)\n")
MAX_BYTES = 64  # no lock file is longer
# A link would lead to a file that is not ours, and a pipe would keep us waiting.
OPEN_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class _Lock:
    """An open and locked file."""

    handle: int
    path: Path
    is_ours: bool  # False for an empty file that was there before: nobody knows whose it is, so it stays


@dataclass(frozen=True, slots=True)
class LockSubject:
    """What a lock protects, and what to do instead, in a message."""

    name: str
    alternative: str = "choose another folder with -o"


def require_lockable(path: Path) -> None:
    """Refuse anything but a lock file of ours, or an empty file, under the name of a lock."""
    if not os.path.lexists(path):
        return
    handle = _open(path)
    try:
        _read(handle, path)
    finally:
        os.close(handle)


@contextmanager
def locked_file(
    path: Path, activity: str, wait_seconds: float = 0.0, *, required: bool = True, subject: LockSubject | None = None
) -> Iterator[None]:
    """Hold the lock file of a folder; it contains the process id and is deleted at the end.

    ``activity`` names what is locked out in the message, which appears if the lock is not free in time. Some network
    file systems have no locks: there a lock that is not ``required`` is as good as free. ``subject`` is what is
    locked, if it is not the folder.
    """
    subject = LockSubject(str(path.parent)) if subject is None else subject
    lock = _acquire(path, activity, time.monotonic() + wait_seconds, subject, required=required)
    try:
        os.lseek(lock.handle, 0, os.SEEK_SET)
        os.write(lock.handle, _content())
        remove_leftovers(path.parent, lock.handle)
        yield
    finally:
        _release(lock)


def _acquire(path: Path, activity: str, deadline: float, subject: LockSubject, *, required: bool) -> _Lock:
    while True:
        handle = _open_or_create(path)
        try:
            content = _read(handle, path)
            locked = _lock(handle, path, required=required)
            if locked and _is_open_file(handle, path):
                return _Lock(handle, path, is_ours=bool(content))
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if not locked and time.monotonic() >= deadline:
            owner = CONTENT.fullmatch(content)
            process = "unknown" if owner is None else owner[1].decode()
            what = f"{subject.name} is in use by another {activity} (process {process})"
            raise UsageError(f"{what}. Wait until it has finished, or {subject.alternative}.")
        time.sleep(RETRY_SECONDS)


def _release(lock: _Lock) -> None:
    """Delete the file while it is locked: a process that has opened it sees that it is gone, and opens a new one."""
    with suppress(OSError):
        if not lock.is_ours:
            os.ftruncate(lock.handle, 0)
        elif _is_open_file(lock.handle, lock.path):
            lock.path.unlink()
    os.close(lock.handle)


def _content() -> bytes:
    """Of equal length for every process, so that one replaces another in place."""
    return f"lock of deconfound, process {os.getpid():10}\n".encode()


def _open_or_create(path: Path) -> int:
    while True:
        with suppress(FileNotFoundError):
            return _open(path)
        with suppress(FileExistsError):  # another process was faster
            _create(path)


def _create(path: Path) -> None:
    """Make a new lock file in one step: a kill must not leave an empty one, which nobody would recognize."""
    temporary, file = open_temporary(path)
    try:
        with file:
            file.write(_content())
            os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        with path.open("xb") as plain:
            plain.write(_content())
    finally:
        temporary.unlink(missing_ok=True)


def _open(path: Path) -> int:
    try:
        return os.open(path, OPEN_FLAGS)
    except FileNotFoundError:
        raise
    except OSError as error:  # a link, a folder, or a file without permission
        raise _foreign(path) from error


def _read(handle: int, path: Path) -> bytes:
    """The content of a lock file of ours; an empty one may be new, or of anyone."""
    content = os.read(handle, MAX_BYTES + 1) if stat.S_ISREG(os.fstat(handle).st_mode) else None
    if content is None or (content and not CONTENT.fullmatch(content)):
        raise _foreign(path)
    return content


def _foreign(path: Path) -> UsageError:
    what = f"{path} is not a lock file of deconfound, and one of this name is needed"
    return UsageError(f"{what}. Move it away, or choose another folder with -o.")


def _lock(handle: int, path: Path, *, required: bool) -> bool:
    try:
        return try_lock(handle)
    except OSError as error:
        if not required:
            return True
        what = f"{path.parent} cannot be locked ({error.strerror})"
        raise UsageError(f"{what}. Choose a folder on a local disk with -o.") from error


def _is_open_file(handle: int, path: Path) -> bool:
    """Whether the path still names the open file; its last owner may have deleted it before we locked it."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False
