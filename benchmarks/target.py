"""Values for a target whose contexts differ from the experiment's: coverage of 95 % intervals, with exact truth.

    python -m benchmarks.target --studies 200 --evaluations 40

Columns of contexts are independent and uniform with mean 0 and standard deviation 1. In the target, one column or all
have the density exp(tilt x) or exp(tilt x^2) times the uniform one. The mean outcome is 1/2 + slope x, or
1/2 + slope (x^2 - 1), for all models, so that a value is a one-dimensional integral. The log has no bias and the
experiment's contexts. ``--studies`` counts studies of the estimators alone, in which the reward knows half of the
slope; ``--evaluations`` counts whole evaluations. Targets: coverage of 93 % or more, and a log called biased or
misleading in at most 10 % (two questions, at 5 % each).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

import deconfound as dc
from benchmarks.simulation import covers
from deconfound.design import FloatArray, IntArray
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment, tuned_doubly_robust
from deconfound.value.target_sampling import target_sampling_variance
from deconfound.value.transport import TransportWeights

MODELS = ("ant", "bee", "cat")
VALUE = 0.5  # of every model on the experiment's contexts
PRECISION = 6.0  # of the beta distribution of outcomes: variance m (1 - m) / 7
EDGE = float(np.sqrt(3.0))  # of a uniform variable with standard deviation one
GRID = np.linspace(-EDGE, EDGE, 20_001)
OUTPUT_EFFECT = 0.03  # of feature_output, in whole evaluations
LOG_ROWS = 300
SEED = 1
MIN_COVERAGE, MAX_FALSE_BIAS = 0.93, 0.10


@dataclass(frozen=True, slots=True)
class Scenario:
    """One kind of target."""

    name: str
    columns: int
    shape: Literal["linear", "spread"] = "linear"  # of the tilt and of the outcome
    rows: int = 200  # of the experiment
    target_rows: int = 200
    tilt: float = 0.6
    slope: float = 0.14  # divided by the root of the number of shifted columns
    shifted: int = 1  # columns that differ and matter

    def effect(self, contexts: FloatArray) -> FloatArray:
        """Mean outcome less ``VALUE`` of contexts (n, columns)."""
        x = contexts[:, : self.shifted]
        return np.asarray(self.slope / np.sqrt(self.shifted) * self._shape(x).sum(axis=1))

    def _shape(self, x: FloatArray) -> FloatArray:
        return x if self.shape == "linear" else x**2 - 1

    def _density(self) -> FloatArray:
        density = np.exp(self.tilt * self._shape(GRID))
        return np.asarray(density / density.sum())

    def truth(self) -> float:
        """The value of every model on the target."""
        return VALUE + self.slope * float(np.sqrt(self.shifted) * self._density() @ self._shape(GRID))

    def contexts(self, rows: int, rng: np.random.Generator, *, target: bool) -> FloatArray:
        """Contexts (rows, columns) of the experiment's population, or of the target's."""
        contexts = rng.uniform(-EDGE, EDGE, (rows, self.columns))
        if target:
            contexts[:, : self.shifted] = rng.choice(GRID, (rows, self.shifted), p=self._density())
        return contexts


SCENARIOS = (
    Scenario("target_linear_2", 2, target_rows=500),
    Scenario("target_linear_12", 12),
    Scenario("target_linear_12_few", 12, rows=120, target_rows=120),
    Scenario("target_linear_20", 20, tilt=0.8, target_rows=500),
    Scenario("target_linear_all_12", 12, tilt=0.3, slope=0.08, shifted=12),
    Scenario("target_spread", 2, "spread", tilt=0.8, target_rows=500),
    Scenario("target_spread_12", 12, "spread", tilt=0.8),
    Scenario("target_spread_12_few", 12, "spread", rows=120, target_rows=120, tilt=0.8),
    Scenario("target_short", 4, rows=400, target_rows=40),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one study showed."""

    covered: float  # share of the models
    error: float  # mean over the models
    standard_error: float
    effective_rows: float
    warned: bool  # of a remaining difference
    log_verdict: str = ""


def outcomes(mean: FloatArray, rng: np.random.Generator) -> FloatArray:
    return rng.beta(PRECISION * mean, PRECISION * (1 - mean))


def study_of_estimators(scenario: Scenario, rng: np.random.Generator) -> Measured:
    """Weights and doubly robust values; the reward knows half of the slope."""
    own = scenario.contexts(scenario.rows, rng, target=False)
    target = scenario.contexts(scenario.target_rows, rng, target=True)
    weights = TransportWeights.fit(own, target, 0)
    model, effect = rng.integers(len(MODELS), size=scenario.rows), scenario.effect(own)
    q = np.repeat((VALUE + effect / 2)[:, None], len(MODELS), axis=1)
    outcome = outcomes(VALUE + effect, rng)
    data = ScoredExperiment.from_arrays(MODELS, q, q[:, 0], model, outcome, weight=weights.weight)
    values = tuned_doubly_robust(data).with_common_error(target_sampling_variance(weights, model, outcome))
    truth = np.full(len(MODELS), scenario.truth())
    return Measured(
        float(covers(values.interval(), truth).mean()),
        float((values.estimate - truth).mean()),
        float(values.standard_error.mean()),
        weights.effective_rows,
        weights.imbalance > 0,
    )


def table(contexts: FloatArray, prefix: str) -> dict[str, list[str] | FloatArray]:
    columns = {f"feature_{code}": column for code, column in enumerate(contexts.T)}
    return {"context_id": [f"{prefix}{code}" for code in range(len(contexts))], **columns}


def rated(scenario: Scenario, contexts: FloatArray, prefix: str, rng: np.random.Generator) -> pa.Table:
    """Rows with a uniformly drawn model."""
    output, model = rng.uniform(-1, 1, len(contexts)), rng.integers(len(MODELS), size=len(contexts))
    mean = VALUE + scenario.effect(contexts) + OUTPUT_EFFECT * output
    names = [MODELS[code] for code in model]
    columns = {"model": names, "feature_output": output, "outcome": outcomes(mean, rng)}
    return pa.table({**table(contexts, prefix), **columns})


def replayed(contexts: FloatArray, model: IntArray, rng: np.random.Generator) -> pa.Table:
    columns = table(np.tile(contexts, (len(MODELS), 1)), "e")
    columns["context_id"] = [f"e{code}" for code in range(len(contexts))] * len(MODELS)
    names = [MODELS[code] for code in model]
    return pa.table({**columns, "model": names, "feature_output": rng.uniform(-1, 1, len(model))})


def whole_evaluation(scenario: Scenario, rng: np.random.Generator) -> Measured:
    """A whole evaluation of three tables and a target."""
    own = scenario.contexts(scenario.rows, rng, target=False)
    study = dc.load(
        log=rated(scenario, scenario.contexts(LOG_ROWS, rng, target=False), "l", rng),
        experiment=rated(scenario, own, "e", rng),
        replay=replayed(own, np.repeat(np.arange(len(MODELS)), scenario.rows), rng),
    )
    target = pa.table(table(scenario.contexts(scenario.target_rows, rng, target=True), "t"))
    result = dc.evaluate(study, options=dc.EvaluationOptions(target=target))
    truth = np.full(len(MODELS), scenario.truth())
    return Measured(
        float(covers(result.values.interval(), truth).mean()),
        float((result.values.estimate - truth).mean()),
        float(result.values.standard_error.mean()),
        result.population.effective_rows,
        any(f.check == "overlap with the target" and "still differ" in f.message for f in result.findings),
        result.log_bias.verdict,
    )


def line(name: str, studies: list[Measured]) -> str:
    coverage = np.array([one.covered for one in studies])
    error = np.array([one.error for one in studies])
    biased = np.mean([one.log_verdict not in ("", "no bias shown") for one in studies])
    mean = {field: np.mean([getattr(one, field) for one in studies]) for field in ("standard_error", "effective_rows")}
    return (
        f"{name:24s}{len(studies):6d}  coverage {coverage.mean():6.1%} ± {coverage.std() / np.sqrt(len(studies)):5.1%}"
        f"  error {error.mean():+.4f} (sd {error.std():.4f})  standard error {mean['standard_error']:.4f}"
        f"  rows {mean['effective_rows']:4.0f}  warned {np.mean([one.warned for one in studies]):4.0%}"
        f"  log called biased {biased:4.0%}"
    )


def missed(studies: list[Measured]) -> bool:
    """Whether a target is missed by more than two standard errors of the simulation."""
    coverage = np.array([one.covered for one in studies])
    biased = np.mean([one.log_verdict not in ("", "no bias shown") for one in studies])
    error = coverage.std() / np.sqrt(len(studies))
    bias_error = np.sqrt(MAX_FALSE_BIAS * (1 - MAX_FALSE_BIAS) / len(studies))
    return bool(coverage.mean() < MIN_COVERAGE - 2 * error or biased > MAX_FALSE_BIAS + 2 * bias_error)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Coverage of values that are weighted to a target.")
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--evaluations", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[one.name for one in SCENARIOS])
    given = parser.parse_args(arguments)
    failed = False
    with one_blas_thread():
        for number, scenario in enumerate(SCENARIOS):
            for count, run in ((given.studies, study_of_estimators), (given.evaluations, whole_evaluation)):
                if scenario.name not in given.only or not count:
                    continue
                studies = [run(scenario, np.random.default_rng([SEED, number, n])) for n in range(count)]
                failed |= missed(studies)
                name = scenario.name + " (whole)" * (run is whole_evaluation)
                print(line(name, studies), flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
