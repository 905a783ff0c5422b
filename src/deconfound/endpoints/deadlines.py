"""Time limits of many calls at once, by one task that looks at all of them a few times per second.

A timer of its own for every call, and again for every part of its answer, would take a tenth of the time of a call.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from types import TracebackType
from typing import Self, final

from deconfound.endpoints.endpoint import Timeouts

MAX_INTERVAL = 0.25
CHECKS_PER_LIMIT = 8


@final
class Deadline:
    """The limits of one call, to be used in ``with``: a ``TimeoutError`` ends the block beyond one, and names it."""

    __slots__ = ("_ends", "_exceeded", "_is_over", "_last", "_limits", "_running", "_task")

    def __init__(self, timeouts: Timeouts, running: set[Deadline]) -> None:
        self._last = monotonic()
        self._ends, self._limits, self._exceeded = self._last + timeouts.total, timeouts, ""
        self._task, self._running, self._is_over = asyncio.current_task(), running, False

    def __enter__(self) -> Self:
        """Begin."""
        self._running.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """A cancellation by somebody else goes on; the one by this deadline has done what it was for."""
        self._running.discard(self)
        if self._is_over and self._task is not None and self._task.uncancel() == 0 and error is not None:
            raise TimeoutError(self._exceeded) from error

    def progress(self) -> None:
        """Something of the answer has arrived."""
        self._last = monotonic()

    def check(self, now: float) -> None:
        """Cancel the call if it has taken too long, as a whole or since something arrived."""
        limits, is_total = self._limits, now > self._ends
        late = is_total or now > self._last + limits.read
        if late and not self._is_over and self._task is not None:
            self._is_over = True
            self._exceeded = f"total_timeout = {limits.total:g}" if is_total else f"read_timeout = {limits.read:g}"
            self._task.cancel()


@final
class Deadlines:
    """All limits that are running."""

    def __init__(self, shortest: float) -> None:
        self._interval = min(MAX_INTERVAL, shortest / CHECKS_PER_LIMIT)
        self._running: set[Deadline] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look, in the running loop."""
        self._task = asyncio.create_task(self._look())

    def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()

    def limit(self, timeouts: Timeouts) -> Deadline:
        """The limits of a call of the running task."""
        return Deadline(timeouts, self._running)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            now = monotonic()
            for deadline in list(self._running):
                deadline.check(now)
