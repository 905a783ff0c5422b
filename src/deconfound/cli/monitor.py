"""`deconfound monitor`: look at a running experiment, as often as one likes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.atomic import check_writable
from deconfound.cli.options import (
    ALL_FAMILIES,
    EXIT_CODES,
    Commands,
    add_family_option,
    add_output_options,
    add_table_options,
    input_files,
    load_study,
    parse_models,
    report_written,
)
from deconfound.cli.output_path import add_overwrite_option, check_output_file, require_path, writing
from deconfound.cli.progress_line import showing_progress
from deconfound.cli.terminal import write_result
from deconfound.errors import AssumptionError, UsageError
from deconfound.formatting import quote

if TYPE_CHECKING:
    from deconfound.data import Study
    from deconfound.monitoring import MonitorResult

JSON = ".json"
TABLES = ("log", "experiment", "replay")


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser(
        "monitor",
        help="look at a running experiment: stop or go on, and the next batch's propensities",
        description="Evaluates the rows so far with intervals that hold at every look, so that an experiment may be "
        "looked at every day and stopped when one model is best. The first look fixes the settings in a state file.",
        epilog=EXIT_CODES,
    )
    add_table_options(parser)
    _add_rule_options(parser)
    add_family_option(parser)
    parser.add_argument("--seed", type=int, default=0, help="of folds, bootstrap and permutations (default 0)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write every number (.json); `assign --from-plan` reads the next batch"
    )
    add_overwrite_option(parser)
    add_output_options(parser)
    parser.set_defaults(run=run)


def _add_rule_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--state", required=True, metavar="FILE", help="settings and looks so far (.json); created by the first look"
    )
    parser.add_argument(
        "--horizon",
        type=int,
        metavar="N",
        help="randomized rows at which the experiment ends in any case; needed at the first look",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="D",
        help="stop when a model is at most this much worse than the best, on the outcomes' scale (default 0)",
    )
    parser.add_argument("--level", type=float, help="confidence level over all looks together (default 0.95)")
    parser.add_argument(
        "--drop", metavar="A,B,...", help="models that get no rows in the next batch; only those that are not best"
    )
    parser.add_argument(
        "--change-settings",
        action="store_true",
        help="accept settings other than those of the first look; every later look says so",
    )


def run(arguments: argparse.Namespace) -> int:
    """Look, write the state and the file that was requested, and print."""
    from deconfound.monitoring import monitor

    state, path = _state_path(arguments), _output_path(arguments)
    if arguments.family == ALL_FAMILIES:
        raise UsageError("--family all has several answers; the rule needs one. Choose one --family.")
    study = load_study(arguments)
    with showing_progress(arguments) as progress:
        look = monitor(
            study,
            state,
            horizon=arguments.horizon,
            tolerance=_tolerance(arguments.tolerance, study),
            level=arguments.level,
            drop=parse_models(arguments.drop) or (),
            change_settings=arguments.change_settings,
            family=arguments.family,
            seed=arguments.seed,
            progress=progress,
        )
    _print(look, path, arguments)
    failed = any(finding.verdict == "fail" for finding in look.findings)
    return AssumptionError.exit_code if failed else 0


def _print(look: MonitorResult, path: Path | None, arguments: argparse.Namespace) -> None:
    from deconfound.report.monitor_document import monitor_json

    if path is not None:
        with writing(path, _inputs(arguments), overwrite=arguments.overwrite):
            look.to_json(path)
    write_result(monitor_json(look) if arguments.json else look.summary())
    if path is not None:
        report_written(path)


def _tolerance(given: float | None, study: Study) -> float | None:
    """On a scale from 0 to 1."""
    low, high = study.outcome_range
    return None if given is None else given / abs(high - low)


def _state_path(arguments: argparse.Namespace) -> Path:
    """Where the state is; a place that cannot be written is refused before the work starts."""
    path = Path(arguments.state)
    if not arguments.state.strip() or path.suffix != JSON:
        raise UsageError(f"--state takes a .json file, not {quote(arguments.state)}.")
    if path.exists() and not path.is_file():
        raise UsageError(f"--state {path} is not an ordinary file; choose another name.")
    if not path.parent.is_dir():
        raise UsageError(f"--state {path}: there is no folder {path.parent}; create it, or choose another place.")
    if any(path.exists() and path.samefile(one) for one in input_files(arguments, TABLES) if one.exists()):
        raise UsageError(f"--state {path} is one of the tables; choose another name.")
    try:
        check_writable(path.parent)
    except OSError as error:
        raise UsageError(f"--state {path} cannot be written ({error.strerror}); choose another place.") from error
    return path


def _output_path(arguments: argparse.Namespace) -> Path | None:
    if arguments.output is None:
        return None
    path = require_path(arguments.output)
    if path.suffix != JSON:
        raise UsageError(f"-o takes a .json file, not {quote(path.name)}.")
    return check_output_file(arguments.output, _inputs(arguments), overwrite=arguments.overwrite)


def _inputs(arguments: argparse.Namespace) -> tuple[Path, ...]:
    return (*input_files(arguments, TABLES), Path(arguments.state))
