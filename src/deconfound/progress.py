"""The callback by which long-running functions report their progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

Progress = Callable[[str, float], None]
"""Called with the name of the current stage and the share of it that is done, from 0 to 1.

What follows a colon in the name is a detail of the same stage, such as a count.
"""

MEGABYTE = 1e6
MIN_SECONDS = 1.0  # of reading before a speed is shown


def no_progress(stage: str, done: float) -> None:
    """Ignore progress."""


def prefixed(progress: Progress, prefix: str) -> Progress:
    """Reports of a part, whose stages get the name of the whole."""
    return lambda stage, done: progress(f"{prefix}{stage}", done)


@dataclass(slots=True)
class StreamMeter:
    """Reports rows, speed and time left while a table is read in pieces.

    ``total`` is its size in any unit that is known beforehand: bytes of its files, or rows.
    """

    progress: Progress
    stage: str
    total: float
    rows: int = 0
    bytes: int = 0
    done: float = 0.0
    start: float = field(default_factory=monotonic)

    def add(self, rows: int, size: int, done: float) -> None:
        """Another piece was read: its rows, its bytes, and how much of ``total`` it is."""
        self.rows += rows
        self.bytes += size
        self.done += done
        share = min(self.done / self.total, 1.0) if self.total else 1.0
        self.progress(f"{self.stage}: {self.rows:,} rows{self._speed(share)}", share)

    def _speed(self, share: float) -> str:
        seconds = monotonic() - self.start
        if seconds < MIN_SECONDS or not share:
            return ""
        return f", {self.bytes / seconds / MEGABYTE:,.0f} MB/s, {seconds * (1.0 / share - 1.0):,.0f} s left"
