"""What is a long log worth? Errors of ``auto`` on all rows, and on a random sample of 6,000, by the log's length.

    python -m benchmarks.log_length --lengths 2000 6000 20000 --strengths 0 0.3 1 --save lengths.csv
    python -m benchmarks.log_length --draw lengths.csv --picture docs/pictures/log-length.svg

Each study has 600 randomized rows, one replayed output of six models on each of their contexts, and a log with known
confounding in Parquet files. Printed are the root mean square errors of the reward of replayed outputs and of the
models' values, the standard error of the values, and the regret of choosing on each context the replayed output with
the largest reward. Up to 6,000 rows nothing is sampled, and the two differ in the number of hashed columns only. The
seconds are those of the processor. With ``--draw``, means over studies are printed as a table, too.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.long_log_studies import World, write_log
from deconfound.crossfit import cross_fit
from deconfound.data import Study, stream_rows
from deconfound.design import FloatArray
from deconfound.features import FeatureSpec, log_pass
from deconfound.features.log_pass import BATCH_ROWS
from deconfound.features.study_arrays import StudyArrays
from deconfound.features.summed_study import MAX_ROWS_IN_MEMORY, long_study_arrays
from deconfound.loading import load
from deconfound.prepared_study import FOLDS
from deconfound.progress import no_progress
from deconfound.reward import Auto
from deconfound.surface_share import StudyTrainingData
from deconfound.threads import one_blas_thread
from deconfound.value import Values, tuned_doubly_robust
from deconfound.value_methods import score_experiment

EXPERIMENT_ROWS = 600
ALL, SAMPLE = "all rows", "sample"


@dataclass(frozen=True)
class Errors:
    """One evaluation against the truth."""

    strength: float
    rows: int
    study: int
    log: str
    q_rmse: float
    value_rmse: float
    standard_error: float
    regret: float
    seconds: float


def measure(strength: float, rows: int, seed: int, logs: Iterable[str], on_replayed: float) -> Iterator[Errors]:
    """``auto`` on one study, for each use of its log."""
    world = World(seed, strength, on_replayed)
    experiment, replay, truth = world.experiment_and_replay(EXPERIMENT_ROWS)
    with tempfile.TemporaryDirectory() as folder:
        write_log(world, rows, experiment, Path(folder))
        for log in logs:
            start = time.process_time()
            table = Path(folder) if log == ALL else _sample(Path(folder), rows, seed)
            study = load(log=table, experiment=experiment, replay=replay).in_content_order()
            q, values = _fit(study, log)
            seconds = time.process_time() - start
            yield Errors(strength, rows, seed, log, *_errors(q, truth, values, world.value), seconds)


def _fit(study: Study, log: str) -> tuple[FloatArray, Values]:
    """Rewards of the replayed outputs (contexts, k) and values."""
    with one_blas_thread():
        arrays = StudyArrays.from_study(study, FeatureSpec()) if log == SAMPLE else _summed_arrays(study)
        fitted = cross_fit(StudyTrainingData(arrays), Auto(), FOLDS, 0, None, no_progress, 2)
        return fitted.q_all_contexts, tuned_doubly_robust(score_experiment(arrays, fitted))


def _errors(q: FloatArray, truth: FloatArray, values: Values, value: FloatArray) -> tuple[float, float, float, float]:
    """As in ``Errors``; contexts of q are sorted by name, as the rows of the experiment and of ``truth`` are."""
    regret = truth.max(axis=1) - truth[np.arange(len(truth)), q.argmax(axis=1)]
    standard_error = float(np.sqrt(np.diag(values.covariance).mean()))
    return (
        _root_mean_square(q - truth),
        _root_mean_square(values.estimate - value),
        standard_error,
        float(regret.mean()),
    )


def _root_mean_square(errors: FloatArray) -> float:
    return float(np.sqrt((errors**2).mean()))


def _summed_arrays(study: Study) -> StudyArrays:
    """All rows through sums, also of a log that is short."""
    stream, sample = study.log_stream, study.log
    if stream is None:
        stream, sample = stream_rows(study.log, (), BATCH_ROWS)
    study = replace(study, log=sample, log_stream=stream)
    return long_study_arrays(study, stream, FeatureSpec(), FOLDS, 0, no_progress)


def _sample(folder: Path, rows: int, seed: int) -> pa.Table:
    """Random rows of the log, as many as ``auto`` conditioned on before sums."""
    chosen = np.sort(np.random.default_rng([seed, rows]).choice(rows, min(rows, MAX_ROWS_IN_MEMORY), replace=False))
    pieces, first = [], 0
    for path in sorted(folder.glob("*.parquet")):
        piece = pq.read_table(path)
        at = chosen[(chosen >= first) & (chosen < first + len(piece))] - first
        pieces.append(piece.take(pa.array(at)))
        first += len(piece)
    return pa.concat_tables(pieces)


def draw(errors: list[Errors], path: Path) -> None:
    """Error of the reward and regret against the log's length, one column per strength."""
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "deconfound", "svg.fonttype": "none"})
    strengths = sorted({each.strength for each in errors})
    kinds = (("q_rmse", "RMSE of the reward"), ("regret", "regret per context"))
    figure, axes = plt.subplots(len(kinds), len(strengths), figsize=(4 * len(strengths), 6), sharex=True, sharey="row")
    for column, strength in enumerate(strengths):
        for row, (name, label) in enumerate(kinds):
            axis = axes[row][column]
            for log, color in ((ALL, "#0b6e99"), (SAMPLE, "#b3541e")):
                means = _means(errors, strength, log, name)
                legend = "all rows" if log == ALL else "at most 6,000 rows"
                mean, error = (list(column) for column in zip(*means.values(), strict=True))
                axis.errorbar(list(means), mean, error, fmt="o-", capsize=2, color=color, label=legend)
            axis.set_xscale("log")
            lengths = sorted({each.rows for each in errors})
            axis.set_xticks(lengths, [f"{rows:,}" for rows in lengths])
            axis.minorticks_off()
            axis.set_ylim(0, 1.1 * max(getattr(each, name) for each in errors))
            axis.grid(alpha=0.3)
            axis.set_title(f"confounding {strength:g}" if row == 0 else "")
            axis.set_xlabel("rows of the log" if row == len(kinds) - 1 else "")
            axis.set_ylabel(label if column == 0 else "")
    axes[0][0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def _means(errors: list[Errors], strength: float, log: str, name: str) -> dict[int, tuple[float, float]]:
    """Mean over studies and its standard error, by length."""
    mine = [each for each in errors if each.strength == strength and each.log == log]
    means = {}
    for rows in sorted({each.rows for each in mine}):
        values = np.array([getattr(each, name) for each in mine if each.rows == rows])
        means[rows] = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return means


def print_table(errors: list[Errors]) -> None:
    """Means ± standard errors over studies, as Markdown."""
    kinds = ("q_rmse", "regret", "value_rmse")
    print(
        "| confounding | log rows | studies |", " | ".join(f"{kind}, {log}" for kind in kinds for log in (ALL, SAMPLE))
    )
    for strength, rows in sorted({(each.strength, each.rows) for each in errors}):
        studies = len({each.study for each in errors if (each.strength, each.rows) == (strength, rows)})
        means = (_means(errors, strength, log, kind).get(rows) for kind in kinds for log in (ALL, SAMPLE))
        cells = ("not run" if each is None else f"{each[0]:.3f} ± {each[1]:.3f}" for each in means)
        print("|", " | ".join([f"{strength:g}", f"{rows:,}", str(studies), *cells]), "|")


def _read(path: Path) -> list[Errors]:
    kinds = {field.name: {"int": int, "float": float, "str": str}[str(field.type)] for field in fields(Errors)}
    with path.open(newline="") as file:
        return [Errors(**{name: kinds[name](value) for name, value in row.items()}) for row in csv.DictReader(file)]


def main() -> None:
    """Measure, or draw what was measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[2_000, 6_000, 20_000])
    parser.add_argument("--strengths", type=float, nargs="+", default=[0.0, 0.3, 1.0])
    parser.add_argument("--studies", type=int, default=1)
    parser.add_argument("--logs", nargs="+", choices=(ALL, SAMPLE), default=[ALL, SAMPLE])
    parser.add_argument("--on-replayed", type=float, default=0.0, help="share of log rows on the experiment's contexts")
    parser.add_argument("--width", type=int, help="hashed columns of a summed log, instead of the usual number")
    parser.add_argument("--save", type=Path, help="add the rows to this CSV file")
    parser.add_argument("--draw", type=Path, help="draw the rows of this CSV file")
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    if arguments.draw is not None:
        measured = _read(arguments.draw)
        print_table(measured)
        if arguments.picture is not None:
            draw(measured, arguments.picture)
        return
    if arguments.width is not None:
        log_pass.LONG_LOG_WIDTH = arguments.width
    names = [field.name for field in fields(Errors)]
    print(" ".join(names), flush=True)
    for rows in arguments.lengths:
        for seed in range(arguments.studies):
            for strength in arguments.strengths:
                for errors in measure(strength, rows, seed, arguments.logs, arguments.on_replayed):
                    print(" ".join(f"{x:.4f}" if isinstance(x, float) else str(x) for x in astuple(errors)), flush=True)
                    if arguments.save is not None:
                        _append(arguments.save, names, errors)


def _append(path: Path, names: list[str], errors: Errors) -> None:
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, names)
        if is_new:
            writer.writeheader()
        writer.writerow(asdict(errors))


if __name__ == "__main__":
    main()
