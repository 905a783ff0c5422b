"""Parse, run, and turn every foreseeable failure into one message and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from deconfound.cli.bench import BENCH, run_bench
from deconfound.cli.parser import build_parser
from deconfound.errors import DeconfoundError

INTERRUPTED = 130  # what shells give a command that was stopped by Ctrl-C


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = _run(given)
        sys.stdout.flush()
    except DeconfoundError as error:
        _complain(f"{error}")
        return error.exit_code
    except KeyboardInterrupt:
        _complain("stopped.")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, as with `| head`; what it wanted it has.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        _complain(f"{error.filename or 'file'}: {error.strerror or error}.")
        return DeconfoundError.exit_code
    return code


def _run(arguments: Sequence[str]) -> int:
    if arguments[:1] == [BENCH]:  # its options belong to another package, which parses them itself
        return run_bench(arguments[1:])
    parsed = build_parser().parse_args(arguments)
    code: int = parsed.run(parsed)
    return code


def _complain(message: str) -> None:
    lines = message.splitlines() or ["unknown error"]
    if len(lines) > 1:
        lines = [f"{len(lines)} problems:", *(f"  {line}" for line in lines)]
    sys.stderr.write(f"deconfound: {os.linesep.join(lines)}\n")
