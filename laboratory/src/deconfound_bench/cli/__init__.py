"""The command `deconfound bench`: argument parsing and where output goes."""

from deconfound_bench.cli.main import main

__all__ = ["main"]
