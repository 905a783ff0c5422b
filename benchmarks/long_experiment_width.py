"""What does a narrower text cost, where an experiment is too long for inner products between its rows?

    python -m benchmarks.long_experiment_width --rows 3000 --log 4000 --seeds 3
    python -m benchmarks.long_experiment_width --part tuning --rows 4000 --log 4000 --seeds 2

The studies are those of ``benchmarks.long_experiment``. The reward is fitted to half of the contexts and scored on the
other half, and the reverse. "kernel" uses inner products between rows at 2^18 columns, as short experiments do; the
others sums at the stated width. Errors are root mean squares: of the reward's differences between models on one
context, and of doubly robust values. ``--part tuning`` compares `cvci` tuned with text added up to 512 columns and with
all of them.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import deconfound as dc
from benchmarks.long_experiment import Invented, centered, invent
from deconfound.design import FloatArray, Fold, group_folds
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays
from deconfound.linalg import FactorizationLimits, subset_moments
from deconfound.reward import Auto, Cvci, Family, RewardFit, TrainingData
from deconfound.threads import one_blas_thread
from deconfound.tune import Validation, tune_subsets
from deconfound.value import ScoredExperiment, tuned_doubly_robust

KERNEL, SUMS = FactorizationLimits(max_experiment_kernel=10**9), FactorizationLimits(max_experiment_kernel=1)
SHARE = 0.5  # of surface statistics in phi, for cvci


def arrays_at(study: Invented, buckets: int) -> StudyArrays:
    with tempfile.TemporaryDirectory() as place:
        paths = {name: Path(place) / f"{name}.parquet" for name in ("log", "experiment", "replay")}
        for name, path in paths.items():
            pq.write_table(getattr(study, name), path)
        loaded = dc.load(log=paths["log"], experiment=paths["experiment"], replay=paths["replay"])
        return StudyArrays.from_study(loaded.in_content_order(), FeatureSpec(buckets=buckets))


def errors(study: Invented, arrays: StudyArrays, share: float, fits: list[tuple[Fold, RewardFit]]) -> FloatArray:
    """Error of the reward's differences, and of the values."""
    experiment, replay = arrays.experiment, arrays.replay.rows(share)
    q, own = np.empty((len(experiment.outcome), len(arrays.models))), np.empty(len(experiment.outcome))
    for fold, fit in fits:
        q[fold.held_out] = fit.mean_by_cell(replay)[experiment.context[fold.held_out]]
        own[fold.held_out] = fit.predict(arrays.experiment_rows(share).take(fold.held_out))
    truth = study.q[experiment.context]
    data = ScoredExperiment.from_arrays(
        arrays.models, q, own, experiment.model, experiment.outcome, propensity=experiment.propensity
    )
    wrong = centered(q) - centered(truth)
    value = tuned_doubly_robust(data).estimate - study.value
    return np.sqrt([(wrong**2).mean(), (value**2).mean()])


def fit_folds(family: Family, data: TrainingData, folds: tuple[Fold, ...]) -> list[tuple[Fold, RewardFit]]:
    resolved = family.resolve(data)
    candidates = resolved.grid(data)
    prepared = type(family).prepare(data, candidates)
    subsets = [fold.train for fold in folds]
    tuned = tune_subsets(prepared, candidates, resolved, data.experiment, subsets, Validation())
    return [(fold, prepared.fit(each.estimator, fold.train)) for fold, each in zip(folds, tuned, strict=True)]


def compare_widths(study: Invented, widths: list[int]) -> dict[str, FloatArray]:
    cases = [("kernel, 262,144", 2**18, KERNEL), *((f"sums, {width:,}", width, SUMS) for width in widths)]
    found = {}
    for name, width, limits in cases:
        arrays = arrays_at(study, width)
        data = TrainingData(arrays.log_rows(0.0), arrays.experiment_rows(0.0), limits)
        folds = group_folds(arrays.experiment.fold_group, 2, 0)
        found[name] = errors(study, arrays, 0.0, fit_folds(Auto(), data, folds))
    return found


def compare_tuning(study: Invented) -> dict[str, FloatArray]:
    arrays, found = arrays_at(study, 2_048), {}
    folds = group_folds(arrays.experiment.fold_group, 2, 0)
    for width in (512, 2_048):
        subset_moments.TUNING_WIDTH = width
        data = TrainingData(arrays.log_rows(SHARE), arrays.experiment_rows(SHARE), SUMS)
        found[f"cvci tuned at {width:,}"] = errors(study, arrays, SHARE, fit_folds(Cvci(), data, folds))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["width", "tuning"], default="width")
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--log", type=int, default=4_000)
    parser.add_argument("--texts", choices=["long", "short"], default="long")
    parser.add_argument("--widths", type=int, nargs="+", default=[512, 1_024, 2_048, 4_096])
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    by_case: dict[str, list[FloatArray]] = {}
    for seed in range(arguments.seeds):
        study = invent(arguments.rows, arguments.log, arguments.texts, seed)
        with one_blas_thread():
            found = compare_tuning(study) if arguments.part == "tuning" else compare_widths(study, arguments.widths)
        for name, measured in found.items():
            by_case.setdefault(name, []).append(measured)
            print(f"seed {seed}, {name}: differences {measured[0]:.5f}, values {measured[1]:.5f}", flush=True)
    first = np.array(next(iter(by_case.values())))
    for name, rows in by_case.items():
        ratio = np.array(rows)[:, 0] / first[:, 0]
        error = ratio.std(ddof=1) / np.sqrt(len(ratio)) if len(ratio) > 1 else np.nan
        values = np.sqrt((np.array(rows)[:, 1] ** 2).mean())
        print(f"{name}: differences {ratio.mean():.3f} ± {error:.3f} of the first case's, values {values:.5f}")


if __name__ == "__main__":
    main()
