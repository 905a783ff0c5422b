"""Say on stderr what is going on, so that stdout holds nothing but results."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from time import monotonic


@dataclass(slots=True)
class Progress:
    """One line that is rewritten on a terminal; one line a stage elsewhere."""

    quiet: bool
    start: float = field(default_factory=monotonic)
    stage: str = ""

    def __call__(self, stage: str, done: float) -> None:
        """Show the stage and, on a terminal, how much of it is done."""
        if self.quiet:
            return
        elapsed = monotonic() - self.start
        if sys.stderr.isatty():
            share = f" {100 * done:.0f} %" if done else ""
            sys.stderr.write(f"\r\033[K{elapsed:5.1f} s  {stage}{share}")
            sys.stderr.flush()
        elif stage != self.stage:
            sys.stderr.write(f"{elapsed:5.1f} s  {stage}\n")
        self.stage = stage

    def clear(self) -> None:
        """Leave the terminal as it was."""
        if not self.quiet and self.stage and sys.stderr.isatty():
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
