"""The demo as a whole: time and memory of all six families, and how often the answer is right over seeds.

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


def trust(study: dc.Study) -> None:
    """What checks, intervals, routing, calibration and alarm add to the fits of `auto` on the demo."""
    runs = [stages(study) for _ in range(3)]
    best = min(runs, key=lambda run: sum(run.values()))
    checks = sum(seconds for stage, seconds in best.items() if stage.startswith(("checking", "looking")))
    whole, values = sum(best.values()), best["comparing the models"]
    print(f"auto on the demo: {whole:.2f} s of processor time, of which {checks:.2f} s all checks,")
    print(f"  {values:.2f} s intervals, routing, calibration and alarm; the rest reads texts and fits rewards")


def stages(study: dc.Study) -> dict[str, float]:
    """Processor time of each stage that `evaluate` tells of."""
    marks = [("start", process_time())]
    dc.evaluate(study, progress=lambda stage, _: marks.append((stage, process_time())))
    marks.append(("end", process_time()))
    spent: dict[str, float] = {}
    for (stage, begun), (_, ended) in pairwise(marks):
        spent[stage] = spent.get(stage, 0.0) + ended - begun
    return spent


def families(study: dc.Study) -> None:
    """Time and peak memory of `evaluate` with all six families on the demo."""
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
    demo = make_demo(0)
    study = dc.load(log=demo.log, experiment=demo.experiment, replay=demo.replay)
    trust(study)
    families(study)
    if arguments.seeds:
        seeds(arguments.seeds, arguments.workers)


if __name__ == "__main__":
    main()
