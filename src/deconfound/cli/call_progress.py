"""Progress of calls: how many are answered, speed, cost so far and the time that is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, final

from deconfound.cli.progress_line import ProgressLine

if TYPE_CHECKING:
    from deconfound.endpoints.run_meter import RunOutcome

DELAY = 2.0  # seconds without a word
MINUTE, HOUR = 60, 3600


@final
@dataclass(slots=True)
class CallProgress:
    """Shows what a run has done so far, about five times per second."""

    line: ProgressLine
    activity: str
    noun: str
    start: float = field(default_factory=monotonic)
    done: int = 0

    def __call__(self, outcome: RunOutcome) -> None:
        """Show the state of a run."""
        self.done, total = outcome.replies, outcome.expected
        answered = self.done + outcome.failed
        speed = answered / max(monotonic() - self.start, 1e-9)
        parts = [f"{answered:,} of {total:,} {self.noun}", f"{speed:,.1f} per second"]
        if outcome.failed:
            parts.append(f"{outcome.failed:,} failed")
        if outcome.cost is not None:
            parts.append(f"cost {outcome.cost:,.4f}")
        if answered and answered < total:
            parts.append(f"{duration((total - answered) / speed)} left")
        self.line(self.activity, answered / max(total, 1), ", ".join(parts))

    def clear(self) -> None:
        """Remove the line from a terminal."""
        self.line.clear()


def duration(seconds: float) -> str:
    """A time that is left, roughly."""
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < 2 * HOUR else f"{seconds / HOUR:.1f} h"
