"""Values, intervals and recommendations on studies drawn from real grids of outputs, through the whole package.

    python -m benchmarks.real_grids --data ../shared/data --out after.json
    python -m benchmarks.real_grids --data ../shared/data --export studies     # draw the studies only
    python -m benchmarks.real_grids --studies studies --out before.json       # with any version of the package
    python -m benchmarks.real_grids --seeds "" --out after.json --compare before.json
    python -m benchmarks.real_grids --extra-contexts --out extra.json         # values over all replayed contexts
    python -m benchmarks.real_grids --summed 2048 --rows 20 --out summed.json  # fits to sums over the log

The truth of the values is their mean over all contexts of a grid, of which the experiment has a random part. So
``--extra-contexts`` is valid here; without it, values are about the experiment's contexts only, and so less precise.
With ``--out`` the measures of each study are stored as soon as it is finished, and a later run with the same file
continues. Stored studies need no laboratory: this file uses only names that every version of the package has.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import deconfound as dc
from benchmarks.real_grids_studies import (
    PLANS,
    ROWS_PER_MODEL,
    FloatArray,
    GridStudy,
    Measures,
    absent_source,
    context_measures,
    covered,
    regrets,
    study_folder,
    study_source,
    value_measures,
    write_study,
)

FORMAT = 1
LEVEL = 0.95
NOTABLE_Z = 2.0  # changes of more than this number of standard errors are marked
DATA = Path("../shared/data")
SOURCES = ("values", "direct", "experiment", "raw_log")
Studies = dict[str, dict[int, Measures]]  # cell -> seed -> measures


@dataclass(frozen=True, slots=True)
class Column:
    """One number of a table: the mean of a measure over studies, or its root."""

    heading: str
    measure: str
    root: bool = False
    percent: bool = False
    worst: bool = False  # of the model with the smallest mean; otherwise models are averaged

    def series(self, rows: Sequence[Measures]) -> FloatArray:
        """One number per study."""
        data = np.array([row[self.measure] for row in rows], dtype=np.float64).reshape(len(rows), -1)
        return np.asarray(data[:, data.mean(axis=0).argmin()] if self.worst else data.mean(axis=1))

    def statistic(self, series: FloatArray) -> float:
        """The number shown, from one number per study."""
        return float(np.sqrt(series.mean()) if self.root else series.mean())


CHOICES = {  # the first model of four sources, and one model per context
    "values": "values' first",
    "direct": "direct's first",
    "experiment": "experiment's first",
    "raw_log": "log's first",
    "recommended": "recommended",
}
TABLES: dict[str, tuple[Column, ...]] = {
    "Error of the values (RMSE over models and studies)": tuple(
        Column(name.replace("_", " "), f"mse_{name}", root=True) for name in SOURCES
    ),
    "Coverage of 95 % intervals, in percent, and their mean width": (
        Column("values", "covered_values", percent=True),
        Column("worst model", "covered_values", percent=True, worst=True),
        Column("simultaneous", "simultaneous", percent=True),
        Column("direct", "covered_direct", percent=True),
        Column("experiment", "covered_experiment", percent=True),
        Column("width of values", "width_values"),
        Column("width of experiment", "width_experiment"),
    ),
    "Intervals and verdicts of single new contexts, in percent": (
        Column("q", "covered_q", percent=True),
        Column("margins", "covered_margin", percent=True),
        Column("clear contexts", "clear", percent=True),
        Column("clear and wrong", "clear_wrong", percent=True),
    ),
    "Regret against the best model of each new context": (
        *(Column(heading, f"regret_{name}") for name, heading in CHOICES.items()),
        Column("best single", "regret_best_single"),
    ),
    "Regret against the best single model; negative is better than any single model": tuple(
        Column(heading, f"net_{name}") for name, heading in CHOICES.items()
    ),
}


@dataclass(slots=True)
class Results:
    """Measures by cell and seed, and the version of the package that they were computed with."""

    package: str
    studies: Studies = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Results:
        """The results that ``write`` stored."""
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if document.get("format") != FORMAT:
            raise SystemExit(f"{path} is not a result of this benchmark in format {FORMAT}.")
        studies = {cell: {int(seed): one for seed, one in rows.items()} for cell, rows in document["studies"].items()}
        return cls(document["package"], studies)

    def write(self, path: Path) -> None:
        """Replace the file at once: an interruption leaves the old or the new one."""
        partial = path.with_name(f"{path.name}.partial")
        partial.write_text(json.dumps({"format": FORMAT, "package": self.package, "studies": self.studies}))
        partial.replace(path)


def package_digest() -> str:
    """Digest of the code that is measured; studies of different code are never mixed."""
    digest = sha256()
    for path in sorted(Path(dc.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def evaluate(study: GridStudy, rows_per_model: int, extra_contexts: bool) -> Measures:
    """Load, evaluate and recommend, and compare with the truth."""
    start = time.process_time()
    try:
        loaded = dc.load(log=study.log, experiment=study.first_rows(rows_per_model), replay=study.replay)
        if extra_contexts:
            result = dc.evaluate(loaded, options=dc.EvaluationOptions(extra_contexts=True))
        else:
            result = dc.evaluate(loaded)
    except dc.DeconfoundError as error:
        print(f"refused: {error}", file=sys.stderr, flush=True)
        return {"refused": 1.0, "seconds": time.process_time() - start}
    recommended = {one.context_id: one for one in result.recommend(study.fresh)}
    seconds = time.process_time() - start
    order = [result.models.index(name) for name in study.models]
    values = {name: getattr(result, name) for name in SOURCES}
    chosen = {name: [one.ranking()[0]] * len(study.fresh_ids) for name, one in values.items()}
    chosen["recommended"] = [recommended[name].model for name in study.fresh_ids]
    measures: Measures = {"refused": 0.0, "seconds": seconds}
    for name, one in values.items():
        measures |= value_measures(name, one.estimate[order], one.interval(LEVEL)[order], study.value)
    simultaneous = result.values.interval(LEVEL, simultaneous=True)[order]
    measures |= {"simultaneous": min(covered(simultaneous, study.value))} | regrets(study, chosen)
    return measures | context_measures(study, recommended)


def jackknife(statistic: Callable[..., float], *tables: FloatArray) -> tuple[float, float]:
    """A statistic of tables with one row per study, and its standard error; for a mean, the usual one."""
    count, estimate = len(tables[0]), statistic(*tables)
    if count < 2:
        return estimate, float("nan")
    without = [statistic(*(np.delete(table, at, axis=0) for table in tables)) for at in range(count)]
    return estimate, float(np.sqrt((count - 1) * np.var(without)))


def change(column: Column, before: FloatArray, after: FloatArray) -> tuple[float, float]:
    """The change of a statistic, with a standard error paired by study."""

    def statistic(old: FloatArray, new: FloatArray) -> float:
        return column.statistic(new) - column.statistic(old)

    return jackknife(statistic, before, after)


def shown(number: float, error: float, column: Column, sign: str = "") -> str:
    scale, digits = (100.0, 1) if column.percent else (1.0, 4)
    return f"{scale * number:{sign}.{digits}f} ± {scale * error:.{digits}f}"


def markdown(title: str, rows: Sequence[Sequence[str]]) -> str:
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"## {title}\n", head, "|---" * len(rows[0]) + "|", *body, ""])


def summary_table(title: str, studies: Studies) -> str:
    """One row per cell."""
    table = [["grid, experiment rows per model", "studies", *(column.heading for column in TABLES[title])]]
    for cell, by_seed in studies.items():
        rows = [row for row in by_seed.values() if not row["refused"]]
        columns = TABLES[title] if rows else ()
        numbers = [shown(*jackknife(one.statistic, one.series(rows)), one) for one in columns]
        table.append([cell, str(len(rows)), *numbers])
    return markdown(title, table)


def comparison_table(title: str, before: Studies, after: Studies) -> str:
    """Both versions on the studies that both answered, and the change with its standard error, paired by seed."""
    table = [["grid, experiment rows per model", "measure", "studies", "before", "after", "change"]]
    for cell in [cell for cell in after if cell in before]:
        answered = [{seed for seed, row in side[cell].items() if not row["refused"]} for side in (before, after)]
        seeds = sorted(answered[0] & answered[1])
        for column in TABLES[title] if seeds else ():
            sides = [column.series([side[cell][seed] for seed in seeds]) for side in (before, after)]
            numbers = [shown(*jackknife(column.statistic, side), column) for side in sides]
            moved, error = change(column, *sides)
            mark = " *" if abs(moved) > NOTABLE_Z * error else ""
            table.append([cell, column.heading, str(len(seeds)), *numbers, shown(moved, error, column, "+") + mark])
    return markdown(title, table)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the grids (default {DATA})")
    parser.add_argument("--grids", type=grid_list, default=list(PLANS), help=f"of {','.join(PLANS)}; default all")
    parser.add_argument("--seeds", type=seed_range, default=range(3000, 3030), help="A-B; empty for no new studies")
    parser.add_argument("--extra-contexts", action="store_true", help="values over all replayed contexts")
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS_PER_MODEL), help="experiment rows per model")
    parser.add_argument("--summed", type=int, help="fit to sums over the log, with this many columns of hashed text")
    parser.add_argument("--export", type=Path, help="draw the studies into this folder and stop")
    parser.add_argument("--studies", type=Path, help="read the studies from a folder of --export")
    parser.add_argument("--out", type=Path, help="file of measures; continued if it exists")
    parser.add_argument("--compare", type=Path, help="measures of another version, shown as before")
    return parser.parse_args(arguments)


def grid_list(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in PLANS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no grid {unknown[0]}; there are {', '.join(PLANS)}")
    return names


def seed_range(text: str) -> range:
    first, _, last = text.partition("-")
    try:
        return range(int(first), int(last or first) + 1) if text else range(0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a range of seeds such as 3000-3029") from None


def run(given: argparse.Namespace, results: Results) -> None:
    """Evaluate what is not stored yet; the grids take turns, so that early tables cover all of them."""
    source = study_source(given.data, given.studies)
    for seed in given.seeds:
        for grid in given.grids:
            for rows in given.rows:
                by_seed = results.studies.setdefault(f"{grid}, {rows} rows", {})
                if seed not in by_seed:
                    by_seed[seed] = evaluate(source(grid, seed), rows, given.extra_contexts)
                    if given.out is not None:
                        results.write(given.out)
        print(f"seed {seed} is finished", file=sys.stderr, flush=True)


def sum_all_logs(width: int) -> None:
    """Treat every log as a long one, with ``width`` columns of hashed text."""
    from deconfound.features import log_pass, summed_study

    summed_study.MAX_ROWS_IN_MEMORY = 0
    log_pass.LONG_LOG_WIDTH = width


def stored_results(given: argparse.Namespace) -> Results:
    if given.out is None or not given.out.exists():
        return Results(package_digest())
    results = Results.read(given.out)
    if given.seeds and results.package != package_digest():
        raise SystemExit(f"{given.out} was computed with another version of the package; choose another file.")
    return results


def report(results: Results, compare: Path | None) -> None:
    seconds = [float(str(row["seconds"])) for rows in results.studies.values() for row in rows.values()]
    refused = sum(bool(row["refused"]) for rows in results.studies.values() for row in rows.values())
    print(f"# Real grids\n\nPackage {results.package}. {len(seconds)} evaluations, {refused} refused,", end=" ")
    print(f"{np.mean(seconds):.1f} processor seconds each. ± is one standard error over studies.\n")
    for title in TABLES:
        print(summary_table(title, results.studies))
    if compare is not None:
        print(f"# Before and after\n\nPaired by seed; * marks a change of more than {NOTABLE_Z:g} standard errors.\n")
        for title in TABLES:
            print(comparison_table(title, Results.read(compare).studies, results.studies))


def main(arguments: Sequence[str] | None = None) -> int:
    given = parse(arguments)
    absent = absent_source(given.data, given.studies, given.grids, given.seeds)
    if absent is not None:
        print(
            f"{absent} is absent. Pass the grids with --data, or studies of --export with --studies.", file=sys.stderr
        )
        return 2
    if given.export is not None:
        source = study_source(given.data, given.studies)
        for grid in given.grids:
            for seed in given.seeds:
                write_study(source(grid, seed), study_folder(given.export, grid, seed))
        return 0
    if given.summed is not None:
        sum_all_logs(given.summed)
    results = stored_results(given)
    run(given, results)
    if results.studies:
        report(results, given.compare)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
