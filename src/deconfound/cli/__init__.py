"""The `deconfound` command: one file per subcommand, each with its options and what it runs.

Start-up is light: a command imports the libraries it needs when it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

INTERRUPTED = 130  # the shells' code for a command that was stopped by Ctrl-C


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; Ctrl-C ends it with one line, also during imports."""
    import sys

    try:
        from deconfound.cli.command_line import run

        return run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        sys.stderr.write("deconfound: interrupted.\n")
        return INTERRUPTED
