"""Speed of a draw, and false alarms of the sample-ratio test on experiments that the hash has drawn.

python -m benchmarks.assignment
"""

from __future__ import annotations

import timeit
from time import perf_counter

import numpy as np
import pyarrow as pa

import deconfound as dc
from deconfound.assignment import AssignmentRule
from deconfound.assignment.assigned_models import assigned_models
from deconfound.design import FloatArray

SHARES = {"cedar": 0.5, "elm": 0.2, "oak": 0.3}
CALLS, UNITS = 100_000, 1_000_000
EXPERIMENTS, ROWS, DRAWS = 3_000, 60, 200_000


def microseconds_per_draw() -> tuple[float, float]:
    """By the function, and by a rule that is made once."""
    rule = AssignmentRule.from_models("prices", SHARES)
    function = timeit.timeit(lambda: dc.assign("user-17", models=SHARES, experiment="prices"), number=CALLS)
    return 1e6 * function / CALLS, 1e6 * timeit.timeit(lambda: rule.assign("user-17"), number=CALLS) / CALLS


def seconds_per_million() -> float:
    units = pa.chunked_array([pa.array([f"user-{i}" for i in range(UNITS)])])
    start = perf_counter()
    assigned_models(units, AssignmentRule.from_models("prices", SHARES))
    return perf_counter() - start


def false_alarms() -> FloatArray:
    """p-values of the counts of each experiment, against multinomial counts."""
    expected = ROWS * np.array(list(SHARES.values()))
    drawn = np.random.default_rng(0).multinomial(ROWS, expected / ROWS, DRAWS)
    reference = np.sort(((drawn - expected) ** 2 / expected).sum(axis=1))
    p_values = []
    for number in range(EXPERIMENTS):
        rule = AssignmentRule.from_models(f"experiment {number}", SHARES)
        models = [rule.models.index(rule.draw(f"q{unit}").model) for unit in range(ROWS)]
        statistic = ((np.bincount(models, minlength=3) - expected) ** 2 / expected).sum()
        p_values.append(1 - np.searchsorted(reference, statistic - 1e-9) / DRAWS)
    return np.array(p_values)


if __name__ == "__main__":
    function, rule = microseconds_per_draw()
    print(f"one draw: {function:.1f} µs by dc.assign, {rule:.1f} µs by a rule")
    print(f"{UNITS:,} units: {seconds_per_million():.1f} s")
    found = false_alarms()
    rates = ", ".join(f"{100 * (found < level).mean():.1f} % below {level}" for level in (0.05, 0.01))
    print(f"p-values of {EXPERIMENTS:,} experiments of {ROWS} rows: {rates}")
