"""`deconfound plan`: estimate the experiment size for a target precision."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.atomic import write_bytes, write_text
from deconfound.cli.options import (
    EXIT_CODES,
    TABLE_HELP,
    Commands,
    add_assignment_option,
    add_output_options,
    add_reading_options,
    input_files,
    load_study,
    parse_models,
    parse_outcome_range,
    parse_outcome_values,
    parse_renamed_models,
    report_written,
    study_columns,
)
from deconfound.cli.output_path import add_overwrite_option, check_output_file, require_path, writing
from deconfound.cli.plan_numbers import PlanNumbers, plan_numbers, plan_scale
from deconfound.cli.progress_line import showing_progress
from deconfound.cli.terminal import write_result
from deconfound.errors import EvidenceError, UsageError
from deconfound.formatting import quote

if TYPE_CHECKING:
    from deconfound.data import Study
    from deconfound.planning import Allocation, AssumedInputs, LogAndReplay, Plan, PlanRow, RequiredRows
    from deconfound.report.plan_figure import ImageFormat
    from deconfound.report.scale import Scale

IMAGES: dict[str, ImageFormat] = {".svg": "svg", ".png": "png"}
JSON = ".json"
ASSUMPTIONS = ("outcome_sd", "reward_r2", "model_sd")
MAX_DIGITS = 18  # of --models; Python converts no more than some thousands
MODEL_SD = (
    0.1  # of the scale, as ``plan.inputs.DEFAULT_BETWEEN_MODEL_SD``, which is too heavy to import for a help text
)


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser(
        "plan",
        help="estimate the experiment size for a target precision",
        description="Plans from a log and a replay, more precisely with a pilot experiment, or from assumed numbers: "
        "--models 8 --outcome-sd 0.4. Without a goal it shows what 5 to 1000 rows per model will give.",
        epilog=EXIT_CODES,
    )
    _add_input_options(parser)
    _add_goal_options(parser)
    parser.add_argument(
        "--extra-contexts",
        type=int,
        default=0,
        metavar="N",
        help="replayed contexts beyond the experiment's (default 0)",
    )
    parser.add_argument("--level", type=float, default=0.95, help="confidence level of the intervals (default 0.95)")
    parser.add_argument("--seed", type=int, default=0, help="of folds and samples (default 0)")
    add_reading_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write a figure (.svg, .png) or every number (.json)")
    add_overwrite_option(parser)
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the required rows and a table of projections."""
    from deconfound.report.json_text import dump_json
    from deconfound.report.plan_document import plan_document
    from deconfound.report.plan_text import plan_text

    path, scale = _output_path(arguments), plan_scale(arguments)
    numbers = plan_numbers(arguments, scale)
    result = _plan(arguments, numbers)
    answers = _answers(result, numbers, arguments.allocation, scale)
    # The table must describe the experiment that the answer recommends.
    propensity = answers[0].propensity if answers else result.propensity(arguments.allocation)
    rows = result.table(propensity=propensity)
    if path is not None:
        with writing(path, _input_files(arguments), overwrite=arguments.overwrite):
            _write(path, result, answers, rows, scale)
    if arguments.json:
        write_result(dump_json(plan_document(result, answers, rows, scale)))
    else:
        write_result(plan_text(result, answers, rows, scale, show_bars=path is None))
    if path is not None:
        report_written(path)
    return 0


def _plan(arguments: argparse.Namespace, numbers: PlanNumbers) -> Plan:
    from deconfound.planning import plan

    source = _source(arguments, numbers)
    with showing_progress(arguments) as progress:
        return plan(
            source,
            level=arguments.level,
            extra_contexts=arguments.extra_contexts,
            tolerance=numbers.tolerance,
            seed=arguments.seed,
            progress=progress,
        )


def _add_input_options(parser: argparse.ArgumentParser) -> None:
    for name, help_text in {**TABLE_HELP, "experiment": "a pilot: a few randomized rows"}.items():
        parser.add_argument(f"--{name}", nargs="+", metavar="FILE", help=help_text)
    parser.add_argument("--models", metavar="N|A,B,...", help="number of models, or with files their names")
    add_assignment_option(parser)
    parser.add_argument(
        "--outcome-sd", type=float, metavar="S", help="standard deviation of outcomes within a model, on their scale"
    )
    parser.add_argument("--reward-r2", type=float, metavar="R2", help="share of their variance that a reward explains")
    parser.add_argument(
        "--model-sd",
        type=float,
        metavar="S",
        help=f"standard deviation of the values between models (default {MODEL_SD} of the scale's width)",
    )


def _add_goal_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--width", type=float, metavar="W", help="target: full width of a model's interval, on the outcomes' scale"
    )
    parser.add_argument("--best", type=float, metavar="P", help="target: probability to select the best model")
    parser.add_argument(
        "--regret", type=float, metavar="R", help="target: expected regret; with --best, the regret that is tolerated"
    )
    parser.add_argument(
        "--allocation",
        choices=("equal", "optimal"),
        default="equal",
        help="equal rows per model, or the allocation needing fewest rows (default equal)",
    )


def _answers(plan: Plan, numbers: PlanNumbers, allocation: Allocation, scale: Scale) -> list[RequiredRows]:
    """The required rows of each goal; with --best, --regret is a tolerance and no goal."""
    from deconfound.planning import UnreachableGoalError
    from deconfound.report.plan_text import unreachable_text

    answers = []
    try:
        if numbers.width is not None:
            answers.append(plan.rows_for(width=numbers.width, allocation=allocation))
        if numbers.best is not None:
            answers.append(plan.rows_for(best=numbers.best, allocation=allocation))
        elif numbers.regret is not None:
            answers.append(plan.rows_for(regret=numbers.regret, allocation=allocation))
    except UnreachableGoalError as error:
        raise EvidenceError(unreachable_text(error, scale)) from None
    return answers


def _source(arguments: argparse.Namespace, numbers: PlanNumbers) -> Study | LogAndReplay | AssumedInputs:
    """The files, or the assumed numbers; never both."""
    files = [name for name in ("log", "replay", "experiment") if getattr(arguments, name) is not None]
    if arguments.assignment is not None and arguments.experiment is None:
        raise UsageError("--assignment is the manifest of a pilot; give the pilot with --experiment.")
    if not files:
        return _assumed_inputs(arguments, numbers)
    assumed = [name for name in ASSUMPTIONS if getattr(arguments, name) is not None]
    if assumed:
        raise UsageError(
            f"--{assumed[0].replace('_', '-')} is for plans without data; leave out either it or the files."
        )
    missing = [name for name in ("log", "replay") if name not in files]
    if missing:
        raise UsageError(f"--{missing[0]} is missing: a plan from data needs --log and --replay.")
    if arguments.experiment is not None:
        return load_study(arguments)
    from deconfound.planning import load_log_and_replay

    return load_log_and_replay(
        log=arguments.log,
        replay=arguments.replay,
        columns=study_columns(arguments),
        outcome_range=parse_outcome_range(arguments.outcome_range),
        outcome_values=parse_outcome_values(arguments.outcome_values),
        models=parse_models(arguments.models),
        where=arguments.where,
        ignore=arguments.ignore,
        rename_models=parse_renamed_models(arguments.rename_model),
        normalize_contexts=arguments.normalize_contexts,
    )


def _assumed_inputs(arguments: argparse.Namespace, numbers: PlanNumbers) -> AssumedInputs:
    from deconfound.planning import AssumedInputs

    if arguments.models is None or numbers.outcome_sd is None:
        raise UsageError("Give --log and --replay (and a pilot as --experiment), or --models N and --outcome-sd S.")
    if not arguments.models.strip().isdecimal():
        raise UsageError(f"Without files --models is the number of models, not {quote(arguments.models)}.")
    if len(arguments.models.strip()) > MAX_DIGITS:
        raise UsageError("--models must be at most 1,000, not a number of more than 18 digits.")
    model_sd = MODEL_SD if numbers.model_sd is None else numbers.model_sd
    return AssumedInputs(int(arguments.models), numbers.outcome_sd, arguments.reward_r2 or 0.0, model_sd)


def _output_path(arguments: argparse.Namespace) -> Path | None:
    """Where to write; an impossible place is refused before the work starts."""
    if arguments.output is None:
        return None
    path = require_path(arguments.output)
    if path.suffix not in (*IMAGES, JSON):
        raise UsageError(f"-o takes an .svg, .png or .json file, not {quote(path.name)}.")
    if path.suffix in IMAGES:
        from deconfound.report.figures import require_matplotlib

        require_matplotlib()
    return check_output_file(arguments.output, _input_files(arguments), overwrite=arguments.overwrite)


def _input_files(arguments: argparse.Namespace) -> tuple[Path, ...]:
    return input_files(arguments, tuple(TABLE_HELP))


def _write(path: Path, plan: Plan, answers: Sequence[RequiredRows], rows: Sequence[PlanRow], scale: Scale) -> None:
    from deconfound.report.json_text import dump_json
    from deconfound.report.plan_document import plan_document
    from deconfound.report.plan_figure import plan_figure

    if path.suffix == JSON:
        write_text(path, dump_json(plan_document(plan, answers, rows, scale)))
    else:
        write_bytes(path, plan_figure(plan.level, rows, IMAGES[path.suffix], scale))
