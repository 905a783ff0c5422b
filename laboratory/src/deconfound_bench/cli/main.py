"""The parser of `deconfound bench`, and the two commands that only read finished results."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from deconfound.atomic import write_text
from deconfound.cli.command_parser import CommandParser
from deconfound.cli.options import Commands
from deconfound.cli.output_path import add_overwrite_option, check_output_file, writing
from deconfound.cli.terminal import write_result
from deconfound_bench.cli.benchmarks import add_cached_benchmarks, add_synthetic_benchmark
from deconfound_bench.reproduction import reproduction_page
from deconfound_bench.results import read_scores
from deconfound_bench.score_tables import excess_table, to_markdown, to_text


def main(arguments: Sequence[str]) -> int:
    """Run one command; ``arguments`` is what follows `deconfound bench`. `deconfound` turns errors into exit codes."""
    parsed = build_parser().parse_args(arguments)
    code: int = parsed.run(parsed)
    return code


def build_parser() -> argparse.ArgumentParser:
    """The parser with one subcommand per benchmark."""
    parser: argparse.ArgumentParser = CommandParser(
        prog="deconfound bench", description="Measure the reward families on data with a known truth."
    )
    commands = parser.add_subparsers(title="benchmarks", required=True, metavar="BENCHMARK")
    add_synthetic_benchmark(commands)
    add_cached_benchmarks(commands)
    add_excess(commands)
    add_reproduction(commands)
    return parser


def add_excess(commands: Commands) -> None:
    """Add `excess`."""
    parser = commands.add_parser("excess", help="excess regret of each family over the best of the six")
    parser.add_argument("results", nargs="+", metavar="FILE", help="results.parquet of each benchmark")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.set_defaults(run=run_excess)


def run_excess(arguments: argparse.Namespace) -> int:
    """Print the excess regret of each family on finished benchmarks."""
    table = excess_table([read_scores(Path(path)) for path in arguments.results])
    write_result(to_markdown(table) if arguments.markdown else to_text(table))
    return 0


def add_reproduction(commands: Commands) -> None:
    """Add `reproduction`."""
    parser = commands.add_parser("reproduction", help="compare finished benchmarks with the paper's figures")
    parser.add_argument(
        "results",
        nargs="+",
        metavar="FILE",
        help="results.parquet of each benchmark, and its alignment.parquet",
    )
    parser.add_argument("-o", "--output", metavar="FILE.md", help="file to write (default: stdout)")
    add_overwrite_option(parser)
    parser.set_defaults(run=run_reproduction)


def run_reproduction(arguments: argparse.Namespace) -> int:
    """Write the page that compares finished benchmarks with the paper."""
    output = arguments.output
    path = None if output is None else check_output_file(output, arguments.results, overwrite=arguments.overwrite)
    page = reproduction_page([Path(path) for path in arguments.results])
    if path is None:
        write_result(page)
    else:
        with writing(path, arguments.results, overwrite=arguments.overwrite):
            write_text(path, page)
    return 0
