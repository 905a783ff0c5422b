"""`deconfound route`: a policy file from a study, or the best single model where routing does not pay."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.cli.evaluate import add_cost_options, parse_costs
from deconfound.cli.options import (
    EXIT_CODES,
    Commands,
    add_family_option,
    add_output_options,
    add_table_options,
    input_files,
    load_study,
    report_written,
)
from deconfound.cli.output_path import add_overwrite_option, check_output_file, writing
from deconfound.cli.progress_line import showing_progress
from deconfound.cli.terminal import write_result
from deconfound.errors import AssumptionError, UsageError

if TYPE_CHECKING:
    from deconfound.policy_learning import LearnedPolicy


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser(
        "route",
        help="write a policy file that chooses a model per prompt or segment, if that pays",
        description="The policy is learned from the study and valued on contexts that it has not seen. Where routing "
        "does not pay, it is the best single model. Options may stand in a file: deconfound route study.toml",
        epilog=EXIT_CODES,
    )
    add_table_options(parser)
    add_family_option(parser)
    parser.add_argument("--by", metavar="COLUMN", help="choose by the values of this column of the experiment")
    parser.add_argument(
        "--kind",
        choices=("auto", "single", "segments", "context"),
        default="auto",
        help="auto: a router if it pays (default); any other is written whether it pays or not",
    )
    add_cost_options(parser)
    parser.add_argument("--level", type=float, default=0.95, help="confidence level of the interval (default 0.95)")
    parser.add_argument("--seed", type=int, default=0, help="of folds and samples (default 0)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the policy to FILE.json")
    add_overwrite_option(parser)
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the policy on request, then print what it is."""
    from deconfound.report.json_text import dump_json
    from deconfound.report.route_text import route_document

    path = _output_path(arguments)
    learned = _learn(arguments)
    if path is not None:
        with writing(path, _inputs(arguments), overwrite=arguments.overwrite):
            learned.save(path, overwrite=True)  # checked before
    write_result(dump_json(route_document(learned)) if arguments.json else learned.summary())
    if path is not None:
        report_written(path)
    failed = any(finding.verdict == "fail" for finding in learned.result.findings)
    return AssumptionError.exit_code if failed else 0


def _learn(arguments: argparse.Namespace) -> LearnedPolicy:
    from deconfound.evaluation_options import EvaluationOptions
    from deconfound.policy_learning import route

    if arguments.family == "all":
        raise UsageError("A policy is learned with one family; choose one with --family.")
    if arguments.kind == "segments" and arguments.by is None:
        raise UsageError("--kind segments needs a column; name it with --by.")
    if arguments.kind == "context" and arguments.by is not None:
        raise UsageError("--kind context chooses by the prompt and --by by a column; give one of them.")
    options = EvaluationOptions(cost=parse_costs(arguments.cost, arguments.value_of_outcome))
    study = load_study(arguments, segments=_segments(arguments))
    with showing_progress(arguments) as progress:
        return route(
            study,
            arguments.family,
            arguments.level,
            arguments.seed,
            kind=arguments.kind,
            options=options,
            progress=progress,
        )


def _segments(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The column of --by."""
    if arguments.by is not None and not arguments.by.strip():
        raise UsageError("--by is empty; name a column of the experiment.")
    return () if arguments.by is None else (arguments.by,)


def _output_path(arguments: argparse.Namespace) -> Path | None:
    """Where to write; an impossible place is refused before the work starts."""
    if arguments.output is None:
        return None
    if Path(arguments.output).suffix != ".json":
        raise UsageError("-o takes a file ending in .json.")
    return check_output_file(arguments.output, _inputs(arguments), overwrite=arguments.overwrite)


def _inputs(arguments: argparse.Namespace) -> tuple[Path, ...]:
    return input_files(arguments, ("log", "experiment", "replay"))
