"""`deconfound judge`: scores of outputs by language models, as labels, features or outcomes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from glob import has_magic
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
    parse_numbers,
    report_written,
)
from deconfound.cli.output_path import (
    add_overwrite_option,
    check_files,
    check_output_file,
    check_output_folder,
    writing,
)
from deconfound.cli.terminal import write_message, write_result
from deconfound.errors import EvidenceError, UsageError
from deconfound.escaping import escape_line, readable_path

if TYPE_CHECKING:
    from deconfound.endpoints.reply_cache import ReplyCache
    from deconfound.judging.judge_plan import JudgePlan
    from deconfound.judging.judge_run import JudgeRun

MODES = ("init", "print_rubric", "dry_run", "batch", "batch_results")
PROBED = 100  # outputs, without a number after --probe
CACHE_NAME = "judge"
ONE_OUTPUT, SEVERAL_OUTPUTS = "judged.parquet", "judged"


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser(
        "judge",
        help="let judges score outputs by a rubric, and write the tables with scores",
        description="Asks the judges of a settings file to score every distinct output of some tables. Answers are "
        "stored as they arrive: the same command continues where the last one ended. Start with: "
        "deconfound judge --init",
        epilog=EXIT_CODES,
    )
    _add_inputs(parser)
    _add_modes(parser)
    add_output_options(parser)
    parser.set_defaults(run=run)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--outputs", nargs="+", metavar="TABLE", help="log, experiment or replay; several are judged table by table"
    )
    parser.add_argument("--judges", metavar="FILE", help="judges and endpoints (TOML)")
    parser.add_argument(
        "--rubric", default="summarization", metavar="NAME", help="summarization (default), or a rubric file (TOML)"
    )
    parser.add_argument(
        "--as",
        dest="scores_as",
        default="labels",
        metavar="KIND",
        help="labels (default), features, or a column for the combined score, such as outcome",
    )
    parser.add_argument("--weights", metavar="NAME=W,...", help="weights of the criteria in the combined score")
    parser.add_argument(
        "--probe",
        nargs="?",
        type=int,
        const=PROBED,
        default=0,
        metavar="N",
        help=f"also test the judges, on N outputs (default {PROBED}): order, length, injected orders, and more",
    )
    parser.add_argument("--human", metavar="COLUMN", help="scores of persons, for --probe (default: the outcome)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=f"default {ONE_OUTPUT}; a folder for several tables ({SEVERAL_OUTPUTS})"
    )
    add_overwrite_option(parser)
    add_call_options(parser, f"{CACHE_NAME}{CACHE_EXTENSION}")
    add_column_map_option(parser)
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="CONDITION",
        help="judge and write only rows that fulfill it, e.g. country=DE; repeatable",
    )


def _add_modes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--init", action="store_true", help="write a commented settings file (judges.toml), and stop")
    parser.add_argument("--print-rubric", metavar="NAME", help="print a rubric of the package to start from, and stop")
    parser.add_argument("--dry-run", action="store_true", help="state calls, tokens and cost, and stop")
    add_batch_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do one of: init, print a rubric, dry run, batch files, results of batches, or the judging itself."""
    chosen = require_one_mode(arguments, MODES)
    if chosen == "init":
        return _init(arguments)
    if chosen == "print_rubric":
        from deconfound.judging.rubric_file import builtin_text

        write_result(builtin_text(arguments.print_rubric))
        return 0
    for name in ("outputs", "judges"):
        if not getattr(arguments, name):
            raise UsageError(f"--{name} is missing. `deconfound judge --init` writes a file for --judges.")
    if arguments.human is not None and not arguments.probe:
        raise UsageError("--human names scores of persons for --probe; pass --probe, too.")
    arguments.output = arguments.output or (ONE_OUTPUT if len(arguments.outputs) == 1 else SEVERAL_OUTPUTS)
    runs = {"dry_run": _dry_run, "batch": _write_batch}
    return runs.get(chosen, _judge)(arguments)


def _init(arguments: argparse.Namespace) -> int:
    from deconfound.judging.judge_settings import TEMPLATE

    next_command = "deconfound judge --outputs FILE --judges"
    write_settings_file(arguments.judges or "judges.toml", TEMPLATE, next_command, overwrite=arguments.overwrite)
    return 0


def _dry_run(arguments: argparse.Namespace) -> int:
    from deconfound.report.json_text import dump_json
    from deconfound.report.judging_text import judging_estimate_document, judging_estimate_text

    plan = _plan(arguments)
    with existing_cache(_cache(arguments)) as cache:
        estimates = plan.estimate(cache)
    if arguments.json:
        write_result(dump_json(judging_estimate_document(plan, estimates)))
    else:
        write_result(judging_estimate_text(plan, estimates))
    return 0


def _write_batch(arguments: argparse.Namespace) -> int:
    folder = batch_folder(arguments)
    plan = _plan(arguments)
    with existing_cache(_cache(arguments)) as cache:
        files = plan.batch_files(cache)
    write_batch_files(folder, files, _inputs(arguments), overwrite=arguments.overwrite)
    return 0


def _judge(arguments: argparse.Namespace) -> int:
    from deconfound.endpoints.reply_cache import ReplyCache

    paths = _output_paths(arguments)
    plan = _plan(arguments)
    _report_plan(plan, arguments)
    with ReplyCache(_cache(arguments)) as cache:
        finished = _run_plan(plan, cache, arguments)
        return _report(finished, paths, arguments)


def _run_plan(plan: JudgePlan, cache: ReplyCache, arguments: argparse.Namespace) -> JudgeRun:
    from deconfound.endpoints.runner import RunOptions
    from deconfound.judging.judge_run import run_from_cache, run_judges, store_batches
    from deconfound.report.calls_text import batch_messages

    if arguments.batch_results:
        report = store_batches(plan, [Path(name) for name in arguments.batch_results], cache)
        write_message("".join(f"{line}\n" for line in batch_messages(report)))
        return run_from_cache(plan, cache)
    with calls_under_way(cache, "asking the judges", "answers", quiet=arguments.quiet) as progress:
        return run_judges(plan, cache, RunOptions(arguments.concurrency), progress)


def _report(finished: JudgeRun, paths: Sequence[Path], arguments: argparse.Namespace) -> int:
    """Write the tables, say what is in them, and what is not."""
    from deconfound.judging.judged_table import write_judged
    from deconfound.report.json_text import dump_json
    from deconfound.report.judging_text import judging_document, judging_messages, judging_text

    messages = "".join(f"{line}\n" for line in judging_messages(finished))
    if finished.unscored == len(finished.plan.pairs.pairs):
        raise UsageError(f"No output has a score, so nothing is written.\n{messages}".rstrip())
    place = Path(arguments.output)
    with writing(place, _inputs(arguments), files=paths, overwrite=_may_replace(paths, arguments)):
        if len(paths) > 1:
            place.mkdir(parents=True, exist_ok=True)
        write_judged(dict(zip(paths, finished.tables, strict=True)))
    if arguments.json:
        write_result(dump_json(judging_document(finished, [readable_path(path) for path in paths])))
    else:
        write_result(judging_text(finished))
    write_message(messages)
    for path in paths:
        report_written(path)
    return 0 if finished.complete else EvidenceError.exit_code


def _plan(arguments: argparse.Namespace) -> JudgePlan:
    from deconfound.judging.judge_plan import JudgePlan

    return JudgePlan.load(
        arguments.outputs,
        arguments.judges,
        rubric=arguments.rubric,
        scores_as=arguments.scores_as,
        weights=parse_numbers(arguments.weights, "--weights") or None,
        probe=arguments.probe,
        human=arguments.human,
        columns=parse_column_map(arguments.map),
        where=arguments.where,
    )


def _report_plan(plan: JudgePlan, arguments: argparse.Namespace) -> None:
    """Say how the tables were read."""
    from deconfound.findings import Notice

    if not arguments.quiet:
        details = (finding.details for finding in plan.findings)
        lines = [one.message for one in details if isinstance(one, Notice)]
        write_message("".join(f"{escape_line(line)}\n" for line in lines))


def _output_paths(arguments: argparse.Namespace) -> list[Path]:
    """The file of each table: as -o says for one, by the names of the inputs in a folder for several."""
    from deconfound.judging.judged_table import require_format

    inputs = _inputs(arguments)
    if len(arguments.outputs) == 1:
        path = Path(arguments.output)
        require_format(path)
        return [check_output_file(arguments.output, inputs, overwrite=_may_replace([path], arguments))]
    folder = check_output_folder(arguments.output)
    names = list(map(_table_name, arguments.outputs))
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise UsageError(f"Two tables would be written to {repeated}.parquet; judge them one by one, or rename one.")
    paths = [folder / f"{name}.parquet" for name in names]
    check_files(paths, inputs, overwrite=_may_replace(paths, arguments))
    return paths


def _table_name(argument: str) -> str:
    """The name of a table without what says how it is stored; that of its folder for a pattern."""
    from deconfound.loading.files import CODECS, FORMATS, JSON

    path = Path(argument)
    name = path.parent.name if has_magic(path.name) else path.name
    while Path(name).suffix.lower() in (*CODECS, *FORMATS, JSON):
        name = Path(name).stem
    return name or "table"


def _may_replace(paths: Sequence[Path], arguments: argparse.Namespace) -> bool:
    """Tables that `judge` wrote may be replaced, any other file with --overwrite."""
    from deconfound.judging.judged_table import is_judged_table

    return arguments.overwrite or all(is_judged_table(path) for path in paths if path.exists())


def _cache(arguments: argparse.Namespace) -> Path:
    """One file for all tables of a folder: an output that was judged for one table is not paid for again."""
    return cache_path(arguments, CACHE_NAME)


def _inputs(arguments: argparse.Namespace) -> list[Path]:
    from deconfound.loading.table_files import find_files

    rubric = [arguments.rubric] if Path(arguments.rubric).exists() else []
    others = [arguments.judges, *rubric, *(arguments.batch_results or ()), str(_cache(arguments))]
    return [*(file for name in arguments.outputs for file in find_files(name)), *map(Path, others)]
