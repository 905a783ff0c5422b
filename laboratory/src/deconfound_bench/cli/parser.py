"""What may be typed after `deconfound bench`."""

from __future__ import annotations

import argparse

from deconfound.cli.options import EXIT_CODES, Commands, add_output_options

CACHED = {
    "summarization": "judged summaries of news articles, smooth and sharpened rewards",
    "coding": "patches for real issues, twenty-five definitions of the reward",
    "instructions": "answers of chat models",
}


def build_parser() -> argparse.ArgumentParser:
    """The benchmarks, each a command below `bench`."""
    parser = argparse.ArgumentParser(
        prog="deconfound bench", description="Measure the families where the truth is known."
    )
    benchmarks = parser.add_subparsers(title="benchmarks", required=True, metavar="BENCHMARK")
    _synthetic(benchmarks)
    for name, help_text in CACHED.items():
        _cached(benchmarks, name, help_text)
    _excess(benchmarks)
    _reproduction(benchmarks)
    return parser


def _cached(benchmarks: Commands, name: str, help_text: str) -> None:
    parser = benchmarks.add_parser(name, help=help_text, epilog=EXIT_CODES)
    parser.add_argument(
        "--grid",
        required=True,
        metavar="DIR",
        help="contexts.parquet and outputs.parquet; every cell filled",
    )
    if name == "summarization":
        parser.add_argument("--contexts", default="", metavar="N|all", help="so many of the hardest (default 48)")
    _sweep(parser, f"deconfound-{name}")
    parser.set_defaults(run=_run_cached, benchmark=name)


def _excess(benchmarks: Commands) -> None:
    parser = benchmarks.add_parser("excess", help="what each family loses to the best of the six, over benchmarks")
    parser.add_argument("results", nargs="+", metavar="FILE", help="results.parquet of each benchmark")
    parser.add_argument("--markdown", action="store_true", help="as a Markdown table")
    parser.set_defaults(run=_run_excess)


def _reproduction(benchmarks: Commands) -> None:
    parser = benchmarks.add_parser("reproduction", help="write the paper's figures beside those of finished benchmarks")
    parser.add_argument(
        "results",
        nargs="+",
        metavar="FILE",
        help="results.parquet of each benchmark, and the alignment.parquet beside it",
    )
    parser.add_argument("-o", "--output", metavar="FILE.md", help="where the page goes (default: stdout)")
    parser.set_defaults(run=_run_reproduction)


def _synthetic(benchmarks: Commands) -> None:
    parser = benchmarks.add_parser(
        "synthetic",
        help="the controlled validation: summarization programs, a known law of liking",
        description="Real summarization programs on news-like articles; users, outcomes and choices follow a known "
        "law. Interrupted, the same command goes on where it stopped.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--articles", metavar="FILE", help="real articles instead of the built-in ones")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--quick", action="store_true", help="a small version, under a minute")
    kind.add_argument(
        "--targeted", action="store_true", help="the regime made for doubly robust values instead of the grid"
    )
    _sweep(parser, "deconfound-synthetic")
    parser.set_defaults(run=_run_synthetic)


def _sweep(parser: argparse.ArgumentParser, folder: str) -> None:
    parser.add_argument("--seeds", default="", metavar="N|A-B", help="the first N seeds, or seeds A to B (default 30)")
    parser.add_argument(
        "--cells", default="", metavar="NAME=VALUE,...", help="only these, e.g. confounding=0|0.9,n_log=20000"
    )
    parser.add_argument("--families", default="", metavar="A,B,...", help="only these, or all (default: the paper's)")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one a core)")
    parser.add_argument("-o", "--output", default=folder, metavar="DIR", help=f"where it is kept (default {folder})")
    add_output_options(parser)


def _run_synthetic(arguments: argparse.Namespace) -> int:
    from deconfound_bench.cli.commands import synthetic

    return synthetic(arguments)


def _run_cached(arguments: argparse.Namespace) -> int:
    from deconfound_bench.cli import cached

    commands = {"summarization": cached.summarization, "coding": cached.coding, "instructions": cached.instructions}
    return commands[arguments.benchmark](arguments)


def _run_excess(arguments: argparse.Namespace) -> int:
    from deconfound_bench.cli.commands import show_excess

    return show_excess(arguments)


def _run_reproduction(arguments: argparse.Namespace) -> int:
    from deconfound_bench.cli.commands import write_reproduction

    return write_reproduction(arguments)
