"""Parse the command line, run a command, and turn every expected failure into one message and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from deconfound import __version__
from deconfound.cli import bench, check, demo, evaluate, plan, recommend
from deconfound.cli.options import EXIT_CODES
from deconfound.errors import DataError, DeconfoundError, UsageError, first_problems
from deconfound.formatting import wrap

OUT_OF_MEMORY = (
    "the memory of this computer is not enough for these tables. Use fewer rows of the log, fewer replayed contexts, "
    "or fewer models with --models."
)
INTERRUPTED = 130  # the shells' code for a command that was stopped by Ctrl-C


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors end like all others: one message, exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the whole usage and exiting."""
        raise UsageError(f"{message}. See {self.prog} --help.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        code = _run(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except DataError as error:
        _print_error(*map(str, error.problems))
        return error.exit_code
    except DeconfoundError as error:
        _print_error(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        _print_error("interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe early, as `| head` does; that is no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, MemoryError) as error:  # NumPy's and Arrow's lack of memory are kinds of MemoryError
        _print_error(_describe_failure(error))
        return DeconfoundError.exit_code
    return code


def build_parser() -> argparse.ArgumentParser:
    """The whole command line, without importing what the commands run."""
    parser = CommandParser(
        prog="deconfound",
        description="Estimate which language model is better, from a confounded log, a small experiment and a replay.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"deconfound {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in (demo, evaluate, check, recommend, plan, bench):
        command.add_command(commands)
    return parser


def _run(arguments: Sequence[str]) -> int:
    if arguments[:1] == [bench.NAME]:  # another package parses the options of this command
        return bench.run(arguments[1:])
    parsed = build_parser().parse_args(arguments)
    code: int = parsed.run(parsed)
    return code


def _describe_failure(error: OSError | MemoryError) -> str:
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY
    return f"{error.filename or 'file'}: {error.strerror or error}."


def _print_error(*problems: str) -> None:
    """One message per problem; several are counted and indented, each with its own further lines."""
    if len(problems) > 1:
        indented = (problem.replace("\n", "\n    ") for problem in first_problems(problems))
        problems = (f"{len(problems)} problems:", *(f"  {problem}" for problem in indented))
    message = "deconfound: " + "\n".join(problems)
    # Programs that read the messages get one line each.
    sys.stderr.write(f"{wrap(message) if sys.stderr.isatty() else message}\n")
