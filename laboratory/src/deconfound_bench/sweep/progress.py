"""Progress of a sweep on stderr: tasks done and time left."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from time import monotonic
from typing import final

from deconfound.cli.interrupt import interrupts
from deconfound.cli.terminal import write_message, write_status

BAR_CHARACTERS = 12
REDRAW_SECONDS = 0.1  # between two updates on a terminal
LINE_SECONDS = 15.0  # between two lines elsewhere


@final
class SweepProgress:
    """One line that is rewritten on a terminal; elsewhere a new line every 15 seconds.

    The time left is estimated from the tasks finished in this run. Tasks loaded from disk took no time.
    """

    def __init__(self, quiet: bool = False, clock: Callable[[], float] = monotonic) -> None:
        self._quiet = quiet
        self._clock = clock
        self._stage = ""
        self._total = self._loaded = self._finished = 0
        self._start = clock()
        self._last_update: float | None = None

    def __call__(self, stage: str, done: float) -> None:
        """Show a stage of the preparation and the share of it that is done."""
        is_new, self._stage = stage != self._stage, stage
        share = f" {100 * done:.0f} %" if done else ""
        self._show(f"{_format_duration(self._clock() - self._start)}  {stage}{share}", force=is_new)

    def begin(self, total: int, loaded: int) -> None:
        """Start counting tasks; ``loaded`` of them are already on disk."""
        self._total, self._loaded, self._finished, self._start = total, loaded, 0, self._clock()
        self._show(self._task_line(), force=True)

    def finish_task(self) -> None:
        """Count one more task as finished."""
        self._finished += 1
        self._show(self._task_line(), force=self._loaded + self._finished == self._total)

    def heartbeat(self) -> None:
        """Update the elapsed time."""
        self._show(self._task_line(), force=False)

    def message(self, line: str) -> None:
        """Print an important line, even in quiet mode."""
        self.clear()
        write_message(f"{line}\n")

    def clear(self) -> None:
        """Erase the progress line from a terminal."""
        if self._last_update is not None and sys.stderr.isatty():
            write_status("\r\033[K")
            self._last_update = None

    def _task_line(self) -> str:
        done, elapsed = self._loaded + self._finished, self._clock() - self._start
        filled = BAR_CHARACTERS * done // self._total if self._total else BAR_CHARACTERS
        loaded = f" ({self._loaded} from an earlier run)" if self._loaded else ""
        parts = [f"[{'#' * filled}{'.' * (BAR_CHARACTERS - filled)}] {done}/{self._total} tasks{loaded}"]
        if self._finished:
            parts.append(_format_duration(elapsed))
        if self._finished and done < self._total:
            parts.append(f"about {_format_duration(elapsed / self._finished * (self._total - done))} left")
        return ", ".join(parts)

    def _show(self, line: str, force: bool) -> None:
        interrupts.check()
        terminal = sys.stderr.isatty()
        interval = REDRAW_SECONDS if terminal else LINE_SECONDS
        due = self._last_update is None or self._clock() - self._last_update >= interval
        if self._quiet or not (force or due):
            return
        columns = shutil.get_terminal_size().columns
        write_status(f"\r\033[K{line[: columns - 1]}" if terminal else f"{line}\n")
        self._last_update = self._clock()


def _format_duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
