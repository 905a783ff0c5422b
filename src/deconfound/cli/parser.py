"""What may be typed."""

from __future__ import annotations

import argparse

from deconfound import __version__

EXIT_CODES = """exit codes: 0 fine; 1 bad data; 2 bad usage or environment; 3 the data says no (an assumption check
failed); 4 not enough evidence"""

CACHED = {
    "summarization": "judged summaries of news articles, smooth and sharpened rewards",
    "coding": "patches for real issues, twenty-five definitions of the reward",
    "instructions": "answers of chat models",
}


def build_parser() -> argparse.ArgumentParser:
    """The whole command line; the work behind it is imported only when a command runs."""
    parser = argparse.ArgumentParser(
        prog="deconfound",
        description="Which language model is really better, from a confounded log, a small experiment and a replay.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"deconfound {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _demo(commands)
    _evaluate(commands)
    _check(commands)
    _recommend(commands)
    _plan(commands)
    _bench(commands)
    return parser


def _demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("demo", help="evaluate a built-in study and compare with its known truth")
    parser.add_argument("--seed", type=int, default=0, help="another study of the same kind (default 0)")
    parser.add_argument("-o", "--output", metavar="DIR", help="also write the study's three Parquet files there")
    _family(parser)
    _talk(parser)
    parser.set_defaults(run=_run_demo)


def _evaluate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="value every model from three tables",
        description="Tables are Parquet, CSV or JSONL files (the latter two also .gz and .zst).",
        epilog=EXIT_CODES,
    )
    _tables(parser)
    _family(parser)
    parser.add_argument(
        "--features",
        choices=("text", "columns", "both"),
        help="hashed text, the feature_* columns, or both (default: text where there is any)",
    )
    parser.add_argument("--no-surface", action="store_true", help="leave out the surface statistics of the outputs")
    parser.add_argument(
        "--balance", type=float, metavar="X", help="share of the statistics in the features, 0 to 1 (default: chosen)"
    )
    parser.add_argument("--method", choices=("doubly-robust", "direct"), default="doubly-robust")
    parser.add_argument("--target", metavar="FILE", help="the contexts that values are wanted for, if not those drawn")
    parser.add_argument(
        "--cost",
        action="append",
        default=[],
        metavar="MODEL=AMOUNT",
        help="what one output costs; recommendations are then net of it; may be repeated",
    )
    parser.add_argument(
        "--worth",
        type=float,
        default=1.0,
        metavar="AMOUNT",
        help="what an outcome of 1 instead of 0 is worth (default 1)",
    )
    parser.add_argument("--thorough", action="store_true", help="ten times as many refits behind intervals and weights")
    parser.add_argument("--level", type=float, default=0.95, help="of the intervals (default 0.95)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        help="a folder keeps the result for `recommend`; FILE.json or FILE.html takes it as JSON or as a page",
    )
    _talk(parser)
    parser.set_defaults(run=_run_evaluate)


def _check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "check",
        help="ask whether the tables can carry an answer",
        description="Every assumption behind the values as a finding: pass, warn, fail or cannot tell.",
        epilog=EXIT_CODES,
    )
    _tables(parser)
    parser.add_argument("--target", metavar="FILE", help="the contexts that values are wanted for, if not those drawn")
    parser.add_argument("--level", type=float, default=0.95, help="of the tests (default 0.95: warn at p < 0.05)")
    parser.add_argument("--seed", type=int, default=0)
    _talk(parser)
    parser.set_defaults(run=_run_check)


def _tables(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--log", required=True, metavar="FILE", help="ordinary use: context, model, output, outcome")
    parser.add_argument("--experiment", required=True, metavar="FILE", help="the same, with the model drawn at random")
    parser.add_argument("--replay", required=True, metavar="FILE", help="every model's output on every context")
    _columns(parser)
    parser.add_argument(
        "--outcome-range", nargs=2, type=float, metavar=("LO", "HI"), help="scale outcomes from LO..HI to 0..1"
    )
    parser.add_argument("--models", metavar="A,B,...", help="compare only these models")
    parser.add_argument("--drop-missing", action="store_true", help="leave out rows without an outcome")
    parser.add_argument(
        "--drop-incomplete", action="store_true", help="leave out experiment contexts that lack some model's replay"
    )


def _recommend(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("recommend", help="the best model for new contexts, from a kept result")
    parser.add_argument("result", metavar="DIR", help="what `deconfound evaluate -o DIR` kept")
    parser.add_argument("--replay", required=True, metavar="FILE", help="every model's output on the new contexts")
    _columns(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write .csv, .jsonl, .json or .parquet")
    _talk(parser)
    parser.set_defaults(run=_run_recommend)


def _plan(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "plan",
        help="how many randomized rows a wish takes, before any label is spent",
        description="From a log and a replay, better with a pilot experiment; or from bare numbers: --models 8 "
        "--spread 0.4. Without a wish, what 5 to 1000 rows a model will give.",
        epilog=EXIT_CODES,
    )
    for name, what in (("log", "ordinary use"), ("replay", "every model's outputs"), ("experiment", "a pilot")):
        parser.add_argument(f"--{name}", metavar="FILE", help=what)
    parser.add_argument("--models", metavar="N|A,B,...", help="how many models, or with files which of them")
    parser.add_argument("--spread", type=float, metavar="S", help="standard deviation of outcomes within a model")
    parser.add_argument("--explained", type=float, metavar="E", help="share of it a reward explains (default 0)")
    parser.add_argument("--gap", type=float, metavar="G", help="standard deviation between models (default 0.1)")
    parser.add_argument("--width", type=float, metavar="W", help="wished full width of a model's interval")
    parser.add_argument("--best", type=float, metavar="P", help="wished probability to choose the best model")
    parser.add_argument("--regret", type=float, metavar="R", help="wished regret; with --best, the loss allowed")
    parser.add_argument(
        "--allocation", choices=("equal", "fewest"), default="equal", help="rows alike for all models, or as few as do"
    )
    parser.add_argument(
        "--elsewhere", type=int, default=0, metavar="N", help="replayed contexts beyond the experiment's (default 0)"
    )
    parser.add_argument("--level", type=float, default=0.95, help="of the intervals (default 0.95)")
    parser.add_argument("--seed", type=int, default=0)
    _columns(parser)
    parser.add_argument("--outcome-range", nargs=2, type=float, metavar=("LO", "HI"), help="scale outcomes to 0..1")
    parser.add_argument("--drop-missing", action="store_true", help="leave out rows without an outcome")
    parser.add_argument("--drop-incomplete", action="store_true", help="leave out pilot contexts that lack a replay")
    parser.add_argument("-o", "--output", metavar="FILE", help="the curve as .svg or .png, or the numbers as .json")
    _talk(parser)
    parser.set_defaults(run=_run_plan)


def _bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("bench", help="measure the families where the truth is known")
    benchmarks = parser.add_subparsers(title="benchmarks", required=True, metavar="BENCHMARK")
    _synthetic(benchmarks)
    for name, help_text in CACHED.items():
        _cached(benchmarks, name, help_text)
    _excess(benchmarks)
    _reproduction(benchmarks)


def _cached(benchmarks: argparse._SubParsersAction[argparse.ArgumentParser], name: str, help_text: str) -> None:
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


def _excess(benchmarks: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = benchmarks.add_parser("excess", help="what each family loses to the best of the six, over benchmarks")
    parser.add_argument("results", nargs="+", metavar="FILE", help="results.parquet of each benchmark")
    parser.add_argument("--markdown", action="store_true", help="as a Markdown table")
    parser.set_defaults(run=_run_excess)


def _reproduction(benchmarks: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = benchmarks.add_parser("reproduction", help="write the paper's figures beside those of finished benchmarks")
    parser.add_argument(
        "results",
        nargs="+",
        metavar="FILE",
        help="results.parquet of each benchmark, and the alignment.parquet beside it",
    )
    parser.add_argument("-o", "--output", metavar="FILE.md", help="where the page goes (default: stdout)")
    parser.set_defaults(run=_run_reproduction)


def _synthetic(benchmarks: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    _talk(parser)


def _columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="read NAME from another column, e.g. --map outcome=thumbs_up; may be repeated",
    )


def _family(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--family",
        default="auto",
        help="auto, exp-only, obs-only, representation-exp, grounded, cvci, cvci-residual, or all to compare them",
    )


def _talk(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")


def _run_demo(arguments: argparse.Namespace) -> int:
    from deconfound.cli.commands import demo

    return demo(arguments)


def _run_evaluate(arguments: argparse.Namespace) -> int:
    from deconfound.cli.commands import evaluate

    return evaluate(arguments)


def _run_check(arguments: argparse.Namespace) -> int:
    from deconfound.cli.check import check_study

    return check_study(arguments)


def _run_plan(arguments: argparse.Namespace) -> int:
    from deconfound.cli.plan import plan_experiment

    return plan_experiment(arguments)


def _run_synthetic(arguments: argparse.Namespace) -> int:
    from deconfound.cli.bench import synthetic

    return synthetic(arguments)


def _run_cached(arguments: argparse.Namespace) -> int:
    from deconfound.cli import cached

    commands = {"summarization": cached.summarization, "coding": cached.coding, "instructions": cached.instructions}
    return commands[arguments.benchmark](arguments)


def _run_excess(arguments: argparse.Namespace) -> int:
    from deconfound.cli.bench import show_excess

    return show_excess(arguments)


def _run_reproduction(arguments: argparse.Namespace) -> int:
    from deconfound.cli.bench import write_reproduction

    return write_reproduction(arguments)


def _run_recommend(arguments: argparse.Namespace) -> int:
    from deconfound.cli.commands import recommend

    return recommend(arguments)
