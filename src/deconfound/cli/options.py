"""What several commands have in common on the command line."""

from __future__ import annotations

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""Where a command is added."""

EXIT_CODES = """exit codes: 0 fine; 1 bad data; 2 bad usage or environment; 3 the data says no (an assumption check
failed); 4 not enough evidence"""


def talk(parser: argparse.ArgumentParser) -> None:
    """How much is said, and in which form."""
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
