"""Textbook intervals of yes/no outcomes beside those of the package: Wilson's and, for differences, Newcombe's.

Near 0 and 1 the number of successes takes few values, so that no interval covers 95 % for every chance of success. The
widths then tell which intervals are better.
"""

from __future__ import annotations

import numpy as np

from benchmarks.simulation import covers
from benchmarks.stress_generators import SimulatedStudy
from benchmarks.stress_measures import LEVEL, Answer
from deconfound.design import FloatArray, IntArray
from deconfound.value.multiple_comparisons import two_sided_z

References = dict[str, float]


def reference_measures(study: SimulatedStudy, result: Answer) -> References:
    """Coverage of Wilson's and Newcombe's intervals on the same rows, and mean ratios of our widths to theirs."""
    count = len(study.models)
    rows = np.bincount(study.model, minlength=count).astype(np.float64)
    if rows.min() == 0:
        return {}
    mean = np.bincount(study.model, weights=study.outcome, minlength=count) / rows
    wilson = wilson_interval(mean, rows)
    i, j = (np.array([getattr(pair, side) for pair in result.single_pairs]) for side in "ij")
    newcombe = newcombe_interval(mean, wilson, i, j)
    widths = np.array([pair.high - pair.low for pair in result.single_pairs])
    return {
        "wilson": float(covers(wilson, study.value).mean()),
        "width_wilson": float((np.ptp(result.interval, axis=1) / np.ptp(wilson, axis=1)).mean()),
        "newcombe": float(covers(newcombe, study.value[i] - study.value[j]).mean()),
        "width_newcombe": float((widths / np.ptp(newcombe, axis=1)).mean()),
    }


def wilson_interval(mean: FloatArray, rows: FloatArray) -> FloatArray:
    """Limits (k, 2) of chances of success."""
    z = two_sided_z(LEVEL)
    center, scale = mean + z**2 / (2 * rows), 1 + z**2 / rows
    half_width = z * np.sqrt(mean * (1 - mean) / rows + z**2 / (4 * rows**2))
    return np.column_stack([center - half_width, center + half_width]) / scale[:, None]


def newcombe_interval(mean: FloatArray, single: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Limits (pairs, 2) of differences i - j, combined in squares from single limits."""
    below, above = mean - single[:, 0], single[:, 1] - mean
    difference = mean[i] - mean[j]
    return np.column_stack([difference - np.hypot(below[i], above[j]), difference + np.hypot(above[i], below[j])])
