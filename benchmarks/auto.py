"""Values of eight models with fitted rewards: RMSE relative to the experiment alone by bias of the log, and coverage.

    python -m benchmarks.auto --part error --studies 200
    python -m benchmarks.auto --part coverage --studies 1000

The studies are those of ``benchmarks/simulation.py``. All families use the same cross-fitting and
``tuned_doubly_robust``; values of ``auto`` are then shrunk toward its own reward, as in ``evaluate``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from benchmarks.simulation import (
    REWARD_STUDY_MODELS,
    RewardStudy,
    covers,
    cross_fit_reward_study,
    simulate_reward_study,
)
from deconfound.design import FloatArray
from deconfound.reward import FAMILIES, Auto, Family, family_by_name
from deconfound.threads import one_blas_thread
from deconfound.value import Values, experiment_only, shrink_toward, tuned_doubly_robust

BIASES = (0.0, 1.0, 2.0, 4.0, 10.0)


def estimate(study: RewardStudy, family: Family) -> Values:
    """Values as ``evaluate`` computes them with one family."""
    fitted = cross_fit_reward_study(study, family)
    values = tuned_doubly_robust(fitted.scored)
    return shrink_toward(values, fitted.scored.q.mean(axis=0))


def estimate_without_reward(study: RewardStudy) -> Values:
    """Values from the experiment alone."""
    return experiment_only(REWARD_STUDY_MODELS, study.model, study.experiment.require_outcome(), cluster=study.context)


def error(studies: int, sizes: Sequence[int]) -> None:
    """Root mean square error of all eight values, that of auto relative to the experiment alone."""
    print(f"{'rows/model':>12}  {'log bias':>8}  {'auto / alone':>12}  {'± se':>6}")
    for rows in sizes:
        for bias in BIASES:
            squares = np.zeros((studies, 2))
            for seed in range(studies):
                study = simulate_reward_study(rows, bias, seed)
                for column, values in enumerate((estimate(study, Auto()), estimate_without_reward(study))):
                    squares[seed, column] = np.nanmean((values.estimate - study.value) ** 2)
            with_auto, alone = squares.mean(axis=0)
            ratio = np.sqrt(with_auto / alone)
            relative = squares[:, 0] / with_auto - squares[:, 1] / alone
            standard_error = relative.std() * ratio / 2 / np.sqrt(studies)
            print(f"{rows:>12}  {bias:>8g}  {ratio:>12.3f}  {standard_error:>6.3f}", flush=True)


def coverage(studies: int, sizes: Sequence[int]) -> None:
    """Coverage of single and of simultaneous 95 % intervals, and of the best-model set."""
    heads = ("rows/model", "family", "single", "simultaneous", "best set", "width / alone")
    print("  ".join(f"{head:>18}" for head in heads))
    for rows in sizes:
        for family in (family_by_name("auto"), *FAMILIES):
            results = np.zeros((studies, 4))
            for seed in range(studies):
                study = simulate_reward_study(rows, 2.0, seed)
                values, alone = estimate(study, family()), estimate_without_reward(study)
                results[seed] = _coverage_and_width(values, alone, study.value)
            single, simultaneous, best = results[:, :3].mean(axis=0)
            width = np.median(results[:, 3])
            line = (str(rows), family.name, *(f"{number:.3f}" for number in (single, simultaneous, best, width)))
            print("  ".join(f"{cell:>18}" for cell in line), flush=True)


def _coverage_and_width(values: Values, alone: Values, truth: FloatArray) -> tuple[float, float, float, float]:
    single, simultaneous = values.interval(), values.interval(simultaneous=True)
    width = np.diff(single, axis=1).mean() / np.diff(alone.interval(), axis=1).mean()
    best = REWARD_STUDY_MODELS[int(np.argmax(truth))] in values.best_set()
    all_covered = covers(simultaneous, truth).all()
    return float(covers(single, truth).mean()), float(all_covered), float(best), float(width)


def main() -> None:
    """Print the requested tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("error", "coverage"), action="append")
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--rows", type=int, action="append", help="experiment rows per model; may be repeated")
    arguments = parser.parse_args()
    with one_blas_thread():
        for part in arguments.part or ("error", "coverage"):
            sizes = arguments.rows or ((5, 20, 100) if part == "error" else (5, 100))
            (error if part == "error" else coverage)(arguments.studies, sizes)


if __name__ == "__main__":
    main()
