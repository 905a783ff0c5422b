"""Locks that the system releases when their process ends, even if it is killed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deconfound.errors import UsageError

RETRY_SECONDS = 0.02


def try_lock(handle: int) -> bool:
    """Lock an open file without waiting; False if another process has locked it."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
    else:
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@contextmanager
def locked_file(path: Path, activity: str, wait_seconds: float = 0.0, *, required: bool = True) -> Iterator[None]:
    """Hold the lock file of a folder; it contains the process id and is deleted at the end.

    ``activity`` names what is locked out in the message, which appears if the lock is not free in time. Some network
    file systems have no locks: there a lock that is not ``required`` is as good as free.
    """
    handle = _acquire(path, activity, time.monotonic() + wait_seconds, required=required)
    try:
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        # Deleted while it is locked: a process that has opened the old file sees that it is gone, and opens a new one.
        with suppress(OSError):
            path.unlink()
        os.close(handle)


def _acquire(path: Path, activity: str, deadline: float, *, required: bool) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _lock(handle, path, required=required):
                owner = os.read(handle, 20).decode(errors="replace").strip() or "unknown"
            elif _is_open_file(handle, path):
                return handle
            else:
                owner = None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if owner is not None and time.monotonic() >= deadline:
            what = f"{path.parent} is in use by another {activity} (process {owner})"
            raise UsageError(f"{what}. Wait until it has finished, or choose another folder with -o.")
        time.sleep(RETRY_SECONDS)


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
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
