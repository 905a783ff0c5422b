"""How much faster is an evaluation of a long log than the same number of ridge fits with scikit-learn?

    python -m benchmarks.long_log_sklearn                # 200,000 rows, about ten minutes on a busy machine
    python -m benchmarks.long_log_sklearn --rows 20000

**deconfound**: ``load`` and ``evaluate`` with ``auto`` on a log in Parquet files, all of whose rows differ. That is
everything: reading, features, the search for the variances, all fits, checks, values and recommendations.

**scikit-learn**: what someone without this package would write. ``HashingVectorizer`` turns words and word pairs of
contexts and outputs into as many columns as ``evaluate`` uses, and each model has a column. The features are computed
once. A ``Ridge`` with its default solver and tolerance is then fitted to log and experiment together, once for each fit
that the evaluation makes: for each point that the search for the variances looks at (only the second, wider search; as
one fit on a training part, scored by held-out outcomes), for each cross-fit, for all rows, for each cross-fit without
the log's rows on held-out contexts, and for each bootstrap refit. Only some of these fits are timed, and the time is
scaled up. Reading, checks, values and recommendations are not counted. These fits are simpler than ``auto``: they lack
statistics of texts, effects by context, and a bias of the log with coefficients of its own.

The exit code is 1 if the first ratio, of processor time, misses its target. Further lines count fewer or more things
on scikit-learn's side: fits alone, no search, features computed again for each fit as a pipeline does, and the
tolerance at which its predictions have converged.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Ridge

import deconfound as dc
from benchmarks.long_log_studies import MODELS, World, write_log
from deconfound.crossfit import BOOTSTRAP_REFITS
from deconfound.design import FloatArray
from deconfound.evaluation import FOLDS
from deconfound.features.log_pass import LONG_LOG_WIDTH
from deconfound.result import Result
from deconfound.reward import Auto, VarianceComponents
from deconfound.reward.auto.long_log import LEARNING_WIDTH
from deconfound.reward.auto.moment_likelihood import MomentLikelihood

TARGET = 30.0
EXPERIMENT_ROWS = 600
PENALTY_FACTORS = (0.1, 1.0, 10.0)  # of the timed fits, around the penalty that the estimated variances imply
CONVERGED = 1e-6  # tolerance of scikit-learn at which predictions are accurate to about 1e-6
T = TypeVar("T")


@dataclass(frozen=True)
class Seconds:
    """What something took."""

    processor: float
    elapsed: float

    def __add__(self, other: Seconds) -> Seconds:
        return Seconds(self.processor + other.processor, self.elapsed + other.elapsed)

    def times(self, factor: float) -> Seconds:
        """So many of these."""
        return Seconds(factor * self.processor, factor * self.elapsed)

    def __str__(self) -> str:
        return f"{self.processor:.1f} s of processor time, {self.elapsed:.1f} s elapsed"


@dataclass
class SearchCount:
    """Points that the searches for the variances have looked at."""

    narrow: int = 0
    wide: int = 0


def timed(function: Callable[[], T]) -> tuple[T, Seconds]:
    """The result, and the time of all threads."""
    elapsed, processor = time.perf_counter(), time.process_time()
    result = function()
    return result, Seconds(time.process_time() - processor, time.perf_counter() - elapsed)


def count_search() -> SearchCount:
    """Count all evaluations of the likelihood from now on."""
    count, evaluate = SearchCount(), MomentLikelihood.evaluate

    def counted(self: MomentLikelihood, variances: VarianceComponents) -> tuple[float, FloatArray]:
        if self.moments.columns.text < LEARNING_WIDTH:
            count.narrow += 1
        else:
            count.wide += 1
        return evaluate(self, variances)

    MomentLikelihood.evaluate = counted  # type: ignore[method-assign]
    return count


def evaluate_study(folder: Path) -> Result:
    """``load`` and ``evaluate``."""
    tables = (folder / "log", folder / "experiment.parquet", folder / "replay.parquet")
    study = dc.load(log=tables[0], experiment=tables[1], replay=tables[2])
    return dc.evaluate(study)


def sklearn_features(tables: list[pa.Table]) -> sparse.csr_matrix:
    """Words and word pairs of contexts and outputs, half of the columns each, and the model."""
    hashing = HashingVectorizer(n_features=LONG_LOG_WIDTH // 2, ngram_range=(1, 2), alternate_sign=True)
    texts = [
        sparse.vstack([hashing.transform(table[name].to_pylist()) for table in tables])
        for name in ("context", "output")
    ]
    model = np.concatenate([np.searchsorted(MODELS, table["model"].to_pylist()) for table in tables])
    one_hot = sparse.csr_matrix((np.ones(len(model)), (np.arange(len(model)), model)), (len(model), len(MODELS)))
    return sparse.hstack([*texts, one_hot], format="csr")


def ridge_fit(features: sparse.csr_matrix, outcome: FloatArray, penalty: float, tolerance: float) -> Seconds:
    """One fit, which includes whatever ``Ridge`` does to its input."""
    return timed(lambda: Ridge(alpha=penalty, tol=tolerance).fit(features, outcome))[1]


def implied_penalty(result: Result) -> float:
    """Noise divided by the variance of a coefficient of the text; a row's words have squared length 2."""
    assert isinstance(result.family.estimator, Auto)  # noqa: S101
    variances = result.family.estimator.variance_components
    assert variances is not None  # noqa: S101
    return 2.0 * variances.noise / (variances.reward_text + variances.bias_text)


def write_study(folder: Path, rows: int) -> tuple[list[pa.Table], int]:
    """Write the three tables; returns log and experiment, and the bytes of the log's texts."""
    world = World(0, 0.5)
    experiment, replay, _ = world.experiment_and_replay(EXPERIMENT_ROWS)
    (folder / "log").mkdir()
    size = write_log(world, rows, experiment, folder / "log")
    pq.write_table(experiment, folder / "experiment.parquet")
    pq.write_table(replay, folder / "replay.parquet")
    log = pq.read_table(folder / "log").select(experiment.column_names)
    return [log, experiment], size


def main() -> int:
    """Time both, and print what was timed and what was extrapolated."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tables, size = write_study(Path(name), arguments.rows)
        print(f"{arguments.rows:,} log rows, {size / 1e6:.0f} MB of text, {EXPERIMENT_ROWS} randomized rows")
        count = count_search()
        result, ours = timed(lambda: evaluate_study(Path(name)))
    print(f"deconfound, load and evaluate: {ours}", flush=True)
    features, features_time = timed(lambda: sklearn_features(tables))
    outcome = np.concatenate([table["outcome"].to_numpy() for table in tables])
    print(f"scikit-learn, features ({features.shape[1]:,} columns, {features.nnz:,} entries), timed: {features_time}")
    penalty = implied_penalty(result)
    fits = [ridge_fit(features, outcome, factor * penalty, 1e-4) for factor in PENALTY_FACTORS]
    for factor, seconds in zip(PENALTY_FACTORS, fits, strict=True):
        print(f"scikit-learn, one fit at penalty {factor * penalty:.3g}, timed: {seconds}", flush=True)
    exact = ridge_fit(features, outcome, penalty, CONVERGED)
    print(f"scikit-learn, one fit at penalty {penalty:.3g} and tolerance {CONVERGED:g}, timed: {exact}")
    return report(ours, features_time, sum(fits, Seconds(0.0, 0.0)).times(1 / len(fits)), exact, count)


def report(ours: Seconds, features: Seconds, one_fit: Seconds, exact_fit: Seconds, count: SearchCount) -> int:
    """Print the ratios; the exit code."""
    others = 2 * FOLDS + 1 + BOOTSTRAP_REFITS
    fits = count.wide + others
    print(
        f"fits: {count.wide} of the search (a narrower search before it, {count.narrow}, is not counted), {FOLDS} "
        f"cross-fits, 1 on all rows, {FOLDS} without held-out contexts, {BOOTSTRAP_REFITS} bootstrap refits: {fits}; "
        f"{len(PENALTY_FACTORS)} were timed, and their mean is scaled up"
    )
    whole = features + one_fit.times(fits)
    ratios = {
        "features once and all fits": whole,
        "all fits, without features": one_fit.times(fits),
        "features once and all fits but the search's": features + one_fit.times(others),
        "features again for each fit, as in a pipeline": (features + one_fit).times(fits),
        f"features once and all fits at tolerance {CONVERGED:g}": features + exact_fit.times(fits),
    }
    print("ratio of processor time, of elapsed time")
    for name, theirs in ratios.items():
        print(f"{theirs.processor / ours.processor:>7.1f} {theirs.elapsed / ours.elapsed:>7.1f}  {name}")
    ratio = whole.processor / ours.processor
    print(f"target {TARGET:g} for the first ratio of processor time: {'reached' if ratio >= TARGET else 'MISSED'}")
    return 0 if ratio >= TARGET else 1


if __name__ == "__main__":
    raise SystemExit(main())
