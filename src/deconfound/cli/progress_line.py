"""Progress of a command on stderr, so that stdout contains nothing but results."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from time import monotonic

from deconfound.cli.interrupt import interrupts
from deconfound.cli.terminal import write_status
from deconfound.escaping import escape_line


@dataclass(slots=True)
class ProgressLine:
    """A ``Progress`` for a single command: elapsed seconds, stage, percent.

    A terminal gets one line that is rewritten, any other stream one line per stage. Sweeps over many tasks, with their
    counts and remaining times, have a display of their own in the benchmark package.
    """

    quiet: bool
    start: float = field(default_factory=monotonic)
    stage: str = ""

    def __call__(self, stage: str, done: float) -> None:
        """Show the stage and, on a terminal, the share of it that is done; end here after a Ctrl-C."""
        interrupts.check()
        if self.quiet:
            return
        elapsed, shown = monotonic() - self.start, escape_line(stage)
        if sys.stderr.isatty():
            percent = f" {100 * done:.0f} %" if done else ""
            write_status(f"\r\033[K{elapsed:5.1f} s  {shown}{percent}")
        elif stage != self.stage:
            write_status(f"{elapsed:5.1f} s  {shown}\n")
        self.stage = stage

    def clear(self) -> None:
        """Remove the line from a terminal."""
        if not self.quiet and self.stage and sys.stderr.isatty():
            write_status("\r\033[K")
