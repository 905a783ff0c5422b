"""`deconfound doctor`: what is in these traces, and which tables of a study can they feed?"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from tempfile import TemporaryFile

from deconfound.cli.options import EXIT_CODES, Commands, add_output_options
from deconfound.cli.progress_line import TRACE_DELAY, ProgressLine
from deconfound.cli.terminal import write_result


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser(
        "doctor",
        help="say what traces contain and what they can be used for",
        description="Recognizes files of gateways, observability and evaluation tools, counts their calls, models, "
        "scores and experiments, and names the command to run next.",
        epilog=EXIT_CODES,
    )
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="files, folders or patterns; also feedback, exposures and a router's config.yaml",
    )
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read everything once and print the inventory."""
    from deconfound.report.json_text import dump_json
    from deconfound.report.trace_text import inventory_text
    from deconfound.traces.inventory import take_inventory
    from deconfound.traces.router_config import read_router_config, split_configs
    from deconfound.traces.trace_import import read_traces

    paths, configs = split_configs(arguments.paths)
    routers = [read_router_config(path) for path in configs]
    progress = ProgressLine(arguments.quiet, delay=TRACE_DELAY)
    try:
        with TemporaryFile() as texts:
            traces = read_traces(paths, texts, progress.reading)
            progress("counting", 0.0)
            inventory = take_inventory(traces, configs=routers)
    finally:
        progress.clear()
    text = inventory_text(inventory, paths)
    write_result(dump_json(asdict(inventory) | {"remarks": inventory.remarks.counts}) if arguments.json else text)
    return 0
