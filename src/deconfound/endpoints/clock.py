"""Time and chance, which tests replace: no test waits for a retry."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Protocol, final


class Clock(Protocol):
    """What retries need of time."""

    def now(self) -> float:
        """Seconds that only ever grow."""
        ...

    def date(self) -> float:
        """Seconds since 1970, to compare with dates of a server."""
        ...

    def jitter(self) -> float:
        """A number between 0 and 1: callers that failed together must not return together."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let others run meanwhile."""
        ...


@final
class SystemClock:
    """The real time."""

    def now(self) -> float:
        """Seconds that only ever grow."""
        return time.monotonic()

    def date(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def jitter(self) -> float:
        """A number between 0 and 1; it affects when a call is repeated, never a result."""
        return random.random()  # noqa: S311

    async def sleep(self, seconds: float) -> None:
        """Let others run meanwhile."""
        await asyncio.sleep(seconds)
