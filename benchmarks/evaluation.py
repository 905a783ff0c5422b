"""The demo as a whole: time and memory of all six families, and how often the answer is right over seeds.

    python benchmarks/evaluation.py            # both
    python benchmarks/evaluation.py --seeds 20 # fewer seeds

Seed 0 is the demo itself; the others are other studies of the same kind.
"""

from __future__ import annotations

import argparse
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np

import deconfound as dc
from deconfound.demo import make_demo
from deconfound.metrics import rmse


@dataclass(frozen=True, slots=True)
class Outcome:
    """One seed: who came first by each source, and how far the values were off."""

    seed: int
    best: str
    log: str
    experiment: str
    together: str
    error_experiment: float
    error_together: float
    covered: int
    models: int


def one(seed: int) -> Outcome:
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


def families() -> None:
    """Time and peak memory of `evaluate` with all six families on the demo."""
    demo = make_demo(0)
    study = dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay)
    wall, cpu = perf_counter(), process_time()
    dc.evaluate_families(study)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"all six families on the demo: {wall:.1f} s ({cpu:.1f} s of processor time), peak memory {peak:.2f} GiB")


def seeds(count: int, workers: int) -> None:
    """How often the log's favourite and the evaluation's are the truly best model."""
    with ProcessPoolExecutor(workers) as pool:
        outcomes = []
        for outcome in pool.map(one, range(1, count + 1)):
            outcomes.append(outcome)
            sys.stderr.write(f"\r{len(outcomes)} of {count} seeds")
    sys.stderr.write("\n")
    for name in ("log", "experiment", "together"):
        right = sum(getattr(outcome, name) == outcome.best for outcome in outcomes)
        print(f"best model first by {name:<10}: {right} of {count} seeds")
    both = sum(o.log != o.best and o.together == o.best for o in outcomes)
    print(f"log wrong and evaluation right: {both} of {count} seeds")
    for name in ("experiment", "together"):
        errors = np.array([getattr(outcome, f"error_{name}") for outcome in outcomes])
        spread = errors.std() / np.sqrt(count)
        print(f"error of the values, {name:<10}: {errors.mean():.4f} ± {spread:.4f}")
    covered, total = sum(o.covered for o in outcomes), sum(o.models for o in outcomes)
    print(f"95 % intervals that hold the truth: {covered} of {total} ({covered / total:.1%})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    families()
    if arguments.seeds:
        seeds(arguments.seeds, arguments.workers)


if __name__ == "__main__":
    main()
