"""What may be typed."""

from __future__ import annotations

import argparse

from deconfound import __version__
from deconfound.cli.bench import BENCH
from deconfound.cli.options import EXIT_CODES, Commands, talk

FAMILY_NAMES = "FAMILY_NAMES"  # placeholder in help texts for the names of all families


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
    commands.add_parser(BENCH, help="measure the families where the truth is known (package deconfound-bench)")
    return parser


def _demo(commands: Commands) -> None:
    parser = commands.add_parser(
        "demo",
        help="evaluate a built-in study and compare with its known truth",
        formatter_class=FamilyHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=0, help="another study of the same kind (default 0)")
    parser.add_argument("-o", "--output", metavar="DIR", help="also write the study's three Parquet files there")
    _family(parser)
    talk(parser)
    parser.set_defaults(run=_run_demo)


def _evaluate(commands: Commands) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="value every model from three tables",
        formatter_class=FamilyHelpFormatter,
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
        "--surface-share",
        type=float,
        metavar="X",
        help="share of the statistics in the features, 0 to 1 (default: chosen)",
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
    talk(parser)
    parser.set_defaults(run=_run_evaluate)


def _check(commands: Commands) -> None:
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
    talk(parser)
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


def _recommend(commands: Commands) -> None:
    parser = commands.add_parser("recommend", help="the best model for new contexts, from a kept result")
    parser.add_argument("result", metavar="DIR", help="what `deconfound evaluate -o DIR` kept")
    parser.add_argument("--replay", required=True, metavar="FILE", help="every model's output on the new contexts")
    _columns(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write .csv, .jsonl, .json or .parquet")
    talk(parser)
    parser.set_defaults(run=_run_recommend)


def _plan(commands: Commands) -> None:
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
    talk(parser)
    parser.set_defaults(run=_run_plan)


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
        help=f"{FAMILY_NAMES}; or all, to compare auto and the six families of the paper (default auto)",
    )


class FamilyHelpFormatter(argparse.HelpFormatter):
    """Fill in the names of all families when help is printed; importing them takes most of a second."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.help is None or FAMILY_NAMES not in action.help:
            return action.help
        from deconfound.reward import EVERY

        return action.help.replace(FAMILY_NAMES, ", ".join(family.name for family in EVERY))


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


def _run_recommend(arguments: argparse.Namespace) -> int:
    from deconfound.cli.commands import recommend

    return recommend(arguments)
