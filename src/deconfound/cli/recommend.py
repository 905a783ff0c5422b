"""`deconfound recommend`: the best model for each new context, from a saved result."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from deconfound.cli.options import Commands, add_column_map_option, add_output_options, parse_column_map


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser("recommend", help="recommend a model for each new context, from a saved result")
    parser.add_argument("result", metavar="DIR", help="folder written by `deconfound evaluate -o DIR`")
    parser.add_argument(
        "--replay", required=True, metavar="FILE", help="outputs of every model on the new contexts; no outcomes"
    )
    add_column_map_option(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="also write .csv, .jsonl, .json or .parquet")
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the recommendations, and write them to a file on request."""
    from deconfound.loading import load_replay
    from deconfound.report.recommendations_io import recommendation_text, write_recommendations
    from deconfound.result import Result

    result = Result.load(arguments.result)
    replay = load_replay(arguments.replay, columns=parse_column_map(arguments.map), models=result.models)
    recommendations = result.recommend(replay)
    if arguments.output is not None:
        write_recommendations(recommendations, Path(arguments.output))
    sys.stdout.write(recommendation_text(recommendations, as_json=arguments.json))
    return 0
