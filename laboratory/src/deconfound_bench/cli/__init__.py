"""The command `deconfound bench`."""

from deconfound_bench.cli.main import main

__all__ = ["main"]
