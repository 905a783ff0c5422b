"""Efficient values with a classifier of outputs, where no two outputs are identical.

    python -m benchmarks.efficient_classifier --studies 200

Outputs are two normal features whose means differ between three models. The outcome depends on the features and, where
``hidden`` is not zero, on a quality of the first model's outputs that no feature shows. Exclusion given the output is
then satisfied and exclusion given the features is not.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from benchmarks.simulation import covers
from deconfound.design import FloatArray, IntArray
from deconfound.features import FeatureBlocks
from deconfound.features.output_probability import classified_output_probability
from deconfound.features.study_arrays import ExperimentArrays, LogArrays, ReplayArrays, StudyArrays
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment, tuned_doubly_robust
from deconfound.value.efficient import efficient

MODELS = ("a", "b", "c")
MEANS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
POPULATION = 200_000
NO_FEATURIZER: Any = None
NO_LOG: Any = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of study."""

    contexts: int = 600
    draws: int = 2
    useful_reward: bool = True
    hidden: float = 0.0  # added to the log odds of the first model's outputs


@dataclass(frozen=True, slots=True)
class SimulatedStudy:
    """A study as arrays, and the experiment with rewards."""

    arrays: StudyArrays
    data: ScoredExperiment


def success(x: FloatArray, z: FloatArray, model: IntArray, cell: Cell) -> FloatArray:
    """Probability of a good outcome."""
    return np.asarray(expit(0.7 * x + z @ np.array([0.9, -0.6]) + cell.hidden * (model == 0)))


def true_values(cell: Cell) -> FloatArray:
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=POPULATION), rng.normal(size=(POPULATION, 2))
    return np.array([success(x, noise + MEANS[a], np.array(a), cell).mean() for a in range(3)])


def draw(cell: Cell, rng: np.random.Generator) -> SimulatedStudy:
    count = cell.contexts
    x, own = rng.normal(size=count), np.arange(count)
    model = rng.integers(3, size=count)
    context, replayed = np.repeat(own, 3 * cell.draws), np.tile(np.repeat(np.arange(3), cell.draws), count)
    z, replayed_z = (rng.normal(size=(len(a), 2)) + MEANS[a] for a in (model, replayed))
    outcome = (rng.random(count) < success(x, z, model, cell)).astype(np.float64)
    third = np.full(count, 1 / 3)
    experiment = ExperimentArrays(_blocks(x, z), outcome, model, own, own, third, own)
    names = tuple(map(str, own))
    replay = ReplayArrays(_blocks(x[context], replayed_z), names, context, replayed, 3)
    log: LogArrays = NO_LOG
    no_model = np.array(-1)
    if cell.useful_reward:
        prediction = success(x, z, no_model, cell)
        of_draws = success(x[context], replayed_z, no_model, cell)
    else:
        prediction, of_draws = rng.random(count), rng.random(len(context))
    q = of_draws.reshape(count, 3, cell.draws).mean(axis=2)
    data = ScoredExperiment.from_arrays(MODELS, q, prediction, model, outcome)
    not_replayed = np.full(len(log.weight), -1)
    return SimulatedStudy(StudyArrays(MODELS, NO_FEATURIZER, log, experiment, replay, not_replayed), data)


def _blocks(x: FloatArray, z: FloatArray) -> FeatureBlocks:
    features = np.column_stack([x, z]) / np.sqrt(3)
    return FeatureBlocks(np.arange(len(x)), sparse.csr_matrix((len(x), 1)), features, None)


def report(name: str, cell: Cell, studies: int) -> str:
    truth, hits, plain_hits, ratios, rejected = true_values(cell), [], [], [], 0
    for number in range(studies):
        study = draw(cell, np.random.default_rng([3, number]))
        probability = classified_output_probability(study.arrays, np.full((cell.contexts, 3), 1 / 3))
        result, plain = efficient(study.data, probability), tuned_doubly_robust(study.data)
        hits.append(covers(result.values.interval(), truth))
        plain_hits.append(covers(plain.interval(), truth))
        ratios.append(result.values.half_width() / plain.half_width())
        rejected += result.exclusion.rejects()
    covered, plain_covered = np.mean(hits, axis=0), np.mean(plain_hits, axis=0)
    return (
        f"{name:36s} {np.mean(ratios):5.3f} {covered.min():5.3f} {covered.mean():5.3f} "
        f"{plain_covered.min():6.3f} {plain_covered.mean():5.3f} {rejected / studies:6.3f}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Efficient values with a classifier of outputs.")
    parser.add_argument("--studies", type=int, default=200)
    given = parser.parse_args(arguments)
    print(f"{given.studies} studies per row; width: efficient / doubly robust; worst and mean coverage of both")
    print(f"{'':36s} width worst  mean     dr  mean reject")
    base = Cell()
    cells = [
        ("all that matters is in the features", base),
        ("the same, useless reward", replace(base, useful_reward=False)),
        *((f"hidden quality, log odds {size:g}", replace(base, hidden=size)) for size in (0.2, 0.4)),
    ]
    with one_blas_thread():
        for name, cell in cells:
            print(report(name, cell, given.studies), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
