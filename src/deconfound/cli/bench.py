"""`deconfound bench`: run the benchmarks, which a separate package provides."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points

from deconfound.cli.options import Commands
from deconfound.errors import UsageError

NAME = "bench"
ENTRY_POINT_GROUP = "deconfound.commands"
"""Entry points of this group are functions from command-line arguments to an exit code."""


def add_command(commands: Commands) -> None:
    """List the command in the help; its options belong to the package that provides it."""
    commands.add_parser(NAME, help="benchmark the families against known truth (needs the package deconfound-bench)")


def run(arguments: Sequence[str]) -> int:
    """Pass the arguments after `bench` to the benchmark package."""
    providers = entry_points(group=ENTRY_POINT_GROUP, name=NAME)
    if not providers:
        raise UsageError("The benchmarks are not installed: pip install deconfound-bench (in a clone: ./laboratory)")
    code: int = next(iter(providers)).load()(arguments)
    return code
