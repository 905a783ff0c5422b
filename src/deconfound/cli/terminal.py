"""The only way out to the terminal: results to stdout, messages to stderr, neither with control characters.

A reader who has left, or a full disk behind stderr, never stops the work.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

from deconfound.cli.interrupt import interrupts
from deconfound.escaping import escape_lines


def write_result(text: str) -> None:
    """Write what the command was asked for to stdout; a reader may close the pipe early, as `| head` does."""
    interrupts.check()
    try:
        sys.stdout.write(escape_lines(text))
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)


def write_message(text: str) -> None:
    """Write what accompanies the result to stderr: errors, and where files are."""
    write_status(escape_lines(text))


def write_status(text: str) -> None:
    """Write to stderr what is safe already and may control the terminal, such as a line of progress."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Let a stream that cannot be written end nowhere, with what it still holds: the interpreter flushes it at exit."""
    with suppress(OSError, ValueError):  # the streams of tests are no files
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
