"""Missing outcomes: false alarms and power of the checks, and coverage of bounds and of weighted values.

    python -m benchmarks.missing_outcomes --studies 1000
    python -m benchmarks.missing_outcomes --studies 1000 --only "by model"

Four models with 60 randomized rows each and yes/no outcomes. A context has one feature, an output another; both move
the outcome. In each scenario outcomes are lost in another way. Values are estimated without a reward: the benchmark
examines bounds and weights, not the fit.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.simulation import covers
from deconfound.data import Experiment, Log, Replay, Study
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.missing_outcomes import check_missing_outcomes
from deconfound.diagnose.multiplicity import judge
from deconfound.features import FeatureSpec
from deconfound.features.randomized_rows import RandomizedRows
from deconfound.features.study_arrays import StudyArrays
from deconfound.threads import one_blas_thread
from deconfound.value import experiment_only
from deconfound.value.unrated_rows import bound_values, rating_weights

MODELS = ("ant", "bee", "cat", "dog")
QUALITY = np.array([0.35, 0.45, 0.55, 0.65])
ROWS_PER_MODEL, LOG_ROWS, LEVEL = 60, 200, 0.95
CONTEXT_EFFECT, OUTPUT_EFFECT = 0.08, 0.12
USER_ROWS = 3  # randomized rows per user, where there are users


@dataclass(frozen=True, slots=True)
class Rows:
    """Randomized rows before any outcome is lost."""

    model: IntArray
    user: IntArray
    context: FloatArray
    output: FloatArray
    outcome: FloatArray


Losing = Callable[[Rows, np.random.Generator], FloatArray]
"""The probability (n,) that the outcome of a row is lost."""

SCENARIOS: dict[str, Losing] = {
    "at random": lambda rows, _rng: np.full(len(rows.model), 0.2),
    "by user": lambda rows, rng: rng.choice([0.02, 0.6], int(rows.user.max()) + 1)[rows.user],
    "by context": lambda rows, _rng: expit(-1.5 + 1.2 * rows.context),
    "by output": lambda rows, _rng: expit(-1.5 + 1.2 * rows.output),
    "by model": lambda rows, _rng: np.array([0.3, 0.1, 0.1, 0.1])[rows.model],
    "by outcome": lambda rows, _rng: np.where(rows.outcome > 0.5, 0.35, 0.05),
    "by model and outcome": lambda rows, _rng: np.where((rows.model == 3) & (rows.outcome > 0.5), 0.45, 0.0),
}
INDEPENDENT = ("at random", "by user", "by context")
"""Scenarios in which a missing outcome depends neither on the model nor, given the model, on its output."""

IGNORABLE = (*INDEPENDENT, "by output", "by model")
"""Scenarios in which the assumption of weighted values is true."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What one study shows."""

    warned: bool
    failed: bool
    complete_cases: NDArray[np.bool_]  # (k,) whether the interval of the rated rows alone covers the value
    weighted: NDArray[np.bool_]
    bounds: NDArray[np.bool_]
    width: float  # of the bounds


def simulate_rows(rng: np.random.Generator) -> Rows:
    """One experiment; context and output have unit variance, and outputs do not depend on contexts."""
    n = ROWS_PER_MODEL * len(MODELS)
    user = np.repeat(np.arange(n // USER_ROWS), USER_ROWS)
    model, context, output = rng.integers(len(MODELS), size=n), rng.standard_normal(n), rng.standard_normal(n)
    chance = _chance(model, context, output)
    return Rows(model, user, context, output, (rng.random(n) < chance).astype(np.float64))


def true_values() -> FloatArray:
    """The value of each model, by a large sample."""
    context, output = np.random.default_rng(0).standard_normal((2, 1_000_000))
    return np.array([_chance(np.full(len(context), a), context, output).mean() for a in range(len(MODELS))])


def _chance(model: IntArray, context: FloatArray, output: FloatArray) -> FloatArray:
    return np.asarray(np.clip(QUALITY[model] + CONTEXT_EFFECT * context + OUTPUT_EFFECT * output, 0.02, 0.98))


def make_study(rows: Rows, lost: NDArray[np.bool_], rng: np.random.Generator) -> Study:
    """The study of these rows, with features instead of text."""
    ids = [f"c{i}" for i in range(len(rows.model))]
    experiment = pa.table(
        {
            "context_id": ids,
            "model": [MODELS[a] for a in rows.model],
            "outcome": np.where(lost, np.nan, rows.outcome),
            "cluster": [f"u{u}" for u in rows.user],
            "feature_context": rows.context,
            "feature_output": rows.output,
        }
    )
    every = np.repeat(np.arange(len(ids)), len(MODELS))
    replay = pa.table(
        {
            "context_id": [ids[i] for i in every],
            "model": list(MODELS) * len(ids),
            "draw": np.zeros(len(every), dtype=np.int64),
            "feature_context": rows.context[every],
            "feature_output": rng.standard_normal(len(every)),
        }
    )
    logged = rng.integers(len(ids), size=LOG_ROWS)
    log = experiment.take(pa.array(logged)).drop_columns(["cluster"])
    log = log.set_column(log.column_names.index("outcome"), "outcome", pa.array(rows.outcome[logged]))
    return Study.from_tables(Log(log, "log"), Experiment(experiment, "experiment"), Replay(replay, "replay"))


def measure(losing: Losing, truth: FloatArray, seed: int) -> Measures:
    """Simulate one study, check it, and estimate its values in three ways."""
    rng = np.random.default_rng(seed)
    rows = simulate_rows(rng)
    study = make_study(rows, rng.random(len(rows.model)) < losing(rows, rng), rng).in_content_order()
    arrays = StudyArrays.from_study(study, FeatureSpec())
    findings = judge(check_missing_outcomes(study, arrays, seed), LEVEL)
    unrated = study.experiment.filter(np.zeros(len(study.experiment), dtype=bool))
    randomized = RandomizedRows.from_study(study, study.unrated_experiment or unrated, arrays)
    weights = rating_weights(randomized, seed)
    rated = ~randomized.is_missing
    columns = (randomized.model[rated], randomized.outcome[rated], randomized.propensity[rated])
    clusters = randomized.noise_clusters[rated]
    plain = experiment_only(MODELS, *columns, clusters)
    weighted = experiment_only(MODELS, *columns, clusters, weight=None if weights is None else weights.weight)
    lowest, highest = bound_values(MODELS, randomized)
    bounds = np.column_stack([lowest.interval(LEVEL)[:, 0], highest.interval(LEVEL)[:, 1]])
    verdicts = {finding.verdict for finding in findings}
    return Measures(
        bool(verdicts & {"warn", "fail"}),
        "fail" in verdicts,
        covers(plain.interval(LEVEL), truth),
        covers(weighted.interval(LEVEL), truth),
        covers(bounds, truth),
        float(np.diff(bounds, axis=1).mean()),
    )


def summarize(name: str, measures: Sequence[Measures]) -> str:
    """One row of the table."""
    alarms = [np.mean([getattr(one, kind) for one in measures]) for kind in ("warned", "failed")]
    covered = [
        np.mean([getattr(one, kind) for one in measures], axis=0).min()
        for kind in ("complete_cases", "weighted", "bounds")
    ]
    width = np.mean([one.width for one in measures])
    shares = "  ".join(f"{100 * share:8.1f}" for share in (*alarms, *covered))
    return f"{name:22}{shares}  {width:8.3f}"


def parse_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The options; every scenario unless some are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=9_000)
    parser.add_argument("--only", action="append", choices=SCENARIOS, metavar="NAME", help="a scenario; repeatable")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Print one row per scenario; the studies of a scenario do not depend on which others run."""
    given = parse_arguments(words)
    truth = true_values()
    print("Share of studies; coverage of the worst model, nominal 95 %.\n")
    print("scenario                warned  failed  rated rows  weighted  bounds  width of bounds")
    with one_blas_thread():
        for name in given.only or SCENARIOS:
            measures = [measure(SCENARIOS[name], truth, given.seed + i) for i in range(given.studies)]
            print(summarize(name, measures), flush=True)


if __name__ == "__main__":
    main()
