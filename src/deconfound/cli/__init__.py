"""The `deconfound` command: one file per subcommand, each with its options and what it runs.

Start-up is light: a command imports the libraries it needs when it runs.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from deconfound.cli.interrupt import interrupts

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; Ctrl-C and SIGTERM end it with one line, also during imports."""
    with interrupts.handled(main.__code__, ends_process=arguments is None):
        try:
            from deconfound.cli.command_line import run

            code = run(sys.argv[1:] if arguments is None else list(arguments))
        except BaseException as error:
            if not interrupts.explain(error):
                raise
        else:
            if not interrupts.explain():
                return code
        return interrupts.report()
