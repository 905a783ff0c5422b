"""Time limits of many calls at once, by one task that looks at all of them a few times per second.

A timer of its own for every call, and again for every part of its answer, would take a tenth of the time of a call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import final

from deconfound.endpoints.endpoint import Timeouts

MAX_INTERVAL = 0.25
CHECKS_PER_LIMIT = 8


@final
@dataclass(slots=True, eq=False)
class Deadline:
    """The limits of one call; ``progress`` is to be called whenever something of its answer has arrived."""

    task: asyncio.Task[object] | None
    ends: float
    patience: float
    last: float
    is_over: bool = False

    def progress(self) -> None:
        """Something has arrived."""
        self.last = monotonic()

    def check(self, now: float) -> None:
        """Cancel the call if it has taken too long, as a whole or since something arrived."""
        if not self.is_over and self.task is not None and (now > self.ends or now > self.last + self.patience):
            self.is_over = True
            self.task.cancel()


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

    @contextmanager
    def limit(self, timeouts: Timeouts) -> Iterator[Deadline]:
        """Run the block within the limits; beyond them it ends with a ``TimeoutError``."""
        now, task = monotonic(), asyncio.current_task()
        deadline = Deadline(task, now + timeouts.total, timeouts.read, now)
        self._running.add(deadline)
        try:
            yield deadline
        except BaseException as error:
            # A cancellation by somebody else goes on; the one by this deadline has done what it was for.
            if deadline.is_over and task is not None and task.uncancel() == 0:
                raise TimeoutError from error
            raise
        else:
            if deadline.is_over and task is not None:  # the last step ended before the cancellation arrived
                task.uncancel()
        finally:
            self._running.discard(deadline)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            now = monotonic()
            for deadline in list(self._running):
                deadline.check(now)
