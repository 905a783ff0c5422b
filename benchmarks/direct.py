"""Coverage of intervals of direct values: with the reward taken as exact, with bootstrap refits, and with its bias.

    python -m benchmarks.direct --studies 100

The studies are those of ``benchmarks/simulation.py``. A direct value is the mean of the replayed reward, without a
correction by the experiment's residuals. It is therefore biased where every refit is: for a reward learned from a
biased log, or for one that does not see what distinguishes the models.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.simulation import (
    REWARD_STUDY_MODELS,
    RewardStudy,
    covers,
    cross_fit_reward_study,
    simulate_reward_study,
)
from deconfound.design import FloatArray, IntArray
from deconfound.linalg import one_blas_thread
from deconfound.reward import FAMILIES, Family, family_by_name
from deconfound.value import Values, direct, tuned_doubly_robust, with_reward_bias

REFITS = 20  # as in ``evaluate``
BIASES = (0.0, 2.0)


def estimate(study: RewardStudy, family: Family, rng: np.random.Generator) -> tuple[Values, Values, Values, Values]:
    """Direct values without refits, with refits, and with the reward's bias; and unbiased values."""
    fitted = cross_fit_reward_study(study, family)
    data = fitted.scored
    unbiased = tuned_doubly_robust(data)
    reward_weight = 0.0 if unbiased.reward_weight is None else float(unbiased.reward_weight.mean())
    refits, gaps = [], []
    for rows in (_bootstrap_rows(study.context, rng) for _ in range(REFITS)):
        q = study.replayed(fitted.prepared.fit(fitted.family, rows))
        refits.append(q.mean(axis=0))
        resampled = tuned_doubly_robust(data.take(rows), reward_weight=reward_weight)
        gaps.append(q[rows].mean(axis=0) - resampled.estimate)
    exact_reward = direct(REWARD_STUDY_MODELS, data.q, study.context)
    refitted = direct(REWARD_STUDY_MODELS, data.q, study.context, refits=np.array(refits))
    return exact_reward, refitted, with_reward_bias(refitted, unbiased, np.array(gaps)), unbiased


def _bootstrap_rows(context: IntArray, rng: np.random.Generator) -> IntArray:
    """Rows of contexts drawn with replacement."""
    names, code = np.unique(context, return_inverse=True)
    members = [np.flatnonzero(code == i) for i in range(len(names))]
    return np.concatenate([members[i] for i in rng.integers(len(names), size=len(names))])


def main() -> None:
    """Print coverage by rows, bias and family."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--rows", type=int, action="append", help="experiment rows per model; may be repeated")
    arguments = parser.parse_args()
    learning = [family for family in (family_by_name("auto"), *FAMILIES) if family.learns_from_experiment]
    heads = ("exact", "refits", "+ bias", "width", "unbiased", "width")
    print(f"{'rows/model':>12}  {'log bias':>8}  {'family':>18}" + "".join(f"  {head:>8}" for head in heads))
    with one_blas_thread():
        for rows in arguments.rows or (5, 20, 100):
            for bias in BIASES:
                for family in learning:
                    results = []
                    for seed in range(arguments.studies):
                        study = simulate_reward_study(rows, bias, seed)
                        estimates = estimate(study, family(), np.random.default_rng([seed, 1]))
                        results.append([_coverage_and_width(values, study.value) for values in estimates])
                    exact, refitted, with_bias, unbiased = np.mean(results, axis=0)
                    columns = (exact[0], refitted[0], *with_bias, *unbiased)
                    line = "".join(f"  {column:>8.3f}" for column in columns)
                    print(f"{rows:>12}  {bias:>8g}  {family.name:>18}{line}", flush=True)


def _coverage_and_width(values: Values, truth: FloatArray) -> tuple[float, float]:
    """Share of intervals that contain the truth, and their mean width."""
    interval = values.interval()
    return float(covers(interval, truth).mean()), float((interval[:, 1] - interval[:, 0]).mean())


if __name__ == "__main__":
    main()
