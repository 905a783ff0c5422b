"""`deconfound recommend`: the best model for each new context, from a saved result."""

from __future__ import annotations

import argparse
from pathlib import Path

from deconfound.cli.options import (
    Commands,
    add_column_map_option,
    add_output_options,
    add_rename_option,
    input_files,
    parse_column_map,
    parse_renamed_models,
    report_written,
)
from deconfound.cli.output_path import add_overwrite_option, check_output_file, require_path, writing
from deconfound.cli.terminal import write_message, write_result
from deconfound.errors import UsageError


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser("recommend", help="recommend a model for each new context, from a saved result")
    parser.add_argument("result", metavar="DIR", help="folder written by `deconfound evaluate -o DIR`")
    parser.add_argument(
        "--replay",
        required=True,
        nargs="+",
        metavar="FILE",
        help="outputs of every model on the new contexts; no outcomes; several files or a folder are one table",
    )
    add_column_map_option(parser)
    add_rename_option(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="also write .csv, .jsonl, .json or .parquet")
    add_overwrite_option(parser)
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the recommendations to a file on request, and print them."""
    from deconfound.loading import load_replay
    from deconfound.report.check_text import failure_sentence
    from deconfound.report.persistence import load
    from deconfound.report.recommendations_io import (
        RecommendationTable,
        numbers_meaning,
        recommendation_json,
        recommendation_text,
        write_recommendations,
    )
    from deconfound.report.scale import Scale
    from deconfound.report.wording import NOT_RELIABLE

    if not arguments.result.strip():
        raise UsageError("DIR is empty; name the folder written by `deconfound evaluate -o DIR`.")
    path = _output_path(arguments)
    result = load(Path(arguments.result))
    replay = load_replay(
        arguments.replay,
        columns=parse_column_map(arguments.map),
        rename_models=parse_renamed_models(arguments.rename_model),
        models=result.models,
        study=result.reading,
    )
    table = RecommendationTable.from_replay(
        result.recommend(replay),
        replay,
        result.level,
        Scale.of(result),
        has_cost=result.policy.cost is not None,
        assumes_small_differences=result.policy.assumes_small_differences,
    )
    if path is not None:
        with writing(path, _inputs(arguments), overwrite=arguments.overwrite):
            write_recommendations(table, path)
    text = recommendation_json(table) if arguments.json else recommendation_text(table, written=path is not None)
    write_result(text)
    if failed := failure_sentence(result.findings):
        write_message(f"{failed} {NOT_RELIABLE}; `deconfound report {arguments.result} -o report.html` shows why.\n")
    if path is not None:
        report_written(path)
    if (arguments.json or path is not None) and not (table.scale.is_unit or arguments.quiet):
        write_message(f"Numbers {'in it' if path is not None else 'in the JSON'} are {numbers_meaning(table.scale)}.\n")
    return 0


def _output_path(arguments: argparse.Namespace) -> Path | None:
    """Where to write; an impossible place is refused before the work starts."""
    from deconfound.report.recommendations_io import require_supported_format

    if arguments.output is None:
        return None
    require_supported_format(require_path(arguments.output))
    return check_output_file(arguments.output, _inputs(arguments), overwrite=arguments.overwrite)


def _inputs(arguments: argparse.Namespace) -> tuple[Path, ...]:
    from deconfound.report.persistence import result_path

    folder = Path(arguments.result)
    return (*input_files(arguments, ("replay",)), *(result_path(folder).files() if folder.is_dir() else ()))
