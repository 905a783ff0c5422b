"""`deconfound demo`: evaluate a built-in study and compare the result with its known truth."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from deconfound.cli.options import (
    Commands,
    add_family_option,
    add_output_options,
    add_verbose_option,
    parse_families,
)
from deconfound.cli.output_path import add_overwrite_option, check_files, check_output_folder, writing
from deconfound.cli.progress_line import ProgressLine
from deconfound.cli.terminal import write_result
from deconfound.errors import UsageError

FILE_SUFFIXES = (".json", ".jsonl", ".html", ".csv", ".parquet", ".gz", ".zst", ".txt", ".md", ".svg", ".png")

if TYPE_CHECKING:
    from deconfound.demo import Demo
    from deconfound.result import Result


def add_command(commands: Commands) -> None:
    """Declare the options."""
    parser = commands.add_parser("demo", help="evaluate a built-in study and compare the result with its known truth")
    parser.add_argument("--seed", type=int, default=0, help="of the study (default 0)")
    parser.add_argument("-o", "--output", metavar="DIR", help="also write the study's three tables as Parquet files")
    add_overwrite_option(parser)
    add_family_option(parser)
    add_verbose_option(parser)
    add_output_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make the study, evaluate it, and print the result beside the truth."""
    from deconfound.demo import make_demo
    from deconfound.evaluation import prepare
    from deconfound.loading import load

    folder = _output_folder(arguments)
    progress = ProgressLine(arguments.quiet)
    try:
        progress("making the demo study", 0.0)
        demo = make_demo(arguments.seed)
        if folder is not None:
            with writing(folder, files=_files(folder), overwrite=arguments.overwrite):
                demo.write(folder)
        study = load(log=demo.log, experiment=demo.experiment, replay=demo.replay)
        prepared = prepare(study, progress=progress)
        results = tuple(prepared.evaluate(family) for family in parse_families(arguments.family))
    finally:
        progress.clear()
    text = _as_json(demo, results) if arguments.json else _as_text(demo, results, verbose=arguments.verbose)
    write_result(text)
    if folder is not None and not arguments.json:
        write_result(f"The three tables are in {folder}. Next:\n{_example_command(folder)}\n")
    return 0


def _output_folder(arguments: argparse.Namespace) -> Path | None:
    """Where to write the tables; an impossible place is refused before the work starts."""
    if arguments.output is None:
        return None
    folder = check_output_folder(arguments.output)
    if folder.suffix in FILE_SUFFIXES and not folder.is_dir():
        raise UsageError(f"-o {folder} is the name of a file, and the demo writes a folder; choose another name.")
    check_files(_files(folder), (), overwrite=arguments.overwrite)
    return folder


def _files(folder: Path) -> list[Path]:
    from deconfound.demo.demo_study import FILES

    return [folder / name for name in FILES]


def _as_text(demo: Demo, results: tuple[Result, ...], *, verbose: bool) -> str:
    from deconfound.demo.compare import TruthComparison, comparison_text

    compared = [comparison_text(TruthComparison.from_result(result, demo.true_values)) for result in results]
    summaries = [result.summary(verbose=verbose) for result in results]
    return "".join(f"{one}\n\n{summary}\n" for one, summary in zip(compared, summaries, strict=True))


def _as_json(demo: Demo, results: tuple[Result, ...]) -> str:
    from deconfound.report.document import document
    from deconfound.report.json_text import dump_json

    return dump_json({"truth": demo.true_values, "results": [document(result) for result in results]})


def _example_command(folder: Path) -> str:
    tables = " ".join(f"--{name} {folder / name}.parquet" for name in ("log", "experiment", "replay"))
    return f"  deconfound evaluate {tables}"
