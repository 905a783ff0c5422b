"""The penalties of `cvci` on demos with longer and longer logs: its grid against one that ignores the number of rows.

python -m benchmarks.penalties                              # five studies at each number of log rows
python -m benchmarks.penalties --rows 5001 --studies 10
python -m benchmarks.penalties --rows 999 --experiment 60  # a small experiment
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Self

import numpy as np

import deconfound as dc
from deconfound.crossfit import cross_fit
from deconfound.demo import Demo, Sizes, make_demo
from deconfound.design import FloatArray
from deconfound.features.study_arrays import StudyArrays
from deconfound.metrics import rmse
from deconfound.progress import no_progress
from deconfound.reward import Cvci, TrainingData
from deconfound.reward.cvci import POOLINGS
from deconfound.surface_share import StudyTrainingData
from deconfound.threads import one_blas_thread
from deconfound.value import shrink_toward, tuned_doubly_robust
from deconfound.value_methods import score_experiment

FOLDS = 5
LOG_ROWS = (999, 5_001, 20_001)  # three notes per message
FIXED_PENALTIES = (3e-3, 1e-2, 1e-1)  # the grid before it depended on the number of rows


@dataclass(frozen=True, slots=True)
class FixedPenaltyCvci(Cvci):
    """`cvci` with the same penalties for any number of rows."""

    def grid(self, data: TrainingData) -> Sequence[Self]:  # noqa: ARG002
        """As many candidates as `Cvci` has."""
        return tuple(replace(self, pooling=pooling, penalty=p) for p in FIXED_PENALTIES for pooling in POOLINGS)


GRIDS: dict[str, Cvci] = {"fixed": FixedPenaltyCvci(), "by rows": Cvci()}
MEASURES = ("q", "direct", "values", "smallest", "largest", "seconds")


def measure_study(demo: Demo, family: Cvci) -> list[float]:
    """Errors of rewards and values, whether the chosen penalty is at either end of the grid, and the time."""
    study = dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay)
    arrays = StudyArrays.from_study(study, dc.FeatureSpec())
    rows = arrays.experiment
    start = perf_counter()
    fitted = cross_fit(StudyTrainingData(arrays), family, FOLDS, 0, None, no_progress, bootstrap_fits=0)
    seconds = perf_counter() - start
    scored = score_experiment(arrays, fitted)
    direct = fitted.q.mean(axis=0)
    values = shrink_toward(tuned_doubly_robust(scored), direct).estimate
    truth = np.array([demo.true_values[name] for name in study.models])
    tuned = fitted.final.tuned
    compared = [candidate.penalty for candidate in tuned.candidates]
    ends = [float(tuned.estimator.penalty == end) for end in (min(compared), max(compared))]
    error = rmse(fitted.q, true_q(demo, study, arrays)[rows.context])
    return [error, rmse(direct, truth), rmse(values, truth), *ends, seconds]


def true_q(demo: Demo, study: dc.Study, arrays: StudyArrays) -> FloatArray:
    """Mean true reward of the replayed notes (contexts, models)."""
    contexts = {context: i for i, context in enumerate(arrays.replay.contexts)}
    context = np.array([contexts[name] for name in demo.replay["context_id"].to_pylist()])
    model = np.array([study.models.index(name) for name in demo.replay["model"].to_pylist()])
    total, count = np.zeros((2, len(contexts), len(study.models)))
    np.add.at(total, (context, model), demo.true_reward(demo.replay))
    np.add.at(count, (context, model), 1.0)
    return np.asarray(total / count)


def main() -> None:
    """Print one line per log size and grid."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, action="append", help="log rows; may be repeated")
    parser.add_argument("--experiment", type=int, default=Sizes().experiment_contexts, help="experiment rows")
    parser.add_argument("--studies", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{'log rows':>8}  {'grid':>8}  " + "  ".join(f"{name:>8}" for name in MEASURES))
    for rows in arguments.rows or LOG_ROWS:
        sizes = replace(Sizes(), log_contexts=rows // Sizes().log_repeats, experiment_contexts=arguments.experiment)
        measured: dict[str, list[list[float]]] = {name: [] for name in GRIDS}
        for seed in range(1, arguments.studies + 1):
            demo = make_demo(seed, sizes=sizes)
            for name, family in GRIDS.items():
                with one_blas_thread():
                    measured[name].append(measure_study(demo, family))
        for name, results in measured.items():
            means = "  ".join(f"{mean:>8.4f}" for mean in np.mean(results, axis=0))
            print(f"{demo.log.num_rows:>8}  {name:>8}  {means}", flush=True)


if __name__ == "__main__":
    main()
