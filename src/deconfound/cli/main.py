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
from deconfound.cli.terminal import write_message
from deconfound.errors import DataError, DeconfoundError, UsageError
from deconfound.escaping import escape_line, readable_path
from deconfound.formatting import wrap

INTERRUPTED = 130  # the shells' code for a command that was stopped by Ctrl-C


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors end like all others: one message, exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the whole usage and exiting."""
        raise UsageError(f"{escape_line(message)}. See {self.prog} --help.")


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
    except OSError as error:
        _print_error(escape_line(f"{_file_name(error)}: {error.strerror or error}."))
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


def _print_error(*problems: str) -> None:
    """One message per problem; several are counted and indented. Further lines of a message are indented by more."""
    messages = [problem.replace("\n", "\n    ") for problem in problems]
    if len(messages) > 1:
        messages = [f"{len(messages)} problems:", *(f"  {message}" for message in messages)]
    text = "deconfound: " + "\n".join(messages)
    # Programs that read the messages get one line each.
    write_message(f"{wrap(text) if sys.stderr.isatty() else text}\n")


def _file_name(error: OSError) -> str:
    name = error.filename
    return readable_path(name) if isinstance(name, str | bytes | os.PathLike) else "file"
