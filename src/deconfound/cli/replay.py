"""`deconfound replay`: what every model would have written on every context."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.cli.call_progress import DELAY, CallProgress
from deconfound.cli.options import (
    EXIT_CODES,
    Commands,
    add_column_map_option,
    add_output_options,
    parse_column_map,
    report_written,
)
from deconfound.cli.output_path import (
    add_overwrite_option,
    check_files,
    check_output_file,
    check_output_folder,
    require_path,
    writing,
)
from deconfound.cli.progress_line import ProgressLine
from deconfound.cli.terminal import write_message, write_result
from deconfound.errors import EvidenceError, UsageError
from deconfound.escaping import escape_line, readable_path
from deconfound.formatting import pluralize, shell_argument

if TYPE_CHECKING:
    from deconfound.endpoints.reply_cache import ReplyCache
    from deconfound.replaying.replay_plan import ReplayPlan
    from deconfound.replaying.replay_run import ReplayRun

MODES = ("init", "dry_run", "todo", "batch", "batch_results")
CONCURRENCY = 8  # as ``endpoints.runner.CONCURRENCY``
CACHE_EXTENSION = ".cache.sqlite"


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser(
        "replay",
        help="let every model answer every context, and write the replay",
        description="Asks the models of a settings file for their outputs on all contexts of a table. Answers are "
        "stored as they arrive: the same command continues where the last one ended. Start with: "
        "deconfound replay --init",
        epilog=EXIT_CODES,
    )
    _add_inputs(parser)
    _add_modes(parser)
    add_output_options(parser)
    parser.set_defaults(run=run)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--contexts", nargs="+", metavar="FILE", help="a log, an experiment, or any table with contexts or messages"
    )
    parser.add_argument("--models", metavar="FILE", help="models, prompts, parameters and endpoints (TOML)")
    parser.add_argument("--draws", type=int, default=1, metavar="N", help="outputs per context and model (default 1)")
    parser.add_argument("-o", "--output", default="replay.parquet", metavar="FILE", help="default replay.parquet")
    add_overwrite_option(parser)
    parser.add_argument("--cache", metavar="FILE", help=f"stored answers (default: beside -o, {CACHE_EXTENSION})")
    parser.add_argument(
        "--concurrency",
        type=int,
        default=CONCURRENCY,
        metavar="N",
        help=f"calls at once per endpoint (default {CONCURRENCY})",
    )
    add_column_map_option(parser)
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="CONDITION",
        help="only contexts of rows that fulfill it, e.g. country=DE; repeatable",
    )


def _add_modes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--init", action="store_true", help="write a commented settings file (models.toml), and stop")
    parser.add_argument("--dry-run", action="store_true", help="state calls, tokens and cost, and stop")
    parser.add_argument("--todo", action="store_true", help="list the outputs that are missing, and stop")
    parser.add_argument("--replay", nargs="+", metavar="FILE", help="with --todo: an existing replay")
    parser.add_argument("--batch", metavar="DIR", help="write request files for batch interfaces instead of calling")
    parser.add_argument("--batch-results", nargs="+", metavar="FILE", help="read result files; nothing is called")


def run(arguments: argparse.Namespace) -> int:
    """Do one of: init, dry run, to-do list, batch files, results of batches, or the replay itself."""
    chosen = [mode for mode in MODES if getattr(arguments, mode)]
    if len(chosen) > 1:
        names = " and ".join(f"--{mode.replace('_', '-')}" for mode in chosen)
        raise UsageError(f"{names} exclude each other; choose one.")
    if arguments.replay and not arguments.todo:
        raise UsageError("--replay names an existing replay for --todo; the new one is written to -o.")
    if arguments.init:
        return _init(arguments)
    for name in ("contexts", "models"):
        if not getattr(arguments, name):
            raise UsageError(f"--{name} is missing. `deconfound replay --init` writes a file for --models.")
    runs = {"dry_run": _dry_run, "todo": _todo, "batch": _write_batch}
    return runs.get(chosen[0] if chosen else "", _replay)(arguments)


def _init(arguments: argparse.Namespace) -> int:
    from deconfound.atomic import write_text
    from deconfound.replaying.models_template import TEMPLATE

    path = check_output_file(arguments.models or "models.toml", [], overwrite=arguments.overwrite)
    with writing(path, overwrite=arguments.overwrite):
        write_text(path, TEMPLATE)
    report_written(path)
    place = shell_argument(readable_path(path))
    write_message(f"Next: edit it, then deconfound replay --contexts FILE --models {place} --dry-run\n")
    return 0


def _dry_run(arguments: argparse.Namespace) -> int:
    from deconfound.report.json_text import dump_json
    from deconfound.report.replaying_text import estimate_document, estimate_text

    plan = _plan(arguments)
    with _existing_cache(arguments) as cache:
        estimates = plan.estimate(cache)
    write_result(dump_json(estimate_document(plan, estimates)) if arguments.json else estimate_text(plan, estimates))
    return 0


def _todo(arguments: argparse.Namespace) -> int:
    from deconfound.report.json_text import dump_json
    from deconfound.report.replaying_text import todo_text

    plan = _plan(arguments)
    with _existing_cache(arguments) as cache:
        missing = plan.todo(cache, arguments.replay)
    write_result(dump_json([asdict(cell) for cell in missing]) if arguments.json else todo_text(plan, missing))
    return 0


def _write_batch(arguments: argparse.Namespace) -> int:
    from deconfound.atomic import write_files

    folder = check_output_folder(arguments.batch)
    plan = _plan(arguments)
    with _existing_cache(arguments) as cache:
        files = plan.batch_files(cache)
    contents = {folder / file.name: file.content for file in files}
    if len(contents) < len(files):
        raise UsageError("Two models have names that give the same file name; rename one of them.")
    check_files(list(contents), _inputs(arguments), overwrite=arguments.overwrite)
    if contents:
        with writing(folder, _inputs(arguments), files=tuple(contents), overwrite=arguments.overwrite):
            folder.mkdir(parents=True, exist_ok=True)
            write_files(contents)
    lines = [
        f"{readable_path(folder / file.name)}: {pluralize(file.requests, 'request')} for {file.api}" for file in files
    ]
    write_result("".join(f"{escape_line(line)}\n" for line in lines or ["No model needs a call: nothing to write."]))
    if files:
        write_message("Next: send them, download the results, and run this with --batch-results FILE instead.\n")
    return 0


def _replay(arguments: argparse.Namespace) -> int:
    from deconfound.endpoints.reply_cache import ReplyCache
    from deconfound.replaying.replay_table import require_format

    require_format(require_path(arguments.output))
    path = _output_path(arguments)
    plan = _plan(arguments)
    _report_plan(plan, arguments)
    with ReplyCache(_cache_path(arguments)) as cache:
        finished = _run_plan(plan, cache, arguments)
        return _report(finished, path, arguments)


def _run_plan(plan: ReplayPlan, cache: ReplyCache, arguments: argparse.Namespace) -> ReplayRun:
    from deconfound.endpoints.runner import RunOptions
    from deconfound.replaying.replay_run import run_from_cache, run_plan, store_batches
    from deconfound.report.calls_text import batch_messages

    if arguments.batch_results:
        report = store_batches(plan, [Path(name) for name in arguments.batch_results], cache)
        write_message("".join(f"{line}\n" for line in batch_messages(report)))
        return run_from_cache(plan, cache)
    progress = CallProgress(ProgressLine(arguments.quiet, delay=DELAY), "asking the models", "outputs")
    try:
        return run_plan(plan, cache, RunOptions(arguments.concurrency), progress)
    except KeyboardInterrupt:
        progress.clear()
        place = readable_path(cache.path)
        write_message(f"{progress.done:,} answers of this run are stored in {place}. The same command continues.\n")
        raise
    finally:
        progress.clear()


def _report(finished: ReplayRun, path: Path, arguments: argparse.Namespace) -> int:
    """Write the table, say what is in it, and what is not."""
    from deconfound.replaying.replay_table import is_replay_table, write_table
    from deconfound.report.json_text import dump_json
    from deconfound.report.replaying_text import run_document, run_messages, run_text

    messages = "".join(f"{line}\n" for line in run_messages(finished))
    if finished.plan.models.asked and not finished.reused + finished.outcome.replies:
        raise UsageError(f"No output could be had, so nothing is written.\n{messages}".rstrip())
    with writing(path, _inputs(arguments), overwrite=arguments.overwrite or is_replay_table(path)):
        write_table(finished.table, path)
    if arguments.json:
        write_result(dump_json(run_document(finished, readable_path(path))))
    else:
        write_result(run_text(finished))
    write_message(messages)
    report_written(path)
    return 0 if finished.complete else EvidenceError.exit_code


def _plan(arguments: argparse.Namespace) -> ReplayPlan:
    from deconfound.replaying.replay_plan import ReplayPlan

    return ReplayPlan.load(
        arguments.contexts,
        arguments.models,
        draws=arguments.draws,
        columns=parse_column_map(arguments.map),
        where=arguments.where,
    )


def _report_plan(plan: ReplayPlan, arguments: argparse.Namespace) -> None:
    """Say how the contexts were read, and which models get messages as they are."""
    from deconfound.findings import Notice
    from deconfound.formatting import join_names

    if arguments.quiet:
        return
    notices = (finding.details for finding in plan.findings if finding.check != "messages")
    lines = [details.message for details in notices if isinstance(details, Notice)]
    if plan.message_models:
        lines.append(f"Contexts are messages, which go to {join_names(plan.message_models)} as they are.")
    if plan.text_models:
        lines.append(f"Contexts are messages, which go into the prompt of {join_names(plan.text_models)} as one text.")
    write_message("".join(f"{escape_line(line)}\n" for line in lines))


def _output_path(arguments: argparse.Namespace) -> Path:
    """Where to write; a table of an earlier replay may be replaced, any other file with --overwrite."""
    from deconfound.replaying.replay_table import is_replay_table

    ours = is_replay_table(Path(arguments.output))
    return check_output_file(arguments.output, _inputs(arguments), overwrite=arguments.overwrite or ours)


def _inputs(arguments: argparse.Namespace) -> Sequence[Path]:
    from deconfound.loading.table_files import find_files

    others = [arguments.models, *(arguments.batch_results or ()), str(_cache_path(arguments))]
    return [*find_files(arguments.contexts), *map(Path, others)]


def _cache_path(arguments: argparse.Namespace) -> Path:
    if arguments.cache is not None:
        if not arguments.cache.strip():
            raise UsageError("--cache is empty; name a file, or leave it out.")
        return Path(arguments.cache)
    output = require_path(arguments.output)
    return output.with_name(f"{output.stem}{CACHE_EXTENSION}")


@contextmanager
def _existing_cache(arguments: argparse.Namespace) -> Iterator[ReplyCache | None]:
    """The cache, if there is one: what only looks makes none."""
    from deconfound.endpoints.reply_cache import ReplyCache

    path = _cache_path(arguments)
    if not path.exists():
        yield None
        return
    with ReplyCache(path) as cache:
        yield cache
