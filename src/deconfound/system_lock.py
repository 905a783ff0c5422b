"""The system's lock on an open file: it is released when its process ends, even if that is killed."""

from __future__ import annotations

import sys


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
