"""The command: argument parsing, where output goes, and exit codes; nothing else."""

from deconfound.cli.main import main

__all__ = ["main"]
