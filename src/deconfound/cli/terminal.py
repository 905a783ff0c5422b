"""The only way out to the terminal: results to stdout, messages to stderr, neither with control characters."""

from __future__ import annotations

import sys

from deconfound.escaping import escape_lines


def write_result(text: str) -> None:
    """Write what the command was asked for to stdout."""
    sys.stdout.write(escape_lines(text))


def write_message(text: str) -> None:
    """Write what accompanies the result to stderr: errors, and where files are."""
    sys.stderr.write(escape_lines(text))
