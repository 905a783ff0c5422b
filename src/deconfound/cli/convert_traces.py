"""`deconfound convert`: traces, feedback and exposures become the three tables of a study."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from deconfound.cli.options import EXIT_CODES, Commands, add_quiet_option, parse_numbers, parse_outcome_values
from deconfound.cli.output_path import add_overwrite_option, check_files, check_output_folder
from deconfound.cli.progress_line import TRACE_DELAY, ProgressLine
from deconfound.cli.table_set import table_paths, write_tables
from deconfound.cli.terminal import write_message, write_result
from deconfound.errors import DataError, Problem, UsageError
from deconfound.escaping import readable_path
from deconfound.formatting import join_names, quote

PERCENTAGE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*%")
FRACTION = re.compile(r"(\d{1,9})\s*/\s*(\d{1,9})")

if TYPE_CHECKING:
    from deconfound.traces.feedback_table import Feedback
    from deconfound.traces.study_tables import ConvertOptions, StudyTables
    from deconfound.traces.trace_import import Traces


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser(
        "convert",
        help="turn traces, feedback and exposures into the three tables",
        description="Writes log.parquet, experiment.parquet and replay.parquet, as far as the traces contain them.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders or patterns")
    parser.add_argument("--outcomes", metavar="FILE", help="feedback: an id of call, response, trace or conversation")
    parser.add_argument("--outcomes-key", metavar="COLUMN", help="the column of --outcomes with that id")
    parser.add_argument(
        "--outcome",
        action="append",
        default=[],
        metavar="NAME",
        help="the score, or the column of --outcomes, that is the outcome; others become labels; repeatable",
    )
    parser.add_argument(
        "--outcome-values", metavar="WORD=X,...", help="what words mean, such as good=1,bad=0,-1=missing"
    )
    parser.add_argument(
        "--unit",
        choices=("turn", "call", "first"),
        default="turn",
        help="a row is the last call of a turn (default), every call, or the first turn of a conversation",
    )
    _add_experiment_options(parser)
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="where to write the tables")
    add_overwrite_option(parser)
    add_quiet_option(parser)
    parser.set_defaults(run=run)


def _add_experiment_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--experiment-where",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="randomized calls have this attribute, such as tag.exp=true; repeatable",
    )
    parser.add_argument(
        "--propensity", metavar="MODEL=P,...", help="with which probability each model was drawn: 0.25, 25%% or 1/4"
    )
    parser.add_argument(
        "--propensity-from", metavar="FILE", help="the router's configuration: LiteLLM, TensorZero or GrowthBook"
    )
    parser.add_argument(
        "--propensity-attribute", metavar="NAME", help="calls record it themselves, such as in metadata.propensity"
    )
    parser.add_argument("--assignment", metavar="FILE", help="manifest of `deconfound assign`: who was drawn, and how")
    parser.add_argument("--exposures", metavar="FILE", help="who was assigned which variant, and when")
    parser.add_argument("--exposure-name", metavar="NAME", help="the experiment, if --exposures has several")
    parser.add_argument(
        "--variant", action="append", default=[], metavar="VARIANT=MODEL", help="the model of a variant; repeatable"
    )


def run(arguments: argparse.Namespace) -> int:
    """Read, join, write the tables, and account for every call."""
    from deconfound.report.trace_text import conversion_text, next_evaluation

    folder = check_output_folder(arguments.output)
    options = _options(arguments)
    overwrite = arguments.overwrite
    inputs = [*trace_inputs(arguments.paths), *_table_inputs(arguments)]
    check_files(table_paths(folder), inputs, overwrite=overwrite)
    progress = ProgressLine(arguments.quiet, delay=TRACE_DELAY)
    try:
        tables, traces, feedback = _make_tables(arguments, options, progress)
        progress("writing the tables", 0.0)
        inputs += [*traces.paths, *_table_inputs(arguments)]  # some may have appeared since
        removed = write_tables(tables, folder, inputs, overwrite=overwrite)
    finally:
        progress.clear()
    write_result(conversion_text(tables, traces.remarks, feedback))
    if removed:
        write_message(f"Removed {join_names(removed)}, which an earlier conversion had written there.\n")
    write_message(f"{next_evaluation(tables, readable_path(folder))}\n")
    return 0


def trace_inputs(paths: Sequence[str]) -> list[Path]:
    """Every file that the paths, folders and patterns name."""
    from deconfound.traces.reader import Remarks
    from deconfound.traces.trace_files import files_of

    return [file.path for file in files_of(paths, Remarks())]


def _table_inputs(arguments: argparse.Namespace) -> list[Path]:
    """Every file that the options name."""
    from deconfound.loading.table_files import find_files

    tables = [name for name in (arguments.outcomes, arguments.exposures) if name is not None]
    others = [Path(name) for name in (arguments.propensity_from, arguments.assignment) if name]
    return [*(file for name in tables for file in find_files(name)), *others]


def _make_tables(
    arguments: argparse.Namespace, options: ConvertOptions, progress: ProgressLine
) -> tuple[StudyTables, Traces, Feedback | None]:
    from deconfound.traces.study_tables import make_tables
    from deconfound.traces.trace_import import read_traces

    with TemporaryFile() as texts:
        traces = read_traces(arguments.paths, texts, progress.reading)
        progress("joining scores and assignments", 0.0)
        traces, feedback = _with_feedback(traces, arguments)
        tables = make_tables(traces.table, options)
    if tables.log is None and tables.experiment is None and tables.replay is None:
        raise DataError([Problem(", ".join(arguments.paths), "no call can be a row", "See `deconfound doctor`.")])
    return tables, traces, feedback


def _with_feedback(traces: Traces, arguments: argparse.Namespace) -> tuple[Traces, Feedback | None]:
    """The traces with the scores of --outcomes added, and these."""
    from dataclasses import replace

    from deconfound.traces.feedback_table import read_feedback

    if arguments.outcomes is None:
        return traces, None
    feedback = read_feedback(arguments.outcomes, traces.table.calls, arguments.outcomes_key, arguments.outcome)
    with_scores = replace(traces.table, scores=(*traces.table.scores, *feedback.scores))
    return replace(traces, table=with_scores), feedback


def _options(arguments: argparse.Namespace) -> ConvertOptions:
    from deconfound.assignment import AssignmentManifest
    from deconfound.traces.call_filter import parse_condition
    from deconfound.traces.experiment_rows import ExperimentRule
    from deconfound.traces.exposures import read_exposures
    from deconfound.traces.router_config import read_router_config
    from deconfound.traces.study_tables import ConvertOptions

    ways = ("propensity", "propensity_from", "propensity_attribute", "assignment")
    given = [f"--{way.replace('_', '-')}" for way in ways if getattr(arguments, way)]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} say the same thing; use one of them.")
    router = read_router_config(Path(arguments.propensity_from)) if arguments.propensity_from else None
    manifest = AssignmentManifest.load(arguments.assignment) if arguments.assignment else None
    exposures = None
    if arguments.exposures is not None:
        exposures = read_exposures(arguments.exposures, arguments.exposure_name)
    rule = ExperimentRule(
        where=tuple(map(parse_condition, arguments.experiment_where)),
        propensity=parse_propensity(arguments.propensity),
        router=router,
        assignment=manifest,
        attribute=arguments.propensity_attribute or "",
        exposures=exposures,
        variants=dict(_pair(text, "--variant") for text in arguments.variant),
    )
    words = parse_outcome_values(arguments.outcome_values)
    return ConvertOptions(arguments.unit, tuple(arguments.outcome), words, rule)


def parse_propensity(text: str | None) -> dict[str, float]:
    """Probabilities by model, which must sum to one."""
    shares = _shares(text)
    if shares and not (all(0 < share <= 1 for share in shares.values()) and abs(sum(shares.values()) - 1) < 0.01):
        raise UsageError(
            "--propensity: the probabilities must be above 0 and sum to 1, as in --propensity a=0.8,b=0.2."
        )
    return shares


def _shares(text: str | None) -> dict[str, float]:
    """Names and probabilities, which may be written as 0.25, 25% or 1/4."""
    parts = [part for part in (text or "").split(",") if part.strip()]
    decimals = [f"{part.rpartition('=')[0]}={_decimal(part.rpartition('=')[2])}" for part in parts]
    return parse_numbers(",".join(decimals), "--propensity")


def _decimal(text: str) -> str:
    """A percentage or a fraction as a decimal number; any other text as it is."""
    percentage, fraction = PERCENTAGE.fullmatch(text.strip()), FRACTION.fullmatch(text.strip())
    if percentage is not None:
        return repr(float(percentage[1]) / 100)
    if fraction is not None and int(fraction[2]):
        return repr(int(fraction[1]) / int(fraction[2]))
    return text


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not (name.strip() and equals and value.strip()):
        raise UsageError(f"{option} takes NAME=VALUE, not {quote(text)}.")
    return name.strip(), value.strip()
