"""`deconfound report`: the page of a saved result, with the outputs to explore and the curve of a plan."""

from __future__ import annotations

import argparse
from pathlib import Path

from deconfound.cli.options import (
    Commands,
    add_column_map_option,
    add_rename_option,
    input_files,
    parse_column_map,
    parse_renamed_models,
    report_written,
)
from deconfound.cli.output_path import add_overwrite_option, check_output_file, require_path, writing
from deconfound.errors import UsageError
from deconfound.formatting import quote

HTML = ".html"


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser("report", help="write the page of a saved result")
    parser.add_argument("result", metavar="DIR", help="folder written by `deconfound evaluate -o DIR`")
    parser.add_argument(
        "--replay",
        nargs="+",
        metavar="FILE",
        help="the replay of the study: the page then shows contexts and outputs; without it, only their values",
    )
    parser.add_argument("--plan", metavar="FILE", help="adds the curve of a plan: a .json file of `deconfound plan`")
    add_column_map_option(parser)
    add_rename_option(parser)
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the .html file to write")
    add_overwrite_option(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read the result, and write its page."""
    from deconfound.atomic import write_text
    from deconfound.loading import load_replay
    from deconfound.report.page.plan_chart import PlanChart
    from deconfound.report.page.render_page import render_html
    from deconfound.report.persistence import load

    if not arguments.result.strip():
        raise UsageError("DIR is empty; name the folder written by `deconfound evaluate -o DIR`.")
    path = _output_path(arguments)
    plan = None if arguments.plan is None else PlanChart.read(Path(arguments.plan))
    result = load(Path(arguments.result))
    replay = None
    if arguments.replay is not None:
        replay = load_replay(
            arguments.replay,
            columns=parse_column_map(arguments.map),
            rename_models=parse_renamed_models(arguments.rename_model),
            models=result.models,
            study=result.reading,
        )
    page = render_html(result, replay, plan)
    with writing(path, _inputs(arguments), overwrite=arguments.overwrite):
        write_text(path, page)
    report_written(path)
    return 0


def _output_path(arguments: argparse.Namespace) -> Path:
    """Where to write; an impossible place is refused before the work starts."""
    if require_path(arguments.output).suffix != HTML:
        raise UsageError(f"-o takes an .html file, not {quote(Path(arguments.output).name)}.")
    return check_output_file(arguments.output, _inputs(arguments), overwrite=arguments.overwrite)


def _inputs(arguments: argparse.Namespace) -> tuple[Path, ...]:
    from deconfound.report.persistence import result_path

    folder = Path(arguments.result)
    saved = result_path(folder).files() if folder.is_dir() else ()
    return (*input_files(arguments, ("replay", "plan")), *saved)
