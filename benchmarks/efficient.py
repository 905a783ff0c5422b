"""Efficient values against doubly robust values and against both variance bounds, in simulated studies.

    python -m benchmarks.efficient --studies 400

A context has a few possible outputs, the first of them right, as with short answers or class labels. Models differ in
how often they write each. Outcomes are yes or no, with a probability that depends on context and output, plus a direct
effect of the model where exclusion is violated. The bounds are exact: variances of the two influence functions with the
true reward and the true probabilities of the outputs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import expit, ndtr, softmax

from benchmarks.simulation import covers
from deconfound.design import FloatArray, IntArray
from deconfound.features.output_probability import Outputs, exact_output_probability
from deconfound.threads import one_blas_thread
from deconfound.value import ScoredExperiment, Values, tuned_doubly_robust
from deconfound.value.efficient import EXCLUSION_LEVEL, EfficientValues, efficient
from deconfound.value.output_overlap import OutputOverlap

POPULATION = 100_000  # contexts behind true values and bounds: an error of 0.0005 of a value, 0.5 % of a bound
LEVEL = 0.95
Z = 1.96


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of study."""

    models: int = 4
    outputs: int = 6
    rows: int = 400  # in the experiment
    draws: int = 5  # per context and model in the replay
    reward: str = "good"  # or "true", "useless", "reversed"
    uneven: bool = False  # propensities differ between models
    users: bool = False  # three rows per user, with common noise
    rows_per_context: int = 1
    greedy: bool = False  # a model always writes the same output on a context
    overlap: bool = True  # otherwise every output is unique
    direct_effect: float = 0.0  # of the first model, in standard errors of its value; must leave success in (0, 1)

    @property
    def propensity(self) -> FloatArray:
        """Propensity of each model (k,)."""
        share = np.linspace(2.0, 1.0, self.models) if self.uneven else np.ones(self.models)
        return np.asarray(share / share.sum())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple("abcdefgh"[: self.models])


@dataclass(frozen=True, slots=True)
class Contexts:
    """Contexts with what happens on each."""

    output_probability: FloatArray  # (n, k, m)
    success: FloatArray  # (n, m) probability of a good outcome without a direct effect


@dataclass(frozen=True, slots=True)
class Truth:
    """True values and standard deviations of the influence functions, all (k,)."""

    value: FloatArray
    doubly_robust_sd: FloatArray
    efficient_sd: FloatArray


@dataclass(frozen=True, slots=True)
class SimulatedStudy:
    """One simulated study."""

    data: ScoredExperiment
    output_probability: FloatArray
    truth: FloatArray  # (k,)


def draw_contexts(cell: Cell, count: int, rng: np.random.Generator) -> Contexts:
    """Contexts differ in difficulty; models differ in skill and in the wrong outputs that they prefer."""
    difficulty = rng.normal(size=(count, 1))
    skill = np.linspace(0.8, -0.4, cell.models)
    right = expit(skill - difficulty)[:, :, None]
    preference = np.random.default_rng(3).normal(0.0, 0.5, (cell.models, cell.outputs - 1))
    wrong = softmax(preference + 0.7 * rng.normal(size=(count, 1, cell.outputs - 1)), axis=2)
    success = 0.15 + 0.35 * expit(rng.normal(size=(count, cell.outputs)))
    success[:, 0] = 0.6 + 0.3 * expit(-difficulty[:, 0])
    probability = np.concatenate([right, (1 - right) * wrong], axis=2)
    if cell.greedy:
        output = _draw_outputs(probability.reshape(-1, cell.outputs), rng)
        probability = np.eye(cell.outputs)[output].reshape(probability.shape)
    return Contexts(probability, success)


@lru_cache(maxsize=16)
def truth(cell: Cell) -> Truth:
    contexts, propensity = draw_contexts(cell, POPULATION, np.random.default_rng(6)), cell.propensity
    probability, noise = contexts.output_probability, contexts.success * (1 - contexts.success)
    q = np.einsum("nam,nm->na", probability, contexts.success)
    mixture = np.einsum("a,nam->nm", propensity, probability)
    own = np.einsum("nam,nm->a", probability, noise) / POPULATION / propensity
    noise_ratio = np.divide(noise, mixture, out=np.zeros_like(noise), where=mixture > 0)
    shared = np.einsum("nam,nm->a", probability**2, noise_ratio) / POPULATION
    return Truth(q.mean(axis=0), np.sqrt(q.var(axis=0) + own), np.sqrt(q.var(axis=0) + shared))


def direct_effects(cell: Cell) -> FloatArray:
    """Direct effect of each model (k,): zero for all but the first."""
    size = cell.direct_effect * truth(replace(cell, direct_effect=0.0)).doubly_robust_sd[0] / np.sqrt(cell.rows)
    return np.asarray(size * (np.arange(cell.models) == 0))


def draw(cell: Cell, rng: np.random.Generator) -> SimulatedStudy:
    row = np.arange(cell.rows)
    context = row // cell.rows_per_context
    contexts = draw_contexts(cell, int(context.max()) + 1, rng)
    model = rng.choice(cell.models, size=cell.rows, p=cell.propensity)
    output = _draw_outputs(contexts.output_probability[context, model], rng)
    cluster = row // 3 if cell.users else context
    effects = direct_effects(cell)
    noise = ndtr(_normal_noise(cluster, cell.users, rng))
    outcome = (noise < contexts.success[context, output] + effects[model]).astype(np.float64)
    reward = _reward(cell, contexts, rng)
    replayed = np.stack(
        [[_draw_outputs(contexts.output_probability[:, a], rng) for _ in range(cell.draws)] for a in range(cell.models)]
    )  # (k, draws, contexts)
    q = np.stack([reward[np.arange(len(reward)), drawn].mean(axis=0) for drawn in replayed], axis=1)
    propensities = np.tile(cell.propensity, (cell.rows, 1))
    data = ScoredExperiment.from_arrays(
        cell.names,
        q[context],
        reward[context, output],
        model,
        outcome,
        propensity=propensities[row, model],
        cluster=cluster,
    )
    probability = _probability(cell, Outputs(context, model, output), replayed, propensities)
    return SimulatedStudy(data, probability, truth(replace(cell, direct_effect=0.0)).value + effects)


def _draw_outputs(probability: FloatArray, rng: np.random.Generator) -> IntArray:
    uniform = rng.random((len(probability), 1))
    return np.asarray((uniform > probability.cumsum(axis=1)[:, :-1]).sum(axis=1))


def _normal_noise(cluster: IntArray, users: bool, rng: np.random.Generator) -> FloatArray:
    own = rng.normal(size=len(cluster))
    return np.sqrt(0.5) * (own + rng.normal(size=int(cluster.max()) + 1)[cluster]) if users else own


def _reward(cell: Cell, contexts: Contexts, rng: np.random.Generator) -> FloatArray:
    """A reward per context and output (n, m) that is the truth, follows it, ignores it or reverses it."""
    shape = contexts.success.shape
    if cell.reward == "true":
        return contexts.success
    if cell.reward == "useless":
        return rng.random(shape)
    signal = contexts.success if cell.reward == "good" else 1 - contexts.success
    return np.asarray(0.2 + 0.6 * signal + 0.05 * rng.normal(size=shape))


def _probability(cell: Cell, experiment: Outputs, replayed: IntArray, propensities: FloatArray) -> FloatArray:
    model, _, context = np.indices(replayed.shape)
    replay = Outputs(context.ravel(), model.ravel(), replayed.ravel())
    if not cell.overlap:
        rows = len(experiment.model)
        experiment = replace(experiment, output=np.arange(rows))
        replay = replace(replay, output=rows + np.arange(len(replay.model)))
    return exact_output_probability(experiment, replay, propensities)


@dataclass(frozen=True, slots=True)
class Performance:
    """Results of the studies of one cell."""

    covered: FloatArray  # (k,) share of studies
    simultaneous: float
    width: FloatArray  # (k,) mean half-width / (1.96 * standard deviation of the efficient bound)
    rmse: FloatArray  # (k,) / standard deviation of the efficient bound
    bias: FloatArray  # (k,) mean error in its own standard errors


@dataclass(frozen=True, slots=True)
class Summary:
    """Both methods on the same studies."""

    doubly_robust: Performance
    efficient: Performance
    bound_ratio: FloatArray  # (k,) standard deviation of the efficient bound / that of the doubly robust one
    rejected: float  # share of studies in which the exclusion test rejects
    uses_shared_outputs: float  # share of models
    overlap: OutputOverlap  # of the last study


def simulate(cell: Cell, studies: int, seed: int = 0, level: float = EXCLUSION_LEVEL) -> Summary:
    results: list[EfficientValues] = []
    plain: list[Values] = []
    for number in range(studies):
        study = draw(cell, np.random.default_rng([seed, number]))
        results.append(efficient(study.data, study.output_probability, level=level))
        plain.append(tuned_doubly_robust(study.data))
    exact = truth(replace(cell, direct_effect=0.0))
    bound = exact.efficient_sd / np.sqrt(cell.rows)
    return Summary(
        doubly_robust=_performance(plain, study.truth, bound),
        efficient=_performance([result.values for result in results], study.truth, bound),
        bound_ratio=exact.efficient_sd / exact.doubly_robust_sd,
        rejected=float(np.mean([result.exclusion.rejects(level) for result in results])),
        uses_shared_outputs=float(np.mean([result.uses_shared_outputs for result in results])),
        overlap=OutputOverlap.from_probability(study.output_probability, study.data.model),
    )


def _performance(values: Sequence[Values], truth: FloatArray, bound: FloatArray) -> Performance:
    error = np.array([one.estimate - truth for one in values])
    return Performance(
        covered=np.mean([covers(one.interval(LEVEL), truth) for one in values], axis=0),
        simultaneous=float(np.mean([covers(one.interval(LEVEL, simultaneous=True), truth).all() for one in values])),
        width=np.mean([one.half_width(LEVEL) for one in values], axis=0) / (Z * bound),
        rmse=np.sqrt((error**2).mean(axis=0)) / bound,
        bias=error.mean(axis=0) / (error.std(axis=0, ddof=1) / np.sqrt(len(values))),
    )


def cells() -> list[tuple[str, Cell]]:
    answers = Cell()
    greedy = replace(answers, greedy=True, draws=1)
    classes = Cell(models=5, outputs=8, rows=500, draws=1, greedy=True)
    sizes = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0)
    return [
        ("greedy answers", greedy),
        ("greedy, useless reward", replace(greedy, reward="useless")),
        ("greedy, reversed reward", replace(greedy, reward="reversed")),
        ("greedy, 100 rows", replace(greedy, rows=100)),
        ("greedy, uneven", replace(greedy, uneven=True)),
        ("greedy, users", replace(greedy, users=True)),
        ("greedy classes, 5 models", classes),
        *((f"answers, draws {draws}", replace(answers, draws=draws)) for draws in (1, 5, 20)),
        ("answers, 4 rows per context", replace(answers, rows_per_context=4, draws=2)),
        ("three models", Cell(models=3, outputs=4, rows=300, draws=20)),
        ("no overlap", replace(answers, overlap=False)),
        *((f"direct effect {size:g} se", replace(greedy, rows=1600, direct_effect=-size)) for size in sizes),
    ]


def _columns(p: Performance) -> str:
    covered = f"{p.covered.min():5.3f} {p.covered.mean():5.3f} {p.simultaneous:4.2f}"
    return f"{p.rmse.mean():4.2f} {p.width.mean():5.3f} {covered}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Efficient values against doubly robust values and both bounds.")
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--level", type=float, default=EXCLUSION_LEVEL, help="of the exclusion test")
    parser.add_argument("--cells", default="", help="only cells whose name contains this")
    given = parser.parse_args(arguments)
    print(f"{given.studies} studies per row, intervals of level {LEVEL}, exclusion test of level {given.level}.")
    print("width and rmse: relative to the efficient bound, mean over models; ratio: efficient / doubly robust bound;")
    print("worst and mean: coverage over models; all: simultaneous coverage; models: effective number per output;")
    print("reject: rate of the exclusion test; use: share of models that use shared outputs")
    print(f"{'':28s}              doubly robust             |                efficient")
    print(f"{'':28s} ratio models rmse width worst  mean  all | rmse width worst  mean  all reject  use")
    with one_blas_thread():
        for name, cell in (one for one in cells() if given.cells in one[0]):
            s = simulate(cell, given.studies, given.seed, given.level)
            columns = " | ".join(_columns(p) for p in (s.doubly_robust, s.efficient))
            print(
                f"{name:28s} {s.bound_ratio.mean():5.3f} {s.overlap.effective_models:6.2f} {columns} "
                f"{s.rejected:6.3f} {s.uses_shared_outputs:4.2f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
