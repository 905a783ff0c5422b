"""Say on stderr how far a sweep is and how long it still takes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

WIDTH = 12  # signs of the bar
REDRAW = 0.1  # seconds between two pictures of the line on a terminal
LINE = 15.0  # seconds between two lines elsewhere


@dataclass(slots=True)
class Bar:
    """One line that is rewritten on a terminal; elsewhere a line now and then.

    The time left comes from the tasks finished in this run: those found on disk took no time.
    """

    quiet: bool = False
    clock: Callable[[], float] = monotonic
    stage: str = field(default="", init=False)
    total: int = field(default=0, init=False)
    found: int = field(default=0, init=False)
    finished: int = field(default=0, init=False)
    began: float = field(default=0.0, init=False)
    shown: float | None = field(default=None, init=False)  # when something was last written

    def __post_init__(self) -> None:
        self.began = self.clock()

    def __call__(self, stage: str, done: float) -> None:
        """Show a stage of the preparation."""
        fresh, self.stage = stage != self.stage, stage
        share = f" {100 * done:.0f} %" if done else ""
        self._show(f"{_span(self.clock() - self.began)}  {stage}{share}", now=fresh)

    def begin(self, total: int, found: int) -> None:
        """Start counting tasks, some of which are on disk already."""
        self.total, self.found, self.finished, self.began = total, found, 0, self.clock()
        self._show(self._tasks(), now=True)

    def tick(self) -> None:
        """Count one more task as finished."""
        self.finished += 1
        self._show(self._tasks(), now=self.found + self.finished == self.total)

    def pulse(self) -> None:
        """Show that time goes by."""
        self._show(self._tasks(), now=False)

    def say(self, line: str) -> None:
        """Tell what must not be missed, also to those who asked for quiet."""
        self.clear()
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Leave the terminal as it was."""
        if self.shown is not None and sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
            self.shown = None

    def _tasks(self) -> str:
        done, elapsed = self.found + self.finished, self.clock() - self.began
        filled = WIDTH * done // self.total if self.total else WIDTH
        before = f" ({self.found} from before)" if self.found else ""
        parts = [f"[{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{self.total} tasks{before}"]
        if self.finished:
            parts.append(_span(elapsed))
        if self.finished and done < self.total:
            parts.append(f"about {_span(elapsed / self.finished * (self.total - done))} left")
        return ", ".join(parts)

    def _show(self, line: str, now: bool) -> None:
        terminal = sys.stderr.isatty()
        waited = self.shown is None or self.clock() - self.shown >= (REDRAW if terminal else LINE)
        if self.quiet or not (now or waited):
            return
        columns = shutil.get_terminal_size().columns
        sys.stderr.write(f"\r\033[K{line[: columns - 1]}" if terminal else f"{line}\n")
        sys.stderr.flush()
        self.shown = self.clock()


def _span(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
