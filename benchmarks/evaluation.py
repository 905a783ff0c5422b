"""The demo as a whole: run time and memory, and how often the evaluation is right over seeds.

    python -m benchmarks.evaluation            # both
    python -m benchmarks.evaluation --seeds 20 # fewer seeds

Seed 0 is the demo itself; the others are other studies of the same kind.
"""

from __future__ import annotations

import argparse
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter, process_time

import numpy as np

import deconfound as dc
from deconfound.demo import make_demo
from deconfound.evaluation import PAPER_FAMILY_NAMES
from deconfound.metrics import rmse


@dataclass(frozen=True, slots=True)
class Outcome:
    """One seed: the best model by each source, and the errors of the values."""

    seed: int
    truth: str
    log: str
    experiment: str
    evaluation: str
    rmse_experiment: float
    rmse_evaluation: float
    covered: int
    models: int


def evaluate_seed(seed: int) -> Outcome:
    demo = make_demo(seed)
    result = dc.evaluate(dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay))
    low, high = result.values.interval().T
    return Outcome(
        seed,
        demo.models[int(np.argmax(demo.value))],
        result.raw_log.ranking()[0],
        result.experiment.ranking()[0],
        result.values.ranking()[0],
        rmse(result.experiment.estimate, demo.value),
        rmse(result.values.estimate, demo.value),
        int(((low <= demo.value) & (demo.value <= high)).sum()),
        len(demo.models),
    )


def time_stages(study: dc.Study) -> None:
    """Print the processor time of checks and estimation within `auto` on the demo."""
    runs = [seconds_by_stage(study) for _ in range(3)]
    fastest = min(runs, key=lambda run: sum(run.values()))
    checks = sum(seconds for stage, seconds in fastest.items() if stage.startswith(("checking", "looking")))
    total, values = sum(fastest.values()), fastest["comparing models"]
    print(f"auto on the demo: {total:.2f} s of processor time; checks {checks:.2f} s,")
    print(f"  intervals, routing, calibration and log bias {values:.2f} s; the rest reads texts and fits rewards")


def seconds_by_stage(study: dc.Study) -> dict[str, float]:
    """Processor time of each progress stage of `evaluate`."""
    times = [("start", process_time())]
    dc.evaluate(study, progress=lambda stage, _: times.append((stage, process_time())))
    times.append(("end", process_time()))
    seconds: dict[str, float] = {}
    for (stage, start), (_, end) in pairwise(times):
        seconds[stage] = seconds.get(stage, 0.0) + end - start
    return seconds


def time_families(study: dc.Study) -> None:
    """Print time and peak memory of all six families on the demo."""
    wall, cpu = perf_counter(), process_time()
    prepared = dc.prepare(study)
    for family in PAPER_FAMILY_NAMES:
        prepared.evaluate(family)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"all six families on the demo: {wall:.1f} s ({cpu:.1f} s of processor time), peak memory {peak:.2f} GiB")


def run_seeds(count: int, workers: int) -> None:
    """Print how often each source ranks the truly best model first, and the errors of the values."""
    with ProcessPoolExecutor(workers) as pool:
        outcomes = []
        for outcome in pool.map(evaluate_seed, range(1, count + 1)):
            outcomes.append(outcome)
            sys.stderr.write(f"\r{len(outcomes)} of {count} seeds")
    sys.stderr.write("\n")
    for name in ("log", "experiment", "evaluation"):
        right = sum(getattr(outcome, name) == outcome.truth for outcome in outcomes)
        print(f"truly best model first by {name:<10}: {right} of {count} seeds")
    corrected = sum(o.log != o.truth and o.evaluation == o.truth for o in outcomes)
    print(f"log wrong and evaluation right: {corrected} of {count} seeds")
    for name in ("experiment", "evaluation"):
        errors = np.array([getattr(outcome, f"rmse_{name}") for outcome in outcomes])
        print(f"RMSE of the values, {name:<10}: {errors.mean():.4f} ± {errors.std() / np.sqrt(count):.4f}")
    covered, total = sum(o.covered for o in outcomes), sum(o.models for o in outcomes)
    print(f"95 % intervals that cover the truth: {covered} of {total} ({covered / total:.1%})")


def main() -> None:
    """Time the demo, then evaluate other seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    demo = make_demo(0)
    study = dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay)
    time_stages(study)
    time_families(study)
    if arguments.seeds:
        run_seeds(arguments.seeds, arguments.workers)


if __name__ == "__main__":
    main()
