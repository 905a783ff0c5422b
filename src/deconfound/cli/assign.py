"""`deconfound assign`: draw the models of an experiment, for a file, for a service or for a gateway."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.cli.options import (
    EXIT_CODES,
    Commands,
    add_column_map_option,
    add_output_options,
    parse_column_map,
    parse_models,
    parse_numbers,
    report_written,
)
from deconfound.cli.output_path import add_overwrite_option, check_files, check_output_file, require_path, writing
from deconfound.cli.progress_line import TRACE_DELAY, ProgressLine
from deconfound.cli.terminal import write_message, write_result
from deconfound.errors import UsageError
from deconfound.escaping import readable_path
from deconfound.formatting import quote, shell_argument

if TYPE_CHECKING:
    from deconfound.assignment import AssignmentManifest, AssignmentRule
    from deconfound.assignment.assigned_table import AssignedTable
    from deconfound.assignment.plan_allocation import PlannedAllocation

STOPPED = "The look in {place} says stop: by its rule, the experiment needs no further batch."
MANIFEST_SUFFIX = ".manifest.json"
WAYS = ("models", "propensity", "from_plan")


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser(
        "assign",
        help="draw the models of a randomized experiment",
        description="Draws a model for each context, user or session by a keyed hash, and writes the rows and a "
        "manifest. Without --contexts it writes the manifest for a service, with --to a gateway's configuration.",
        epilog=EXIT_CODES,
    )
    parser.add_argument(
        "--experiment", required=True, metavar="NAME", help="name of the experiment, the key of the draw"
    )
    parser.add_argument("--contexts", nargs="+", metavar="FILE", help="what to draw for: context or context_id per row")
    _add_draw_options(parser)
    _add_gateway_options(parser)
    add_column_map_option(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help=f"rows (.parquet, .csv, .jsonl), configuration, or manifest (.json); beside the first two, "
        f"NAME{MANIFEST_SUFFIX}",
    )
    add_overwrite_option(parser)
    add_output_options(parser)
    parser.set_defaults(run=run)


def _add_draw_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--models", metavar="A,B,...", help="equally likely models")
    parser.add_argument("--propensity", metavar="MODEL=P,...", help="models and their probabilities, which sum to 1")
    parser.add_argument(
        "--from-plan",
        metavar="FILE",
        help="the allocation of a plan (`deconfound plan -o plan.json`), or the next batch of a running experiment "
        "(`deconfound monitor -o look.json`)",
    )
    parser.add_argument("--unit", metavar="COLUMN", help="draw per user or session instead of per context")
    parser.add_argument(
        "--share", type=float, default=1.0, metavar="S", help="share of all units that take part (default 1)"
    )
    parser.add_argument("--start", default="", metavar="TIME", help="when the experiment begins, for the manifest")


def _add_gateway_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--to",
        choices=("litellm", "growthbook", "tensorzero"),
        help="write the experiment for this gateway, which draws",
    )
    parser.add_argument("--group", default="", metavar="NAME", help="what callers ask the gateway for (default: NAME)")
    parser.add_argument(
        "--deployment",
        action="append",
        default=[],
        metavar="MODEL=NAME",
        help="the gateway's name of a model, e.g. cedar=openai/cedar; repeatable",
    )


def run(arguments: argparse.Namespace) -> int:
    """Draw, write the files, and say what to do next."""
    from deconfound.report.assignment_text import assignment_document, assignment_text, next_steps
    from deconfound.report.json_text import dump_json

    _check_combination(arguments)
    rule, planned = _rule(arguments)
    path = require_path(arguments.output)
    manifest_path = _manifest_path(path, arguments)
    files = [path] if manifest_path == path else [path, manifest_path]
    inputs = _inputs(arguments)
    check_output_file(arguments.output, inputs, overwrite=arguments.overwrite)
    check_files(files, inputs, overwrite=arguments.overwrite)
    content, manifest, table = _content(arguments, rule, path)
    _write({path: content, manifest_path: manifest.to_json().encode()}, inputs, overwrite=arguments.overwrite)
    if arguments.json:
        write_result(dump_json(assignment_document(manifest, table)))
    else:
        write_result(assignment_text(manifest, table, planned.rows if planned is not None else 0))
    for file in files:
        report_written(file)
    place = shell_argument(readable_path(manifest_path))
    if planned is not None and planned.stopped:
        write_message(f"{STOPPED.format(place=shell_argument(arguments.from_plan))}\n")
    write_message(f"{next_steps(manifest, place, table)}\n")
    return 0


def _check_combination(arguments: argparse.Namespace) -> None:
    given = [f"--{way.replace('_', '-')}" for way in WAYS if getattr(arguments, way) is not None]
    if len(given) != 1:
        ways = " and ".join(given) + " say the same thing" if given else "No models are given"
        raise UsageError(f"{ways}. Use one of --models A,B,..., --propensity MODEL=P,... and --from-plan FILE.")
    if arguments.contexts is not None and arguments.to is not None:
        raise UsageError("--contexts and --to exclude each other: a gateway draws by itself, call by call.")
    if arguments.to is None and (arguments.group or arguments.deployment):
        raise UsageError("--group and --deployment are for a gateway; name it with --to.")
    if arguments.map and arguments.contexts is None:
        raise UsageError("--map names columns of --contexts; give these too.")


def _rule(arguments: argparse.Namespace) -> tuple[AssignmentRule, PlannedAllocation | None]:
    """The rule, and the plan from which it comes."""
    from deconfound.assignment import AssignmentRule
    from deconfound.assignment.plan_allocation import allocation_from_plan

    planned = None
    models: dict[str, float] | list[str]
    if arguments.from_plan is not None:
        planned = allocation_from_plan(arguments.from_plan)
        models = planned.propensity
    elif arguments.propensity is not None:
        models = parse_numbers(arguments.propensity, "--propensity")
    else:
        models = parse_models(arguments.models) or []
    return AssignmentRule.from_models(arguments.experiment, models, arguments.share), planned


def _content(
    arguments: argparse.Namespace, rule: AssignmentRule, path: Path
) -> tuple[bytes, AssignmentManifest, AssignedTable | None]:
    """What -o gets, the manifest, and the drawn rows if there are any."""
    from deconfound.assignment import AssignmentManifest

    if arguments.to is not None:
        text, manifest = _gateway(arguments, rule, path)
        return text.encode(), manifest, None
    if arguments.contexts is None:
        manifest = AssignmentManifest(rule, arguments.unit or "context_id", start=arguments.start)
        return manifest.to_json().encode(), manifest, None
    return _rows(arguments, rule, path)


def _rows(
    arguments: argparse.Namespace, rule: AssignmentRule, path: Path
) -> tuple[bytes, AssignmentManifest, AssignedTable]:
    from deconfound.assignment import AssignmentManifest
    from deconfound.assignment.assigned_table import assign_table
    from deconfound.assignment.table_writer import table_bytes
    from deconfound.loading.unit_table import load_units

    progress = ProgressLine(arguments.quiet, delay=TRACE_DELAY)
    try:
        progress("reading contexts", 0.0)
        contexts = load_units(arguments.contexts, arguments.unit, columns=parse_column_map(arguments.map))
        manifest = AssignmentManifest(rule, contexts.unit, start=arguments.start)
        table = assign_table(contexts.arrow, manifest, progress)
        progress("writing the rows", 0.0)
        content = table_bytes(table.arrow, path, [contexts.unit])
    finally:
        progress.clear()
    for finding in contexts.findings:
        write_message(f"{finding.message}\n")
    return content, manifest, table


def _gateway(arguments: argparse.Namespace, rule: AssignmentRule, path: Path) -> tuple[str, AssignmentManifest]:
    from deconfound.assignment.gateway_files import GatewayExperiment, gateway_file

    names = parse_deployments(arguments.deployment)
    experiment = GatewayExperiment(arguments.to, rule, arguments.group, arguments.unit or "", arguments.start, names)
    file = gateway_file(experiment, path)
    return file.text, file.manifest


def parse_deployments(pairs: Sequence[str]) -> dict[str, str]:
    """The gateway's name of each model, from --deployment."""
    names: dict[str, str] = {}
    for pair in pairs:
        model, equals, name = pair.partition("=")
        if not (model.strip() and equals and name.strip()):
            raise UsageError(f"--deployment takes MODEL=NAME, for instance cedar=openai/cedar, not {quote(pair)}.")
        if model.strip() in names:
            raise UsageError(f"--deployment names {quote(model.strip())} more than once; give it one name.")
        names[model.strip()] = name.strip()
    return names


def _manifest_path(path: Path, arguments: argparse.Namespace) -> Path:
    """The manifest's place: -o itself, or beside the rows or the configuration."""
    from deconfound.assignment.table_writer import require_table_format

    if arguments.contexts is not None:
        require_table_format(path)
    elif arguments.to is None:
        if path.suffix != ".json":
            raise UsageError(
                f"-o: without --contexts and --to only a manifest is written, a .json file, not {quote(path.name)}."
            )
        return path
    return path.with_suffix(MANIFEST_SUFFIX)


def _inputs(arguments: argparse.Namespace) -> list[Path]:
    from deconfound.loading.table_files import find_files

    plan = [] if arguments.from_plan is None else [Path(arguments.from_plan)]
    return [*plan, *([] if arguments.contexts is None else find_files(arguments.contexts))]


def _write(contents: dict[Path, bytes], inputs: Sequence[Path], *, overwrite: bool) -> None:
    from deconfound.atomic import write_files

    with writing(next(iter(contents)), inputs, files=tuple(contents), overwrite=overwrite):
        write_files(contents)
