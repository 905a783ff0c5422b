"""How much faster is an evaluation of a long log than the same fits with scikit-learn?

    python -m benchmarks.long_log_sklearn                # 200,000 rows, about ten minutes
    python -m benchmarks.long_log_sklearn --rows 20000

**deconfound**: ``load`` and ``evaluate`` with ``auto`` on a log in Parquet files, all of whose rows differ. That is
everything: reading, features, the search for the variances, all fits, checks, values and recommendations.

**scikit-learn**: ``HashingVectorizer`` reads the same texts once, into as many columns. The fits are those of ``auto``:
a ``Ridge`` with its default solver on log and experiment together, whose columns are those of the reward and, in rows
of the log, again those of its bias, each scaled by the root of its prior variance. That this is the same fit is
checked: predictions at a small tolerance must agree to 1e-5. All fits but one are at scikit-learn's default tolerance.

A fit is counted for each cross-fit, for all rows, for each cross-fit without the log's rows on held-out contexts and
for each bootstrap refit. ``auto`` finds its variances by a likelihood, which scikit-learn lacks. There, each point that
the second, wider search looks at is a candidate in cross-validation with five folds, its default. Further lines count
less: one fit per candidate, and no search at all. A few fits are timed and scaled up. Reading, checks, values and
recommendations are not counted, nor are the columns that are not words.

The exit code is 1 if the first ratio, of processor time, misses its target or predictions disagree.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Ridge

import deconfound as dc
from benchmarks.long_log_studies import World, write_log
from deconfound.crossfit import BOOTSTRAP_REFITS, CrossFit
from deconfound.data import Log
from deconfound.design import FloatArray, Rows
from deconfound.design.storage import CsrMatrix
from deconfound.features.log_pass import LONG_LOG_WIDTH
from deconfound.features.study_arrays import LogArrays
from deconfound.prepared_study import FOLDS, PreparedStudy
from deconfound.reward import Auto, Family, VarianceComponents
from deconfound.reward.auto.linear_columns import LinearMoments, LinearRows
from deconfound.reward.auto.long_log import LEARNING_WIDTH
from deconfound.reward.auto.moment_likelihood import MomentLikelihood
from deconfound.surface_share import StudyTrainingData

TARGET = 30.0
EXPERIMENT_ROWS = 600
CROSS_VALIDATION = 5  # folds by default
DEFAULT_TOLERANCE, SMALL_TOLERANCE = 1e-4, 1e-6  # of ``Ridge``
MAX_DIFFERENCE = 1e-5  # of predictions at the small tolerance
TIMED_FITS = 2
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


def hash_texts(tables: list[pa.Table]) -> None:
    """Words and word pairs of contexts and outputs, half of the columns each."""
    hashing = HashingVectorizer(n_features=LONG_LOG_WIDTH // 2, ngram_range=(1, 2), alternate_sign=True)
    for name in ("context", "output"):
        for table in tables:
            hashing.transform(table[name].to_pylist())


@dataclass(frozen=True)
class SameFit:
    """The final fit of ``auto`` as a ridge: features, outcomes minus their mean, penalty, and what it must predict."""

    features: sparse.csr_matrix  # (log rows + n, 3 columns)
    outcome: FloatArray  # (log rows + n,)
    penalty: float
    experiment: sparse.csr_matrix  # (n, 3 columns)
    prediction: FloatArray  # (n,)
    mean: float

    @classmethod
    def from_study(cls, prepared: PreparedStudy, fitted: CrossFit[Family], log: pa.Table) -> SameFit:
        """Features by deconfound; ``log`` has all rows."""
        arrays, data = prepared.arrays, StudyTrainingData(prepared.arrays).at(0.0)
        estimator = fitted.final.tuned.estimator
        assert isinstance(estimator, Auto)  # noqa: S101
        variances, moments = estimator.variance_components, data.log.moments
        assert variances is not None and moments is not None  # noqa: S101, PT018
        blocks = arrays.featurizer.blocks(log)
        whole = replace(arrays, log=LogArrays.from_log(Log(log, "log"), blocks, arrays.models), long_log=None)
        log_rows, experiment = whole.log_rows(0.0), data.experiment
        columns = [_columns(rows, moments) for rows in (log_rows, experiment)]
        of_log, of_experiment = columns
        reward, bias, unshared = (
            sparse.diags(np.sqrt(moments.columns.variances(part, moments.scale)))
            for part in (variances.reward, variances.bias, variances.unshared)
        )
        log_features = [of_log @ reward, of_log @ bias, None]
        experiment_features = [of_experiment @ reward, None, of_experiment @ unshared]
        features = sparse.bmat([log_features, experiment_features], format="csr")
        features.eliminate_zeros()
        outcome = np.concatenate([log_rows.require_outcome(), experiment.require_outcome()]) - moments.mean
        predicted = fitted.final.reward.predict(experiment)
        return cls(features, outcome, variances.noise, features[len(log_rows) :], predicted, moments.mean)

    def fit(self, tolerance: float) -> tuple[Seconds, float]:
        """The time of one fit, and how far its predictions are from those of ``auto``."""
        ridge = Ridge(alpha=self.penalty, fit_intercept=False, tol=tolerance)
        _, seconds = timed(lambda: ridge.fit(self.features, self.outcome))
        predicted = np.clip(self.experiment @ ridge.coef_ + self.mean, 0.0, 1.0)
        return seconds, float(np.abs(predicted - self.prediction).max())


def _columns(rows: Rows, moments: LinearMoments) -> sparse.csr_matrix:
    """Text, proxies, one, and for the row's model one and the effect modifiers."""
    linear, n = LinearRows.from_rows(rows, moments.scale, moments.columns.models), len(rows)
    own = np.column_stack([np.ones(n), linear.modifiers])
    at = (linear.model[:, None] * own.shape[1] + np.arange(own.shape[1])).ravel()
    row = np.repeat(np.arange(n), own.shape[1])
    by_model = sparse.csr_matrix((own.ravel(), (row, at)), (n, moments.columns.models * own.shape[1]))
    assert isinstance(rows.phi, CsrMatrix)  # noqa: S101
    return sparse.hstack([rows.phi.csr, sparse.csr_matrix(linear.psi), np.ones((n, 1)), by_model], format="csr")


def write_study(folder: Path, rows: int) -> tuple[list[pa.Table], int]:
    """Write the three tables; returns log and experiment, and the bytes of the log's texts."""
    world = World(0, 0.5)
    experiment, replay, _ = world.experiment_and_replay(EXPERIMENT_ROWS)
    (folder / "log").mkdir()
    size = write_log(world, rows, experiment, folder / "log")
    pq.write_table(experiment, folder / "experiment.parquet")
    pq.write_table(replay, folder / "replay.parquet")
    return [pq.read_table(folder / "log"), experiment], size


def evaluate_study(folder: Path) -> tuple[PreparedStudy, CrossFit[Family]]:
    """``load`` and ``evaluate``, whose parts are returned."""
    tables = (folder / "log", folder / "experiment.parquet", folder / "replay.parquet")
    prepared = dc.prepare(dc.load(log=tables[0], experiment=tables[1], replay=tables[2]))
    fitted = prepared.cross_fit("auto")
    prepared.result(fitted)
    return prepared, fitted


def main() -> int:
    """Time both, and print what was timed and what was extrapolated."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tables, size = write_study(Path(name), arguments.rows)
        print(f"{arguments.rows:,} log rows, {size / 1e6:.0f} MB of text, {EXPERIMENT_ROWS} randomized rows")
        count = count_search()
        (prepared, fitted), ours = timed(lambda: evaluate_study(Path(name)))
    print(f"deconfound, load and evaluate: {ours}", flush=True)
    same = SameFit.from_study(prepared, fitted, tables[0])
    _, features = timed(lambda: hash_texts(tables))
    print(f"scikit-learn, texts, timed: {features}", flush=True)
    print(f"scikit-learn, fits to {same.features.shape[0]:,} rows and {same.features.shape[1]:,} columns:")
    fits = [same.fit(DEFAULT_TOLERANCE) for _ in range(TIMED_FITS)]
    for seconds, off in (*fits, exact := same.fit(SMALL_TOLERANCE)):
        print(f"  one fit, timed: {seconds}; predictions differ by {off:.1e}", flush=True)
    one_fit = sum((seconds for seconds, _ in fits), Seconds(0.0, 0.0)).times(1 / len(fits))
    ratio = report(ours, features, one_fit, count)
    agrees = exact[1] < MAX_DIFFERENCE
    print(f"target {TARGET:g}: {'reached' if ratio >= TARGET else 'MISSED'}; fits {'agree' if agrees else 'DISAGREE'}")
    return 0 if ratio >= TARGET and agrees else 1


def report(ours: Seconds, features: Seconds, one_fit: Seconds, count: SearchCount) -> float:
    """Print the ratios; returns the first."""
    others = 2 * FOLDS + 1 + BOOTSTRAP_REFITS
    print(
        f"the wider search looked at {count.wide} points (a narrower one before it, {count.narrow}, is not counted); "
        f"{FOLDS} cross-fits, 1 on all rows, {FOLDS} without held-out contexts, {BOOTSTRAP_REFITS} bootstrap refits"
    )
    counted = {
        f"candidates in {CROSS_VALIDATION} folds, and all other fits": CROSS_VALIDATION * count.wide + others,
        "one fit per candidate, and all other fits": count.wide + others,
        "no search, all other fits": others,
    }
    print("ratio of processor time, of elapsed time, fits of scikit-learn")
    ratios = []
    for name, fits in counted.items():
        theirs = features + one_fit.times(fits)
        ratios.append(theirs.processor / ours.processor)
        print(f"{ratios[-1]:>7.1f} {theirs.elapsed / ours.elapsed:>7.1f} {fits:>5}  {name}")
    return ratios[0]


if __name__ == "__main__":
    raise SystemExit(main())
