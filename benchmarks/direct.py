"""Do intervals of direct values hold? With the reward refitted on resampled experiments, and with the reward as it is.

    python -m benchmarks.direct --studies 100

Studies are those of ``benchmarks/auto.py``. A direct value is the mean of the replayed reward, with no correction by
the experiment's residuals: a reward that is wrong in every refit, as one learned from a biased log is, or one that does
not know the model where models differ in more than their words, makes it wrong too.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.auto import CONTEXTS, FOLDS, MODELS, Study, simulate
from deconfound.design import FloatArray, IntArray, Rows, group_folds
from deconfound.linalg import one_blas_thread
from deconfound.reward import FAMILIES, Family, RewardFit, TrainingData, family_by_name
from deconfound.value import Values, direct, tuned_doubly_robust, with_reward_bias

REFITS = 20  # as in ``evaluate``
BIASES = (0.0, 2.0)


def estimate(study: Study, family: Family, rng: np.random.Generator) -> tuple[Values, ...]:
    """Direct values with the reward as it is, with refits, and with the bias that shows, as ``evaluate`` has them."""
    sources = TrainingData(study.log, study.experiment)
    family = family.resolve(sources)
    prepared = type(family).prepare(sources, [family])
    experiment = study.experiment
    q, prediction = np.empty((len(experiment), len(MODELS))), np.empty(len(experiment))
    for fold in group_folds(study.context, FOLDS, 0):
        fit = prepared.fit(family, fold.train)
        q[fold.held_out] = _replayed(study, fit)[fold.held_out]
        prediction[fold.held_out] = fit.predict(experiment.take(fold.held_out))
    unbiased = tuned_doubly_robust(
        MODELS, q, study.model, experiment.require_outcome(), prediction, cluster=study.context
    )
    power = 0.0 if unbiased.power is None else float(unbiased.power.mean())
    refits, gaps = [], []
    for at in (_again(study.context, rng) for _ in range(REFITS)):
        refitted_q = _replayed(study, prepared.fit(family, at))
        refits.append(refitted_q.mean(axis=0))
        columns = (q[at], study.model[at], experiment.require_outcome()[at], prediction[at])
        again = tuned_doubly_robust(MODELS, *columns, cluster=study.context[at], power=power)
        gaps.append(refitted_q[at].mean(axis=0) - again.estimate)
    refitted = direct(MODELS, q, study.context, refits=np.array(refits))
    return direct(MODELS, q, study.context), refitted, with_reward_bias(refitted, unbiased, np.array(gaps)), unbiased


def _replayed(study: Study, fit: RewardFit) -> FloatArray:
    """The reward of every model on each experiment row's context (n, k)."""
    replay = [Rows(study.phi[:, a], study.psi[:, a], model=np.full(CONTEXTS, a)) for a in range(len(MODELS))]
    return np.column_stack([fit.predict(rows) for rows in replay])[study.context]


def _again(context: IntArray, rng: np.random.Generator) -> IntArray:
    """Rows of contexts drawn with replacement."""
    names, code = np.unique(context, return_inverse=True)
    members = [np.flatnonzero(code == i) for i in range(len(names))]
    return np.concatenate([members[i] for i in rng.integers(len(names), size=len(names))])


def main() -> None:
    """Print coverage by rows, bias and family."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--rows", type=int, action="append")
    arguments = parser.parse_args()
    learning = [family for family in (family_by_name("auto"), *FAMILIES) if family.learns_from_experiment]
    heads = ("as it is", "refitted", "doubted", "width", "unbiased", "width")
    print(f"{'rows a model':>12}  {'log bias':>8}  {'family':>18}" + "".join(f"  {head:>8}" for head in heads))
    with one_blas_thread():
        for rows in arguments.rows or (5, 20, 100):
            for bias in BIASES:
                for family in learning:
                    held = []
                    for seed in range(arguments.studies):
                        study = simulate(rows, bias, seed)
                        found = estimate(study, family(), np.random.default_rng([seed, 1]))
                        held.append([_covered(values, study.value) for values in found])
                    fixed, refitted, aware, unbiased = np.mean(held, axis=0)
                    told = "".join(f"  {share:>8.3f}" for share in (fixed[0], refitted[0], *aware, *unbiased))
                    print(f"{rows:>12}  {bias:>8g}  {family.name:>18}{told}", flush=True)


def _covered(values: Values, truth: FloatArray) -> tuple[float, float]:
    """Share of the intervals that hold the truth, and their mean width."""
    low, high = values.interval().T
    return float(((low <= truth) & (truth <= high)).mean()), float((high - low).mean())


if __name__ == "__main__":
    main()
