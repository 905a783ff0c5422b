"""What all commands share that ask models: the cache, the number of calls at once, and files for batch interfaces."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.cli.call_progress import DELAY, CallProgress
from deconfound.cli.options import report_written
from deconfound.cli.output_path import check_files, check_output_file, check_output_folder, require_path, writing
from deconfound.cli.progress_line import ProgressLine
from deconfound.cli.terminal import write_message, write_result
from deconfound.errors import UsageError
from deconfound.escaping import escape_line, readable_path
from deconfound.formatting import pluralize, shell_argument

if TYPE_CHECKING:
    from deconfound.endpoints.batch_writing import BatchFile
    from deconfound.endpoints.reply_cache import ReplyCache

CONCURRENCY = 8  # as ``endpoints.runner.CONCURRENCY``
CACHE_EXTENSION = ".cache.sqlite"


def add_call_options(parser: argparse.ArgumentParser, cache: str) -> None:
    """--cache and --concurrency; ``cache`` is the default of the first."""
    parser.add_argument("--cache", metavar="FILE", help=f"stored answers (default: beside -o, {cache})")
    parser.add_argument(
        "--concurrency",
        type=int,
        default=CONCURRENCY,
        metavar="N",
        help=f"calls at once per endpoint (default {CONCURRENCY})",
    )


def add_batch_options(parser: argparse.ArgumentParser) -> None:
    """--batch and --batch-results."""
    parser.add_argument("--batch", metavar="DIR", help="write request files for batch interfaces instead of calling")
    parser.add_argument("--batch-results", nargs="+", metavar="FILE", help="read result files; nothing is called")


def require_one_mode(arguments: argparse.Namespace, modes: Sequence[str]) -> str:
    """The chosen one of several ways to use a command, or none; two of them exclude each other."""
    chosen = [mode for mode in modes if getattr(arguments, mode)]
    if len(chosen) > 1:
        names = " and ".join(f"--{mode.replace('_', '-')}" for mode in chosen)
        raise UsageError(f"{names} exclude each other; choose one.")
    return chosen[0] if chosen else ""


def cache_path(arguments: argparse.Namespace, name: str) -> Path:
    """Where answers are stored: as --cache says, or beside the output, by a name of the command."""
    if arguments.cache is not None:
        if not arguments.cache.strip():
            raise UsageError("--cache is empty; name a file, or leave it out.")
        return Path(arguments.cache)
    output = require_path(arguments.output)
    return output.with_name(f"{name}{CACHE_EXTENSION}")


@contextmanager
def existing_cache(path: Path) -> Iterator[ReplyCache | None]:
    """The cache, if there is one: what only looks makes none."""
    from deconfound.endpoints.reply_cache import ReplyCache

    if not path.exists():
        yield None
        return
    with ReplyCache(path) as cache:
        yield cache


def write_settings_file(path: str, template: str, next_command: str, *, overwrite: bool) -> None:
    """Write a commented settings file, and the command that uses it."""
    from deconfound.atomic import write_text

    place = check_output_file(path, [], overwrite=overwrite)
    with writing(place, overwrite=overwrite):
        write_text(place, template)
    report_written(place)
    write_message(f"Next: edit it, then {next_command} {shell_argument(readable_path(place))} --dry-run\n")


@contextmanager
def calls_under_way(cache: ReplyCache, activity: str, noun: str, *, quiet: bool) -> Iterator[CallProgress]:
    """Progress of calls; an interrupt says what is stored."""
    progress = CallProgress(ProgressLine(quiet, delay=DELAY), activity, noun)
    try:
        yield progress
    except KeyboardInterrupt:
        progress.clear()
        place = readable_path(cache.path)
        write_message(f"{progress.done:,} answers of this run are stored in {place}. The same command continues.\n")
        raise
    finally:
        progress.clear()


def batch_folder(arguments: argparse.Namespace) -> Path:
    """The folder of --batch, checked before the work starts."""
    return check_output_folder(arguments.batch)


def write_batch_files(folder: Path, files: Sequence[BatchFile], inputs: Sequence[Path], *, overwrite: bool) -> None:
    """Write request files, and say what is in them and what to do with them."""
    from deconfound.atomic import write_files

    contents = {folder / file.name: file.content for file in files}
    if len(contents) < len(files):
        raise UsageError("Two models have names that give the same file name; rename one of them.")
    check_files(list(contents), inputs, overwrite=overwrite)
    if contents:
        with writing(folder, inputs, files=tuple(contents), overwrite=overwrite):
            folder.mkdir(parents=True, exist_ok=True)
            write_files(contents)
    lines = [
        f"{readable_path(folder / file.name)}: {pluralize(file.requests, 'request')} for {file.api}" for file in files
    ]
    write_result("".join(f"{escape_line(line)}\n" for line in lines or ["No model needs a call: nothing to write."]))
    if files:
        write_message("Next: send them, download the results, and run this with --batch-results FILE instead.\n")
