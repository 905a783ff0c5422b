"""`deconfound evaluate`: the value of every model from three tables."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.cli.engine_arguments import add_engine_options, parse_engine
from deconfound.cli.evaluation_output import OutcomeResult, print_results
from deconfound.cli.options import (
    ALL_FAMILIES,
    EXIT_CODES,
    Commands,
    add_family_option,
    add_output_options,
    add_table_options,
    add_target_option,
    add_verbose_option,
    input_files,
    load_study,
    parse_column_map,
    parse_families,
    report_written,
)
from deconfound.cli.output_path import (
    add_overwrite_option,
    check_output_file,
    check_output_folder,
    require_no_inputs,
    require_path,
    writing,
)
from deconfound.cli.progress_line import ProgressLine, showing_progress
from deconfound.cli.segment_options import add_segment_options, parse_segments
from deconfound.cli.several_outcomes import load_outcomes
from deconfound.cli.terminal import write_message
from deconfound.engines import require_cluster
from deconfound.errors import AssumptionError, UsageError
from deconfound.escaping import readable_path
from deconfound.formatting import quote, shell_argument

if TYPE_CHECKING:
    from deconfound.data import Study
    from deconfound.result import Result

FOLDER, JSON, HTML = "", ".json", ".html"
REFITS = 20  # as ``crossfit.BOOTSTRAP_REFITS``, which is too heavy to import for a help text


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser(
        "evaluate",
        help="estimate the value of every model from three tables",
        description="Tables are Parquet, CSV or JSONL files (the latter two also .gz and .zst). Options may stand in a "
        "file: deconfound evaluate study.toml",
        epilog=EXIT_CODES,
    )
    add_table_options(parser)
    add_family_option(parser)
    _add_feature_options(parser)
    parser.add_argument(
        "--method",
        choices=("doubly-robust", "efficient", "paper", "direct"),
        default="doubly-robust",
        help="doubly-robust: correct the reward by the experiment's residuals (default); efficient: the same, and "
        "outcomes of identical outputs count for every model that could have written them; paper: the paper's formula, "
        "unchanged; direct: the reward's own mean",
    )
    add_target_option(parser)
    parser.add_argument(
        "--extra-contexts",
        action="store_true",
        help="average over replayed contexts outside the experiment too: right only if drawn from the same population",
    )
    add_cost_options(parser)
    add_segment_options(parser)
    add_engine_options(
        parser, workers="threads or processes that sum a log that is too long for memory (processes: one per core)"
    )
    parser.add_argument(
        "--refits",
        type=int,
        default=REFITS,
        metavar="N",
        help=f"bootstrap refits behind recommendations and attribution (default {REFITS})",
    )
    parser.add_argument("--level", type=float, default=0.95, help="confidence level of the intervals (default 0.95)")
    parser.add_argument("--seed", type=int, default=0, help="of folds, bootstrap and permutations (default 0)")
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        default=[],
        metavar="PATH",
        help="save to a folder for `recommend`, or write FILE.json or FILE.html; repeatable; a result saved there "
        "earlier is replaced, any other file only with --overwrite",
    )
    add_overwrite_option(parser)
    add_verbose_option(parser)
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Save the result on request, then print it: a failure of printing must not prevent the saving."""
    paths = _output_paths(arguments)
    require_cluster(parse_engine(arguments))
    results = _evaluate_outcomes(arguments)
    try:
        for path in paths:
            _save(results[0].result, path, arguments)
    except UsageError:  # the computed result is worth more than the place that could not take it
        print_results(results, as_json=arguments.json, verbose=arguments.verbose)
        raise
    print_results(results, as_json=arguments.json, verbose=arguments.verbose)
    for path in sorted(paths, key=lambda path: path.suffix == FOLDER):  # the next command stands last
        _report_saved(path)
    failed = any(finding.verdict == "fail" for one in results for finding in one.result.findings)
    return AssumptionError.exit_code if failed else 0


def _evaluate_outcomes(arguments: argparse.Namespace) -> list[OutcomeResult]:
    """Every result of every outcome."""
    names = arguments.outcome
    if arguments.segments and arguments.family == ALL_FAMILIES and not arguments.json:
        raise UsageError("--segments is shown for one family; choose one --family, or print all of them with --json.")
    if len(set(names)) < len(names):
        raise UsageError("--outcome names a column more than once; name each once.")
    segments = () if arguments.segments_from is not None else parse_segments(arguments.segments) or ()
    if len(names) < 2:
        studies = {names[0] if names else "": load_study(arguments, segments=segments)}
    else:
        studies = load_outcomes(arguments, names, segments=segments)
    with showing_progress(arguments) as progress:
        return [
            OutcomeResult(name, result)
            for name, study in studies.items()
            for result in _evaluate(study, arguments, progress)
        ]


def parse_costs(pairs: Sequence[str], value_of_outcome: float | None) -> dict[str, float] | None:
    """Cost per output of each model in units of the outcome, from --cost and --value-of-outcome."""
    if value_of_outcome is not None and not pairs:
        raise UsageError("--value-of-outcome converts the amounts of --cost; give these too.")
    unit = 1.0 if value_of_outcome is None else value_of_outcome
    if not (math.isfinite(unit) and unit > 0):
        raise UsageError(f"--value-of-outcome must be a finite number above zero, not {unit:g}.")
    costs: dict[str, float] = {}
    for pair in pairs:
        name, amount = _parse_cost(pair)
        if name in costs:
            raise UsageError(f"--cost names {quote(name)} more than once; give one amount.")
        costs[name] = amount / unit
    return costs or None


def _parse_cost(pair: str) -> tuple[str, float]:
    name, _, amount = pair.rpartition("=")
    try:
        if name and "_" not in amount:  # Python would read 1_0 as 10
            return name, float(amount)
    except ValueError:
        pass
    raise UsageError(f"--cost takes MODEL=AMOUNT, for instance --cost cedar=0.02, not {quote(pair)}.")


def _add_feature_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--features",
        choices=("text", "columns", "both"),
        help="hashed text, the feature_* columns, or both (default: text if the tables have any)",
    )
    parser.add_argument("--no-surface", action="store_true", help="leave out the surface statistics of the outputs")
    parser.add_argument(
        "--surface-share",
        type=float,
        metavar="X",
        help="share of the surface statistics in the features, 0 to 1 (default: chosen by cross-validation)",
    )


def add_cost_options(parser: argparse.ArgumentParser) -> None:
    """--cost and --value-of-outcome."""
    parser.add_argument(
        "--cost",
        action="append",
        default=[],
        metavar="MODEL=AMOUNT",
        help="cost of one output, for every model (0 if free); values and recommendations are then net of it",
    )
    parser.add_argument(
        "--value-of-outcome",
        type=float,
        metavar="AMOUNT",
        help="what one unit of your outcome is worth, in the currency of --cost (default 1): one star, for instance",
    )


def _evaluate(study: Study, arguments: argparse.Namespace, progress: ProgressLine) -> tuple[Result, ...]:
    from deconfound.evaluation import prepare
    from deconfound.evaluation_options import EvaluationOptions
    from deconfound.evidence import require_feasible_size
    from deconfound.features import FeatureSpec
    from deconfound.reward import family_by_name

    options = EvaluationOptions(
        features=FeatureSpec(source=arguments.features, surface=not arguments.no_surface),
        surface_share=arguments.surface_share,
        method=arguments.method.replace("-", " "),
        target=arguments.target,
        target_columns=parse_column_map(arguments.map),
        cost=parse_costs(arguments.cost, arguments.value_of_outcome),
        refits=arguments.refits,
        extra_contexts=arguments.extra_contexts,
        segments=arguments.segments_from,
        segment_columns=parse_segments(arguments.segments) if arguments.segments_from is not None else None,
        engine=parse_engine(arguments),
    )
    families = parse_families(arguments.family)
    for family in families:
        require_feasible_size(study, family_by_name(family)())
    prepared = prepare(study, arguments.level, arguments.seed, options=options, progress=progress)
    if prepared.arrays.long_log is None and not options.engine.uses_this_thread:
        progress.clear()
        write_message(f"The log fits into memory: --engine {options.engine.engine} was not needed.\n")
    results = (prepared.evaluate(family) for family in families)
    return tuple(replace(result, command=arguments.typed_command) for result in results)


def _output_paths(arguments: argparse.Namespace) -> list[Path]:
    """Where to save the result; an impossible place is refused before the work starts."""
    if arguments.output and (arguments.family == ALL_FAMILIES or len(arguments.outcome) > 1):
        raise UsageError("-o saves one result; choose one --family and --outcome, or print all of them with --json.")
    paths = [_output_path(output, arguments) for output in arguments.output]
    twice = next((path for at, path in enumerate(paths) if path.absolute() in map(Path.absolute, paths[:at])), None)
    if twice is not None:
        raise UsageError(f"-o {readable_path(twice)} is given more than once; give it once.")
    return paths


def _output_path(output: str, arguments: argparse.Namespace) -> Path:
    path = require_path(output)
    if path.suffix not in (FOLDER, JSON, HTML):
        raise UsageError(f"-o takes a folder, a .json file or an .html file, not {quote(path.name)}.")
    if path.suffix != FOLDER:
        return check_output_file(output, _inputs(arguments), overwrite=arguments.overwrite)
    _check_result_folder(check_output_folder(output), arguments)
    return path


def _inputs(arguments: argparse.Namespace) -> tuple[Path, ...]:
    return input_files(arguments, ("log", "experiment", "replay", "target", "segments_from"))


def _check_result_folder(folder: Path, arguments: argparse.Namespace) -> None:
    from deconfound.bundle import require_replaceable
    from deconfound.report.persistence import result_path

    require_no_inputs(_result_files(folder), _inputs(arguments))
    require_replaceable(result_path(folder), overwrite=arguments.overwrite)


def _result_files(folder: Path) -> list[Path]:
    """The files in a folder that saving a result there may replace or delete."""
    from deconfound.report.persistence import result_path

    return result_path(folder).files() if folder.is_dir() else []


def _save(result: Result, path: Path, arguments: argparse.Namespace) -> None:
    files = _result_files(path) if path.suffix == FOLDER else ()
    # A saved result has its own check of what it may replace.
    with writing(path, _inputs(arguments), files=files, overwrite=arguments.overwrite or path.suffix == FOLDER):
        if path.suffix == JSON:
            result.to_json(path)
        elif path.suffix == HTML:
            result.to_html(path)
        else:
            result.save(path, overwrite=arguments.overwrite)


def _report_saved(path: Path) -> None:
    if path.suffix == FOLDER:
        place = shell_argument(readable_path(path))
        write_message(f"Saved to {place}\nNext: deconfound recommend {place} --replay FILE\n")
    else:
        report_written(path)
