"""Options that several commands share: how they are declared, and how their values are read."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from deconfound.cli.progress_line import TRACE_DELAY, ProgressLine
from deconfound.cli.terminal import write_message
from deconfound.errors import UsageError
from deconfound.escaping import escape_line, readable_path
from deconfound.formatting import join_names, quote

if TYPE_CHECKING:
    from deconfound.data import Study

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""Where a command is added."""

ALL_FAMILIES = "all"
MISSING = "missing"  # as a value of --outcome-values
TABLE_HELP = {
    "log": "ordinary use: context, model, output and outcome per row; several files or a folder are one table",
    "experiment": "randomized use: the same columns, model assigned at random",
    "replay": "outputs of every model on every context",
}
EXIT_CODES = (
    "exit codes: 0 success; 1 invalid data; 2 invalid usage or environment; 3 an assumption check failed; "
    "4 not enough evidence"
)


class FamilyChoices:
    """The values of --family, read from the registry only when they are needed: importing it takes a second."""

    def __iter__(self) -> Iterator[str]:
        from deconfound.reward import EVERY

        yield from (family.name for family in EVERY)
        yield ALL_FAMILIES

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """--json and --quiet."""
    parser.add_argument("--json", action="store_true", help="print the complete result as JSON")
    add_quiet_option(parser)


def add_quiet_option(parser: argparse.ArgumentParser) -> None:
    """--quiet."""
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress to stderr")


def add_verbose_option(parser: argparse.ArgumentParser) -> None:
    """--verbose, for commands that print a summary."""
    parser.add_argument("--verbose", action="store_true", help="print the details of the fit below the summary")


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """The three tables and how to read them."""
    for name, help_text in TABLE_HELP.items():
        parser.add_argument(f"--{name}", required=True, nargs="+", metavar="FILE", help=help_text)
    parser.add_argument("--models", metavar="A,B,...", help="compare only these models")
    add_assignment_option(parser)
    add_reading_options(parser)


def add_assignment_option(parser: argparse.ArgumentParser) -> None:
    """--assignment."""
    parser.add_argument(
        "--assignment",
        metavar="FILE",
        help="manifest of `deconfound assign`: propensities, and who should have got what",
    )


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """How columns are named, outcomes scaled and incomplete rows treated."""
    add_column_map_option(parser)
    add_outcome_option(parser)
    parser.add_argument(
        "--outcome-range",
        nargs=2,
        type=float,
        metavar=("WORST", "BEST"),
        help="worst and best outcome, e.g. 1 5 for stars, 60 0 for seconds (default 0 1)",
    )
    parser.add_argument("--outcome-unit", default="", metavar="UNIT", help='unit of values, e.g. "of 5 stars" or s')
    parser.add_argument(
        "--outcome-values", metavar="WORD=X,...", help="what words in the outcome mean, e.g. good=1,bad=0,-1=missing"
    )
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="CONDITION",
        help="read only rows that fulfill it, e.g. country=DE,AT or log.time>=2026-05-01; repeatable",
    )
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="COLUMN",
        help="do not use a column, e.g. time, log.cluster or label_*; repeatable",
    )
    add_rename_option(parser)
    parser.add_argument(
        "--normalize-contexts",
        action="store_true",
        help="contexts that differ only in surrounding spaces, line ends or Unicode normalization are the same",
    )
    parser.add_argument("--drop-missing", action="store_true", help=argparse.SUPPRESS)  # older scripts; no effect
    parser.add_argument(
        "--drop-incomplete", action="store_true", help="drop experiment contexts that lack a replay of some model"
    )


def add_outcome_option(parser: argparse.ArgumentParser) -> None:
    """--outcome."""
    parser.add_argument(
        "--outcome",
        action="append",
        default=[],
        metavar="COLUMN",
        help="the column of outcomes, in log and experiment; `evaluate` takes several, one --outcome for each",
    )


def add_column_map_option(parser: argparse.ArgumentParser) -> None:
    """--map."""
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="read NAME from another column, e.g. outcome=thumbs_up, or log.outcome=thumbs_up; repeatable",
    )


def add_rename_option(parser: argparse.ArgumentParser) -> None:
    """--rename-model."""
    parser.add_argument(
        "--rename-model",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="read a model under another name, e.g. openai/oak=oak; repeatable",
    )


def add_family_option(parser: argparse.ArgumentParser) -> None:
    """--family."""
    parser.add_argument(
        "--family",
        default="auto",
        metavar="NAME",
        choices=FamilyChoices(),
        help=f"how the reward is learned (default auto; {ALL_FAMILIES} compares auto and the paper's six): %(choices)s",
    )


def add_target_option(parser: argparse.ArgumentParser) -> None:
    """--target."""
    parser.add_argument("--target", metavar="FILE", help="contexts to generalize to (default: the experiment's)")


def load_study(arguments: argparse.Namespace, *, segments: Sequence[str] = ()) -> Study:
    """Read the tables that the arguments name, with columns of segments."""
    from deconfound.loading import load

    progress = ProgressLine(arguments.quiet, delay=TRACE_DELAY, start=arguments.started)
    study = load(
        log=arguments.log,
        experiment=arguments.experiment,
        replay=arguments.replay,
        columns=study_columns(arguments),
        outcome_range=parse_outcome_range(arguments.outcome_range),
        outcome_values=parse_outcome_values(arguments.outcome_values),
        outcome_unit=arguments.outcome_unit,
        models=parse_models(arguments.models),
        where=arguments.where,
        ignore=arguments.ignore,
        rename_models=parse_renamed_models(arguments.rename_model),
        normalize_contexts=arguments.normalize_contexts,
        assignment=arguments.assignment,
        incomplete="drop" if arguments.drop_incomplete else "error",
        segments=segments,
        progress=progress,
    )
    progress.clear()
    return study


def parse_column_map(pairs: Sequence[str]) -> dict[str, str]:
    """The user's column for each canonical name, from --map."""
    columns = {}
    for pair in pairs:
        name, equals, column = pair.partition("=")
        if not (name and equals and column):
            raise UsageError(f"--map takes NAME=COLUMN, for instance outcome=thumbs_up, not {quote(pair)}.")
        if name in columns:
            raise UsageError(f"--map names {quote(name)} more than once; choose one column.")
        columns[name] = column
    return columns


def study_columns(arguments: argparse.Namespace) -> dict[str, str]:
    """The user's columns of a study, from --map and --outcome, which no table may lack."""
    columns = parse_column_map(arguments.map)
    if not arguments.outcome:
        return columns
    if len(arguments.outcome) > 1:
        raise UsageError("Only `evaluate` takes several outcomes; name one with --outcome.")
    if any(name in columns for name in ("outcome", "log.outcome", "experiment.outcome")):
        raise UsageError("--outcome and --map outcome=COLUMN say the same; give one of them.")
    tables = ("log",) if arguments.experiment is None else ("log", "experiment")
    return columns | {f"{table}.outcome": arguments.outcome[0] for table in tables}


def parse_renamed_models(pairs: Sequence[str]) -> dict[str, str]:
    """The new name of each renamed model, from --rename-model."""
    names: dict[str, str] = {}
    for pair in pairs:
        old, equals, new = pair.rpartition("=")
        if not (old and equals and new):
            raise UsageError(f"--rename-model takes OLD=NEW, for instance openai/oak=oak, not {quote(pair)}.")
        if old in names:
            raise UsageError(f"--rename-model names {quote(old)} more than once; give it one name.")
        names[old] = new
    return names


def input_files(arguments: argparse.Namespace, names: Sequence[str]) -> tuple[Path, ...]:
    """Every file that is read: those that the options name, folders and patterns included, manifest and study file."""
    from deconfound.loading.table_files import find_files

    given = (getattr(arguments, name) for name in names)
    tables = tuple(file for source in given if source is not None for file in find_files(source))
    others = (getattr(arguments, "assignment", None), arguments.study_file)
    return (*tables, *(Path(other) for other in others if other is not None))


def parse_numbers(text: str | None, option: str) -> dict[str, float]:
    """Numbers by name, from an option such as --outcome-values good=1,bad=0."""
    numbers = {}
    for part in (text or "").split(","):
        if not part.strip():
            continue
        name, equals, value = part.rpartition("=")
        if name.strip() in numbers:
            raise UsageError(f"{option} names {quote(name.strip())} more than once; give it one number.")
        try:
            numbers[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not (name.strip() and equals and math.isfinite(numbers[name.strip()])):
            raise UsageError(f"{option} takes NAME=NUMBER, separated by commas, not {quote(part)}.")
    return numbers


def parse_outcome_values(text: str | None) -> dict[str, float | None]:
    """What words and numbers mean, from --outcome-values; None for those that stand for no outcome."""
    parts = [part for part in (text or "").split(",") if part.strip()]
    missing = [part for part in parts if part.rpartition("=")[2].strip().lower() == MISSING and part.rpartition("=")[0]]
    numbers = parse_numbers(",".join(part for part in parts if part not in missing), "--outcome-values")
    words = [part.rpartition("=")[0].strip() for part in missing]
    twice = [word for word, count in Counter([*words, *numbers]).items() if count > 1]
    if twice:
        raise UsageError(f"--outcome-values names {quote(twice[0])} more than once; give it one meaning.")
    return {**numbers, **dict.fromkeys(words)}


def parse_outcome_range(bounds: Sequence[float] | None) -> tuple[float, float] | None:
    """Lowest and highest outcome, from --outcome-range."""
    return None if bounds is None else (bounds[0], bounds[1])


def parse_models(names: str | None) -> list[str] | None:
    """Model names, from --models."""
    if names is None:
        return None
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    twice = sorted(name for name, count in Counter(chosen).items() if count > 1)
    if twice:
        raise UsageError(f"--models: {join_names(twice)} is named twice. Name each model once.")
    if not chosen:
        raise UsageError("--models names no model. Give at least two names, separated by commas.")
    return chosen


def parse_families(name: str) -> Sequence[str]:
    """Names of the families to fit, from --family."""
    from deconfound.evaluation import PAPER_FAMILY_NAMES
    from deconfound.reward import Auto

    return (Auto.name, *PAPER_FAMILY_NAMES) if name == ALL_FAMILIES else (name,)


def report_written(path: Path) -> None:
    """Say on stderr where a file was written; stdout may be JSON for another program."""
    write_message(f"Written to {escape_line(readable_path(path))}.\n")
