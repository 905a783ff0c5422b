"""Stores replies while others arrive: one thread writes all that came in since its last write, in one step."""

from __future__ import annotations

import threading
from collections import deque
from typing import final

from deconfound.endpoints.reply import Reply
from deconfound.endpoints.reply_cache import ReplyCache

PAUSE_SECONDS = 0.003
"""Between two writes. Threads of Python disturb each other, so many small writes would slow down the calls."""


@final
class CacheWriter:
    """A thread with its own connection. An error of the file ends it and is raised at the next ``put``."""

    def __init__(self, cache: ReplyCache) -> None:
        self._cache = cache
        self._waiting: deque[tuple[bytes, Reply]] = deque()
        self._writing = 0
        self._has_work = threading.Event()
        self._closing = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._write_all, name="deconfound cache", daemon=True)
        self._thread.start()

    @property
    def unsaved(self) -> int:
        """Replies that are not in the file yet; an error of the file is raised."""
        if self._error is not None:
            raise self._error
        return len(self._waiting) + self._writing

    def put(self, key: bytes, reply: Reply) -> None:
        """Store a reply soon; to be called by one thread only."""
        if self._error is not None:
            raise self._error
        self._waiting.append((key, reply))
        if not self._has_work.is_set():
            self._has_work.set()

    def close(self) -> None:
        """Wait until everything is in the file; an error of the file is raised."""
        self._closing.set()
        self._has_work.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _write_all(self) -> None:
        try:
            with self._cache.another() as cache:
                while True:
                    self._has_work.wait()
                    self._has_work.clear()
                    closing = self._closing.is_set()  # after the line above, or the last wake-up could be lost
                    self._writing = len(self._waiting)
                    taken = [self._waiting.popleft() for _ in range(self._writing)]  # more may come meanwhile
                    if taken:
                        cache.put(taken)
                    self._writing = 0
                    if closing and not self._waiting:
                        return
                    self._closing.wait(PAUSE_SECONDS)
        except BaseException as error:
            self._error = error
