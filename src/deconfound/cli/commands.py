"""What each command does with its arguments."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from deconfound.cli.progress import Progress
from deconfound.data import Study
from deconfound.demo.compare import against_truth
from deconfound.errors import AssumptionError, UsageError
from deconfound.evaluation import PAPER_FAMILY_NAMES, evaluate_families
from deconfound.features import FeatureSpec
from deconfound.formatting import quote
from deconfound.loading import load, load_contexts
from deconfound.report.document import document, to_text
from deconfound.report.recommendations_io import recommendation_text, write_recommendations
from deconfound.report.text import comparison
from deconfound.result import Result

FOLDER, JSON, HTML = "", ".json", ".html"


def evaluate(arguments: argparse.Namespace) -> int:
    """Three tables in, the answer out."""
    target = _target(arguments)
    study = load_study(arguments)
    results = _results(study, arguments, _features(arguments))
    _show(results, arguments.json)
    if target is not None:
        _keep(results[0], target)
    return _exit_code(results)


def load_study(arguments: argparse.Namespace) -> Study:
    """The study that the file arguments name."""
    lo_hi = arguments.outcome_range
    return load(
        log=arguments.log,
        experiment=arguments.experiment,
        replay=arguments.replay,
        columns=mapping(arguments.map),
        outcome_range=None if lo_hi is None else (lo_hi[0], lo_hi[1]),
        models=_names(arguments.models),
        drop_missing=arguments.drop_missing,
        incomplete="drop" if arguments.drop_incomplete else "error",
    )


def recommend(arguments: argparse.Namespace) -> int:
    """A kept result and a replay of new contexts in, the best model of each out."""
    from deconfound.loading import load_replay

    result = Result.load(arguments.result)
    replay = load_replay(arguments.replay, columns=mapping(arguments.map), models=result.models)
    rows = result.recommend(replay)
    if arguments.output is not None:
        write_recommendations(rows, Path(arguments.output))
    sys.stdout.write(recommendation_text(rows, as_json=arguments.json))
    return 0


def demo(arguments: argparse.Namespace) -> int:
    """The built-in study, its evaluation, and the truth beside it."""
    from deconfound.demo import make_demo

    progress = Progress(arguments.quiet)
    progress("making the demo study", 0.0)
    made = make_demo(arguments.seed)
    if arguments.output is not None:
        made.write(Path(arguments.output))
    study = load(log=made.log, experiment=made.experiment, replay=made.replay)
    results = evaluate_families(study, _families(arguments.family), progress=progress)
    progress.clear()
    truth = dict(zip(made.models, (float(v) for v in made.value), strict=True))
    if arguments.json:
        sys.stdout.write(to_text({"truth": truth, "results": [document(result) for result in results]}))
        return 0
    for result in results:
        sys.stdout.write(against_truth(result, truth) + "\n")
    if arguments.output is not None:
        sys.stdout.write(f"The three tables are in {arguments.output}; try\n{_try_it(Path(arguments.output))}\n")
    return 0


def _try_it(folder: Path) -> str:
    files = " ".join(f"--{name} {folder / name}.parquet" for name in ("log", "experiment", "replay"))
    return f"  deconfound evaluate {files}"


def _results(study: Study, arguments: argparse.Namespace, features: FeatureSpec) -> tuple[Result, ...]:
    progress = Progress(arguments.quiet)
    try:
        return evaluate_families(
            study,
            _families(arguments.family),
            arguments.level,
            arguments.seed,
            features=features,
            surface_share=arguments.surface_share,
            method=arguments.method.replace("-", " "),
            target=None
            if arguments.target is None
            else load_contexts(arguments.target, columns=mapping(arguments.map)),
            cost=_costs(arguments.cost, arguments.worth),
            thorough=arguments.thorough,
            progress=progress,
        )
    finally:
        progress.clear()


def _families(name: str) -> Sequence[str]:
    return ("auto", *PAPER_FAMILY_NAMES) if name == "all" else (name,)


def _features(arguments: argparse.Namespace) -> FeatureSpec:
    return FeatureSpec(source=arguments.features, surface=not arguments.no_surface)


def mapping(pairs: Sequence[str]) -> dict[str, str]:
    """What --map said: the user's column for each canonical name."""
    columns = {}
    for pair in pairs:
        name, equals, column = pair.partition("=")
        if not (name and equals and column):
            raise UsageError(f"--map takes NAME=COLUMN, for instance outcome=thumbs_up, not {quote(pair)}.")
        columns[name] = column
    return columns


def _costs(pairs: Sequence[str], worth: float) -> dict[str, float] | None:
    """What --cost and --worth said, in units of the outcome."""
    if not worth > 0:
        raise UsageError(f"--worth takes what an outcome of 1 instead of 0 is worth, above zero, not {worth:g}.")
    costs = {}
    for pair in pairs:
        name, equals, amount = pair.rpartition("=")
        try:
            costs[name] = float(amount) / worth
        except ValueError:
            equals = ""
        if not (name and equals):
            raise UsageError(f"--cost takes MODEL=AMOUNT, for instance --cost cedar=0.02, not {quote(pair)}.")
    return costs or None


def _names(models: str | None) -> list[str] | None:
    return None if models is None else [name.strip() for name in models.split(",") if name.strip()]


def _target(arguments: argparse.Namespace) -> Path | None:
    """Where to keep the result, refused before the work rather than after it."""
    if arguments.output is None:
        return None
    path = Path(arguments.output)
    if arguments.family == "all":
        raise UsageError("-o keeps one result; choose one --family, or take all of them with --json.")
    if path.suffix not in (FOLDER, JSON, HTML):
        raise UsageError(f"-o takes a folder, a .json file or an .html file, not {quote(path.name)}.")
    if path.suffix == FOLDER and path.exists() and not path.is_dir():
        raise UsageError(f"-o {path}: there is a file of that name; choose another folder.")
    return path


def _keep(result: Result, path: Path) -> None:
    if path.suffix == JSON:
        result.to_json(path)
    elif path.suffix == HTML:
        result.to_html(path)
    else:
        result.save(path)
        sys.stderr.write(f"kept in {path}; use it with: deconfound recommend {path} --replay FILE\n")


def _show(results: Sequence[Result], as_json: bool) -> None:
    if as_json:
        one = document(results[0]) if len(results) == 1 else {"results": [document(result) for result in results]}
        sys.stdout.write(to_text(one))
    else:
        sys.stdout.write(results[0].summary() if len(results) == 1 else comparison(results))


def _exit_code(results: Sequence[Result]) -> int:
    failed = any(finding.verdict == "fail" for result in results for finding in result.findings)
    return AssumptionError.exit_code if failed else 0
