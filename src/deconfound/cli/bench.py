"""The command `bench`, which another package provides."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points

from deconfound.errors import UsageError

BENCH = "bench"
GROUP = "deconfound.commands"
"""Entry points of this group are functions from command-line arguments to an exit code."""


def run_bench(arguments: Sequence[str]) -> int:
    """Hand everything after `bench` to the benchmark package, or say how to install it."""
    provided = entry_points(group=GROUP, name=BENCH)
    if not provided:
        raise UsageError(
            "The benchmarks are a package of their own: pip install deconfound-bench (in a clone: ./laboratory)"
        )
    code: int = next(iter(provided)).load()(arguments)
    return code
