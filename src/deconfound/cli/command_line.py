"""Parse the command line, run a command, and turn every expected failure into one message and an exit code."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from time import monotonic
from traceback import extract_tb

from deconfound import __version__
from deconfound.cli import (
    assign,
    bench,
    check,
    convert_traces,
    demo,
    doctor,
    evaluate,
    init,
    judge,
    monitor,
    plan,
    recommend,
    replay,
    report,
    route,
)
from deconfound.cli.command_parser import CommandParser
from deconfound.cli.interrupt import interrupts
from deconfound.cli.options import EXIT_CODES
from deconfound.cli.streams import prepare_streams
from deconfound.cli.study_file import with_study_file
from deconfound.cli.terminal import write_message, write_result
from deconfound.errors import DataError, DeconfoundError, UsageError, first_problems
from deconfound.escaping import escape_line, readable_path
from deconfound.formatting import wrap

OUT_OF_MEMORY = (
    "the memory of this computer is not enough for these tables. Use fewer rows of the log, fewer replayed contexts, "
    "or fewer models with --models."
)
NEGATIVE_WITH_EXPONENT = re.compile(r"-(\d+\.?\d*|\.\d+)[eE][+-]?\d{1,3}")
NEGATIVE_NAME = re.compile(r"-[\d.][^=]*=.+", re.DOTALL)
SIGNED_WORD = re.compile(r"-(?!-?[A-Za-z]).*=.+", re.DOTALL)  # such as -=missing
WORD_OPTION = "--outcome-values"
PACKAGE = "deconfound"
TRACEBACK = "DECONFOUND_TRACEBACK"  # environment variable; if set, an unexpected error ends with its traceback


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; every failure ends in a message."""
    try:
        prepare_streams()
        return _run_command(arguments)
    except SystemExit:  # after --help or --version
        write_result("")
        raise
    except Exception as error:
        if interrupts.explain(error) or os.environ.get(TRACEBACK):
            raise
        _print_error(*_messages(error), remark=error.remark if isinstance(error, DataError) else "")
        return error.exit_code if isinstance(error, DeconfoundError) else DeconfoundError.exit_code


def _messages(error: Exception) -> tuple[str, ...]:
    """What to tell the user about a failure; several problems of the data are one message each."""
    if isinstance(error, DataError):
        return tuple(map(str, error.problems))
    if isinstance(error, DeconfoundError):
        return (str(error),)
    if isinstance(error, OSError) and error.strerror:
        return (escape_line(f"{_file_name(error)}: {error.strerror}."),)
    if isinstance(error, MemoryError):
        return (OUT_OF_MEMORY,)  # NumPy's and Arrow's lack of memory are kinds of it
    return (_unexpected(error),)


def _file_name(error: OSError) -> str:
    name = error.filename
    return readable_path(name) if isinstance(name, str | bytes | os.PathLike) else "output"


def _unexpected(error: Exception) -> str:
    """A defect of this package: its kind and place, without text that may come from the user's data."""
    frames = [frame for frame in extract_tb(error.__traceback__) if PACKAGE in Path(frame.filename).parts]
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return (
        f"unexpected {type(error).__name__}{place}. This is a defect of deconfound {__version__}. Please report the "
        f"command and what it prints with {TRACEBACK}=1 in its environment."
    )


def build_parser() -> argparse.ArgumentParser:
    """The whole command line, without importing what the commands run."""
    parser = CommandParser(
        prog="deconfound",
        description="Estimate which language model is better, from a confounded log, a small experiment and a replay.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"deconfound {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    answering = (evaluate, report, check, recommend, route, plan)
    for command in (demo, doctor, convert_traces, init, replay, judge, *answering, assign, monitor, bench):
        command.add_command(commands)
    return parser


def _run_command(arguments: Sequence[str]) -> int:
    started = monotonic()
    _refuse_nul(arguments)
    if arguments[:1] == [bench.NAME]:  # another package parses the options of this command
        return bench.run(arguments[1:])
    parser = build_parser()
    words, study_file = with_study_file(arguments, parser)
    _refuse_nul(words)
    words = _with_values(list(map(_without_exponent, words)))
    typed = shlex.join([PACKAGE, *arguments])
    parsed = parser.parse_args(words, argparse.Namespace(study_file=study_file, typed_command=typed, started=started))
    code: int = parsed.run(parsed)
    return code


def _refuse_nul(words: Sequence[str]) -> None:
    if any("\0" in word for word in words):
        raise UsageError("An argument contains the character NUL, which no name of a file or model can have.")


def _without_exponent(word: str) -> str:
    """A negative number such as -1e6 in decimals: Python's parser would take it for an option."""
    return f"{Decimal(word):f}" if NEGATIVE_WITH_EXPONENT.fullmatch(word) else word


def _with_values(words: Sequence[str]) -> list[str]:
    """An option and a value such as -1=missing as one word: Python's parser would take the value for an option."""
    joined: list[str] = []
    for word in words:
        option = joined[-1] if joined and joined[-1].startswith("--") and "=" not in joined[-1] else ""
        is_word = option == WORD_OPTION and SIGNED_WORD.fullmatch(word)
        if option and (is_word or NEGATIVE_NAME.fullmatch(word)):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _print_error(*problems: str, remark: str = "") -> None:
    """One message per problem; several are counted and indented. Further lines of a message are indented by more.

    A remark about all of them comes last, and is not counted.
    """
    messages = [problem.replace("\n", "\n    ") for problem in first_problems(problems)]
    if len(messages) > 1:
        messages = [f"{len(problems)} problems:", *(f"  {message}" for message in messages)]
    text = "deconfound: " + "\n".join([*messages, *([remark] if remark else [])])
    # Programs that read the messages get one line each.
    write_message(f"{wrap(text) if sys.stderr.isatty() else text}\n")
