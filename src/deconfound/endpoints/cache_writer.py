"""Stores replies while others arrive: one thread writes all that came in during its last write, in one step."""

from __future__ import annotations

import threading
from typing import final

from deconfound.endpoints.reply import Reply
from deconfound.endpoints.reply_cache import ReplyCache


@final
class CacheWriter:
    """A thread with its own connection. An error of the file ends it and is raised at the next ``put``."""

    def __init__(self, cache: ReplyCache) -> None:
        self._cache = cache
        self._waiting: list[tuple[bytes, Reply]] = []
        self._unsaved = 0
        self._changed = threading.Condition()
        self._is_closing = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._write_all, name="deconfound cache", daemon=True)
        self._thread.start()

    @property
    def unsaved(self) -> int:
        """Replies that are not in the file yet; an error of the file is raised."""
        if self._error is not None:
            raise self._error
        return self._unsaved

    def put(self, key: bytes, reply: Reply) -> None:
        """Store a reply soon."""
        with self._changed:
            if self._error is not None:
                raise self._error
            self._waiting.append((key, reply))
            self._unsaved += 1
            self._changed.notify()

    def close(self) -> None:
        """Wait until everything is in the file; an error of the file is raised."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _write_all(self) -> None:
        try:
            with self._cache.another() as cache:
                while replies := self._take():
                    cache.put(replies)
                    with self._changed:
                        self._unsaved -= len(replies)
        except BaseException as error:
            with self._changed:
                self._error = error

    def _take(self) -> list[tuple[bytes, Reply]]:
        """All that waits; nothing when the writer is closed."""
        with self._changed:
            while not self._waiting and not self._is_closing:
                self._changed.wait()
            taken, self._waiting = self._waiting, []
            return taken
