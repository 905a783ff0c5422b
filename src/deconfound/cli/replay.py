"""`deconfound replay`: what every model would have written on every context."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.cli.call_options import (
    CACHE_EXTENSION,
    add_batch_options,
    add_call_options,
    batch_folder,
    cache_path,
    calls_under_way,
    existing_cache,
    require_one_mode,
    write_batch_files,
    write_settings_file,
)
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
    check_output_file,
    require_path,
    writing,
)
from deconfound.cli.terminal import write_message, write_result
from deconfound.errors import EvidenceError, UsageError
from deconfound.escaping import escape_line, readable_path

if TYPE_CHECKING:
    from deconfound.endpoints.reply_cache import ReplyCache
    from deconfound.replaying.replay_plan import ReplayPlan
    from deconfound.replaying.replay_run import ReplayRun

MODES = ("init", "dry_run", "todo", "batch", "batch_results")
CACHE_NAME = "replay"


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
    add_call_options(parser, f"{CACHE_NAME}{CACHE_EXTENSION}")
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
    add_batch_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do one of: init, dry run, to-do list, batch files, results of batches, or the replay itself."""
    chosen = require_one_mode(arguments, MODES)
    if arguments.replay and not arguments.todo:
        raise UsageError("--replay names an existing replay for --todo; the new one is written to -o.")
    if arguments.init:
        return _init(arguments)
    for name in ("contexts", "models"):
        if not getattr(arguments, name):
            raise UsageError(f"--{name} is missing. `deconfound replay --init` writes a file for --models.")
    runs = {"dry_run": _dry_run, "todo": _todo, "batch": _write_batch}
    return runs.get(chosen, _replay)(arguments)


def _init(arguments: argparse.Namespace) -> int:
    from deconfound.replaying.models_template import TEMPLATE

    next_command = "deconfound replay --contexts FILE --models"
    write_settings_file(arguments.models or "models.toml", TEMPLATE, next_command, overwrite=arguments.overwrite)
    return 0


def _dry_run(arguments: argparse.Namespace) -> int:
    from deconfound.report.json_text import dump_json
    from deconfound.report.replaying_text import estimate_document, estimate_text

    plan = _plan(arguments)
    with existing_cache(_cache(arguments)) as cache:
        estimates = plan.estimate(cache)
    write_result(dump_json(estimate_document(plan, estimates)) if arguments.json else estimate_text(plan, estimates))
    return 0


def _todo(arguments: argparse.Namespace) -> int:
    from deconfound.report.json_text import dump_json
    from deconfound.report.replaying_text import todo_text

    plan = _plan(arguments)
    with existing_cache(_cache(arguments)) as cache:
        missing = plan.todo(cache, arguments.replay)
    write_result(dump_json([asdict(cell) for cell in missing]) if arguments.json else todo_text(plan, missing))
    return 0


def _write_batch(arguments: argparse.Namespace) -> int:
    folder = batch_folder(arguments)
    plan = _plan(arguments)
    with existing_cache(_cache(arguments)) as cache:
        files = plan.batch_files(cache)
    write_batch_files(folder, files, _inputs(arguments), overwrite=arguments.overwrite)
    return 0


def _replay(arguments: argparse.Namespace) -> int:
    from deconfound.endpoints.reply_cache import ReplyCache
    from deconfound.replaying.replay_table import require_format

    require_format(require_path(arguments.output))
    path = _output_path(arguments)
    plan = _plan(arguments)
    _report_plan(plan, arguments)
    with ReplyCache(_cache(arguments)) as cache:
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
    with calls_under_way(
        cache,
        (model.chat.endpoint for model in plan.models.asked),
        "asking the models",
        "outputs",
        quiet=arguments.quiet,
    ) as progress:
        return run_plan(plan, cache, RunOptions(arguments.concurrency), progress)


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
    findings = [one for one in plan.findings if one.check != "messages" or one.verdict != "pass"]
    notices = (finding.details for finding in findings)
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


def _cache(arguments: argparse.Namespace) -> Path:
    """One file for all replays of a folder."""
    return cache_path(arguments, CACHE_NAME)


def _inputs(arguments: argparse.Namespace) -> Sequence[Path]:
    from deconfound.loading.table_files import find_files

    others = [arguments.models, *(arguments.batch_results or ()), str(_cache(arguments))]
    return [*find_files(arguments.contexts), *map(Path, others)]
