"""Progress of a command on stderr, so that stdout contains nothing but results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from deconfound.cli.interrupt import interrupts
from deconfound.cli.terminal import write_status
from deconfound.escaping import escape_line
from deconfound.formatting import ELLIPSIS, pluralize

if TYPE_CHECKING:
    from deconfound.traces.read_meter import ReadingState

TRACE_DELAY = 2.0
"""Seconds that the reading of traces may take without a word."""
LARGE_BYTES = 50_000_000
SILENT_SECONDS = 10.0  # of one stage, after which a stream that is no terminal gets another line
MIN_TOTAL_SECONDS = 30.0  # of a command whose time is told at its end
MINUTE, HOUR = 60, 3_600
MAX_FILE_CHARACTERS = 30  # the line must fit: a terminal cannot rewrite one that is wrapped


@dataclass(slots=True)
class ProgressLine:
    """A ``Progress`` for a single command: elapsed seconds, stage, percent.

    A terminal gets one line that is rewritten, any other stream one line per stage, whatever follows a colon in later
    reports of it, and of a long stage one every ``SILENT_SECONDS``. Nothing is shown during the first ``delay``
    seconds. Sweeps over many tasks, with their counts and remaining times, have a display of their own in the
    benchmark package.
    """

    quiet: bool
    delay: float = 0.0
    start: float = field(default_factory=monotonic)
    stage: str = ""
    shown_at: float = 0.0  # elapsed seconds

    def __call__(self, stage: str, done: float, detail: str = "") -> None:
        """Show the stage and, on a terminal, the share of it that is done and a detail; end here after a Ctrl-C."""
        interrupts.check()
        elapsed, shown = monotonic() - self.start, escape_line(stage)
        if self.quiet or elapsed < self.delay:
            return
        percent = f" {100 * done:.0f} %" if done else ""
        line = f"{shown}{percent}{f', {escape_line(detail)}' if detail else ''}"
        if sys.stderr.isatty():
            write_status(f"\r\033[K{elapsed:5.1f} s  {line}")
        elif stage.partition(":")[0] != self.stage.partition(":")[0]:
            self._write_line(elapsed, shown)
        elif elapsed - self.shown_at >= SILENT_SECONDS:
            self._write_line(elapsed, line)
        self.stage = stage

    def reading(self, state: ReadingState) -> None:
        """Show how far the traces are read; at once if there are so many that it will take seconds."""
        if state.total_bytes > LARGE_BYTES:
            self.delay = 0.0
        found = pluralize(state.calls, "call") if state.calls else pluralize(state.records, "record")
        self("reading traces", state.share, f"{_end(state.file)}, {found}")

    def clear(self) -> None:
        """Remove the line from a terminal."""
        if not self.quiet and self.stage and sys.stderr.isatty():
            write_status("\r\033[K")

    def report_total(self) -> None:
        """Say how long the command has taken, if that was long."""
        elapsed = monotonic() - self.start
        if not self.quiet and elapsed >= MIN_TOTAL_SECONDS:
            write_status(f"done in {_duration(elapsed)}\n")

    def _write_line(self, elapsed: float, line: str) -> None:
        write_status(f"{elapsed:5.1f} s  {line}\n")
        self.shown_at = elapsed


@contextmanager
def showing_progress(arguments: argparse.Namespace) -> Iterator[ProgressLine]:
    """The line of a command with --quiet, timed from the command's start; it is removed after the block."""
    progress = ProgressLine(arguments.quiet, start=arguments.started)
    try:
        yield progress
    finally:
        progress.clear()
    progress.report_total()


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"


def _end(name: str) -> str:
    return name if len(name) <= MAX_FILE_CHARACTERS else f"{ELLIPSIS}{name[1 - MAX_FILE_CHARACTERS :]}"
