"""Values of eight models through real fits: error against the experiment alone as the log's bias grows, and coverage.

    python -m benchmarks.auto --part error --studies 200
    python -m benchmarks.auto --part coverage --studies 1000

A study has 400 contexts, eight models and yes-or-no outcomes whose chance is a model's quality plus something linear in
twelve features of the output. The log has 1,500 rows; each model's chance of a yes is off by N(0, bias^2) there, with
the bias counted in standard errors of the experiment's mean of one model. All families go through the same five-fold
cross-fitting and `powered`; `auto` is shrunk towards its own reward as `evaluate` does it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from deconfound.design import FloatArray, IntArray, Rows, group_folds
from deconfound.linalg import one_blas_thread
from deconfound.reward import FAMILIES, Auto, Family, TrainingData, family_by_name
from deconfound.value import Values, experiment_only, shrink_toward, tuned_doubly_robust

MODELS = tuple(f"model {number}" for number in range(8))
CONTEXTS, FEATURES, PROXIES, LOG_ROWS, FOLDS = 400, 12, 4, 1500, 5
BIASES = (0.0, 1.0, 2.0, 4.0, 10.0)
SPREAD = 0.46  # of a yes-or-no outcome whose chances lie around one half


@dataclass(frozen=True, slots=True)
class Study:
    """Both sources, the outputs of every model on every context, and the values they are drawn around."""

    log: Rows
    experiment: Rows
    model: IntArray  # of the experiment's rows
    context: IntArray
    phi: FloatArray  # (contexts, models, features)
    psi: FloatArray
    value: FloatArray  # (models,)


def simulate(rows: int, bias: float, seed: int) -> Study:
    """A study with so many experiment rows a model and a log bias of so many standard errors."""
    rng = np.random.default_rng([seed, rows])
    count = len(MODELS)
    phi = rng.standard_normal((CONTEXTS, count, FEATURES)) / np.sqrt(FEATURES)
    psi = phi @ rng.standard_normal((FEATURES, PROXIES)) + 0.5 * rng.standard_normal((CONTEXTS, count, PROXIES))
    quality = 0.5 + 0.08 * rng.standard_normal(count)
    truth = np.clip(quality + phi @ (0.2 * rng.standard_normal(FEATURES)), 0.02, 0.98)
    off = bias * SPREAD / np.sqrt(rows) * rng.standard_normal(count)
    draw = partial(_draw, rng, phi, psi, truth)
    log = draw(rng.integers(count, size=LOG_ROWS), rng.integers(CONTEXTS, size=LOG_ROWS), off)
    model, context = rng.integers(count, size=rows * count), rng.integers(CONTEXTS, size=rows * count)
    experiment = draw(model, context, np.zeros(count))
    return Study(log, experiment, model, context, phi, psi, truth.mean(axis=0))


def _draw(
    rng: np.random.Generator,
    phi: FloatArray,
    psi: FloatArray,
    truth: FloatArray,
    model: IntArray,
    context: IntArray,
    off: FloatArray,
) -> Rows:
    chance = np.clip(truth[context, model] + off[model], 0.0, 1.0)
    outcome = (rng.random(len(model)) < chance).astype(np.float64)
    return Rows(phi[context, model], psi[context, model], outcome, model, context=context)


def estimate(study: Study, family: Family) -> Values:
    """Values as ``evaluate`` gets them from one family."""
    experiment = study.experiment
    sources = TrainingData(study.log, experiment)
    family = family.resolve(sources)
    prepared = type(family).prepare(sources, [family])
    replay = [Rows(study.phi[:, a], study.psi[:, a], model=np.full(CONTEXTS, a)) for a in range(len(MODELS))]
    q, prediction = np.empty((len(experiment), len(MODELS))), np.empty(len(experiment))
    for fold in group_folds(study.context, FOLDS, 0):
        fit = prepared.fit(family, fold.train)
        everywhere = np.column_stack([fit.predict(rows) for rows in replay])
        q[fold.held_out] = everywhere[study.context[fold.held_out]]
        prediction[fold.held_out] = fit.predict(experiment.take(fold.held_out))
    values = tuned_doubly_robust(
        MODELS, q, study.model, experiment.require_outcome(), prediction, cluster=study.context
    )
    return shrink_toward(values, q.mean(axis=0)) if family.shrinks_values else values


def alone(study: Study) -> Values:
    """The experiment's own means."""
    return experiment_only(MODELS, study.model, study.experiment.require_outcome(), cluster=study.context)


def error(studies: int, sizes: Sequence[int]) -> None:
    """Root mean square error of all eight values, auto's over the experiment's."""
    print(f"{'rows a model':>12}  {'log bias':>8}  {'auto / alone':>12}  {'± se':>6}")
    for rows in sizes:
        for bias in BIASES:
            squares = np.zeros((studies, 2))
            for seed in range(studies):
                study = simulate(rows, bias, seed)
                for at, values in enumerate((estimate(study, Auto()), alone(study))):
                    squares[seed, at] = np.nanmean((values.estimate - study.value) ** 2)
            mine, theirs = squares.mean(axis=0)
            ratio = np.sqrt(mine / theirs)
            slack = (squares[:, 0] / mine - squares[:, 1] / theirs).std() * ratio / 2 / np.sqrt(studies)
            print(f"{rows:>12}  {bias:>8g}  {ratio:>12.3f}  {slack:>6.3f}", flush=True)


def coverage(studies: int, sizes: Sequence[int]) -> None:
    """How often 95 % intervals hold the value, one at a time and together, and the best-model set the best."""
    heads = ("rows a model", "family", "one", "together", "best", "width / alone")
    print("  ".join(f"{head:>18}" for head in heads))
    for rows in sizes:
        for family in (family_by_name("auto"), *FAMILIES):
            found = np.zeros((studies, 4))
            for seed in range(studies):
                study = simulate(rows, 2.0, seed)
                found[seed] = _covered(estimate(study, family()), alone(study), study.value)
            one, together, best = found[:, :3].mean(axis=0)
            width = np.median(found[:, 3])
            told = (str(rows), family.name, f"{one:.3f}", f"{together:.3f}", f"{best:.3f}", f"{width:.3f}")
            print("  ".join(f"{cell:>18}" for cell in told), flush=True)


def _covered(values: Values, reference: Values, truth: FloatArray) -> tuple[float, float, float, float]:
    single, joint = values.interval(), values.interval(simultaneous=True)
    inside = [((low <= truth) & (truth <= high)) for low, high in (single.T, joint.T)]
    width = np.diff(single, axis=1).mean() / np.diff(reference.interval(), axis=1).mean()
    best = MODELS[int(np.argmax(truth))] in values.best_set()
    return float(inside[0].mean()), float(inside[1].all()), float(best), float(width)


def main() -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("error", "coverage"), action="append")
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--rows", type=int, action="append")
    arguments = parser.parse_args()
    with one_blas_thread():
        for part in arguments.part or ("error", "coverage"):
            sizes = arguments.rows or ((5, 20, 100) if part == "error" else (5, 100))
            (error if part == "error" else coverage)(arguments.studies, sizes)


if __name__ == "__main__":
    main()
