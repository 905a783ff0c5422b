"""The `deconfound` command: one file per subcommand, each with its options and what it runs.

Start-up is light: a command imports the libraries it needs when it runs.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["main"]

INTERRUPTED = 130  # the shells' code for a command that was stopped by Ctrl-C
MESSAGE = "deconfound: interrupted.\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; Ctrl-C ends it with one line, also during imports."""
    try:
        run = _import_command_line()
        return run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        sys.stderr.write(MESSAGE)
        return INTERRUPTED


def _import_command_line() -> Callable[[Sequence[str]], int]:
    """The function that runs a command. An interrupted import can raise any error, so Ctrl-C ends the process."""
    if threading.current_thread() is not threading.main_thread():
        from deconfound.cli.command_line import run

        return run
    before = signal.signal(signal.SIGINT, lambda *_: _end_at_once())
    try:
        from deconfound.cli.command_line import run
    finally:
        signal.signal(signal.SIGINT, before)
    return run


def _end_at_once() -> None:
    os.write(2, MESSAGE.encode())
    os._exit(INTERRUPTED)
