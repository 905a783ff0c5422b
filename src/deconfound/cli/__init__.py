"""The `deconfound` command: one file per subcommand, each with its options and what it runs.

Start-up is light: a command imports the libraries it needs when it runs.
"""

from deconfound.cli.main import main

__all__ = ["main"]
