"""The best model of each segment, shrunk toward the best overall, and valued out of fold."""

from __future__ import annotations

import numpy as np

from deconfound.decide.calibration import CrossFittedPolicy, FoldCalibration
from deconfound.design import FloatArray, Fold, IntArray
from deconfound.metrics import argmax_model
from deconfound.value import MIN_ROWS_PER_MODEL, ScoredExperiment, tuned_doubly_robust

MIN_EXCESS_SE = 2.0  # standard errors by which differences between segments must exceed noise to count, as a slope's


def cross_fitted_segment_policy(
    data: ScoredExperiment, segment: IntArray, folds: tuple[Fold, ...], cost: FloatArray
) -> CrossFittedPolicy:
    """What the other folds would choose for the segment of each experiment row."""
    count = int(segment.max()) + 1
    by_segment, values = np.empty_like(data.q), np.empty_like(data.q)
    for fold in folds:
        train = data.take(fold.train)
        values[fold.held_out] = value = FoldCalibration.fit(train).value
        by_segment[fold.held_out] = segment_values(train, segment[fold.train], count, value, cost)[
            segment[fold.held_out]
        ]
    return CrossFittedPolicy(by_segment, values)


def segment_values(
    data: ScoredExperiment, segment: IntArray, count: int, value: FloatArray, cost: FloatArray
) -> FloatArray:
    """Values (segments, k) of the models in each segment, shrunk toward ``value`` (k,), that of all rows.

        c_sa = (v_sa - v_sb) - (v_a - v_b),      b the best model overall, v_s doubly robust values of segment s
        shrunken value_sa = v_a + c_sa variance / (variance + se(c_sa)^2)

    ``variance`` is that of true differences between segments. A segment without evidence has the values of all rows.
    """
    best = int(argmax_model((value - cost)[None])[0])
    contrast, variance = np.zeros((count, len(value))), np.full((count, len(value)), np.inf)
    for number in range(count):
        rows = segment == number
        if not rows.any():
            continue
        own = data.take(rows)
        if own.n_clusters >= MIN_ROWS_PER_MODEL:
            contrast[number], variance[number] = _contrasts(own, value, best)
    between = _variance_between(contrast, variance)
    share = between / (between + variance) if between > 0 else np.zeros(variance.shape)
    return np.asarray(value + share * contrast)


def _contrasts(rows: ScoredExperiment, value: FloatArray, best: int) -> tuple[FloatArray, FloatArray]:
    """Contrasts with the best model, as deviations from those of all rows, and their variances; infinite if unknown."""
    values = tuned_doubly_robust(rows)
    deviation = values.estimate - value
    finite = np.isfinite(values.standard_error) & np.isfinite(deviation)
    covariance = np.where(np.isfinite(values.covariance), values.covariance, 0.0)
    variance = np.diag(covariance) + covariance[best, best] - 2 * covariance[best]
    usable = finite & finite[best] & (variance > 0)
    usable[best] = False
    contrast = np.where(usable, np.nan_to_num(deviation - deviation[best]), 0.0)
    return contrast, np.where(usable, variance, np.inf)


def _variance_between(contrast: FloatArray, variance: FloatArray) -> float:
    """Variance of true contrasts between segments, by moments, less what noise may make of it.

        excess = sum c^2 / se^2 - N,      N contrasts, standard error of the excess without differences sqrt(2 N)

    Zero where the excess is within two standard errors of zero.
    """
    known = np.isfinite(variance)
    count = int(known.sum())
    if count == 0:
        return 0.0
    weight = 1 / variance[known]
    excess = float(weight @ contrast[known] ** 2) - count
    noise = MIN_EXCESS_SE * float(np.sqrt(2 * count))
    return (excess - noise**2 / excess) / float(weight.sum()) if excess > noise else 0.0
