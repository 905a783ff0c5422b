"""`deconfound recommend`: the best model for each new context, from a saved result."""

from __future__ import annotations

import argparse
from pathlib import Path

from deconfound.cli.options import (
    Commands,
    add_column_map_option,
    add_output_options,
    parse_column_map,
    report_written,
)
from deconfound.cli.terminal import write_result


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
    from deconfound.report.persistence import load_column_map
    from deconfound.report.recommendations_io import (
        RecommendationTable,
        recommendation_json,
        recommendation_text,
        require_supported_format,
        write_recommendations,
    )
    from deconfound.report.scale import Scale
    from deconfound.result import Result

    path = None if arguments.output is None else Path(arguments.output)
    if path is not None:
        require_supported_format(path)
    result = Result.load(arguments.result)
    replay = load_replay(
        arguments.replay,
        columns=parse_column_map(arguments.map),
        study_columns=load_column_map(Path(arguments.result)),
        models=result.models,
    )
    table = RecommendationTable.from_replay(
        result.recommend(replay),
        replay,
        result.level,
        Scale.from_range(result.outcome_range),
        has_cost=result.policy.cost is not None,
    )
    write_result(recommendation_json(table) if arguments.json else recommendation_text(table))
    if path is not None:
        write_recommendations(table, path)
        report_written(path)
    return 0
