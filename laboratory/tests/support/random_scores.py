"""Random scores of a benchmark, and averages of them in plain loops."""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from deconfound_bench.results import Cell, Hyperparameters, Score
from deconfound_bench.score_tables import Estimate

FAMILIES = ("exp-only", "obs-only", "grounded", "cvci")
CELLS = tuple(Cell(c, n, m, "linear") for c, n, m in itertools.product((0.0, 0.5, 0.9), (2000, 20000), (20, 100)))
SEEDS = 9


def random_scores(cells=CELLS, families=FAMILIES, seeds=SEEDS, seed=0) -> list[Score]:
    """Scores in random order; all families of a cell share the noise of a seed."""
    rng = np.random.default_rng(seed)
    scores = []
    for cell in cells:
        seed_noise = rng.normal(0.05, 0.01, seeds)
        for family in families:
            level = rng.uniform(0.0, 0.004)
            for at in range(seeds):
                r = seed_noise[at] + level + rng.normal(0, 0.001)
                rest = [float(v) for v in rng.uniform(0, 1, 5)]
                scores.append(
                    Score("made-up", cell, at, family, float(r), *rest, seconds=1.0, hyperparameters=Hyperparameters())
                )
    return [scores[i] for i in rng.permutation(len(scores))]


def values(scores, metric, **where) -> dict[int, float]:
    """Metric by seed of the family and cell that ``where`` gives."""
    chosen = [s for s in scores if s.cell == where["cell"] and s.family == where["family"]]
    return {s.seed: getattr(s, metric) for s in chosen}


def naive_estimate(by_seed: dict[int, float]) -> Estimate:
    numbers = list(by_seed.values())
    return Estimate(statistics.fmean(numbers), statistics.stdev(numbers) / math.sqrt(len(numbers)))


def average(scores, metric, family, cells) -> Estimate:
    """Mean over cells of each seed first, then over seeds."""
    each = [values(scores, metric, cell=cell, family=family) for cell in cells]
    return naive_estimate({seed: statistics.fmean(one[seed] for one in each) for seed in each[0]})


def is_close(estimate: Estimate, other: Estimate) -> bool:
    return estimate.mean == pytest.approx(other.mean, rel=1e-10) and estimate.standard_error == pytest.approx(
        other.standard_error, rel=1e-8
    )


def set_nan(scores, metric, unless):
    return [s if unless(s) else replace(s, **{metric: math.nan}) for s in scores]
