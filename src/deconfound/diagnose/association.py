"""Do two ratings of the same rows agree, within models and on average?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.cluster_robust_tests import cluster_robust_ratios, crossed_kinds
from deconfound.diagnose.permutation_tests import CHUNK, TIE_RTOL, center_within, permute_within
from deconfound.diagnose.thresholds import RESAMPLES


@dataclass(frozen=True, slots=True)
class Association:
    """Correlation of two ratings within models, with one-sided p-values."""

    correlation: float
    negative_p_value: float
    positive_p_value: float


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """Mean difference of paired ratings, with a two-sided p-value."""

    mean: float
    p_value: float


def within_model_association(
    prediction: FloatArray, outcome: FloatArray, model: IntArray, cluster: IntArray, seed: int
) -> Association:
    """Correlation of prediction and outcome within models, against permuted outcomes.

    Where rows share clusters, cluster-robust ratios are compared instead, against those with random signs.
    """
    x, y = (center_within(column[:, None], model)[:, 0] for column in (prediction, outcome))
    scale = float(np.sqrt((x**2).sum() * (y**2).sum()))
    if scale <= 0.0:
        return Association(0.0, 1.0, 1.0)
    observed, rng = float(x @ y), np.random.default_rng(seed)
    kinds = crossed_kinds(cluster)
    if kinds:
        values, tie = cluster_robust_ratios(x[:, None], y, model, kinds, rng)[:, 0], TIE_RTOL
    else:
        resample, size = permute_within(y[:, None], model), max(1, CHUNK // len(y))
        counts = [size] * (RESAMPLES // size) + [RESAMPLES % size] * (RESAMPLES % size > 0)
        values = np.concatenate([[observed], *(resample(rng, count)[0] @ x for count in counts)])
        tie = TIE_RTOL * scale
    low, high = (values <= values[0] + tie).mean(), (values >= values[0] - tie).mean()
    return Association(observed / scale, float(low), float(high))


def sign_flip_test(difference: FloatArray, cluster: IntArray, seed: int) -> MeanDifference:
    """Test that the mean difference is zero, by flipping the signs of whole clusters."""
    _, code = np.unique(cluster, return_inverse=True)
    totals = np.bincount(code, weights=difference)
    rng, size = np.random.default_rng(seed), max(1, CHUNK // len(totals))
    counts = [size] * (RESAMPLES // size) + [RESAMPLES % size] * (RESAMPLES % size > 0)
    sums = np.concatenate([(1.0 - 2.0 * rng.integers(0, 2, (count, len(totals)))) @ totals for count in counts])
    observed, tie = abs(float(difference.sum())), TIE_RTOL * float(np.abs(difference).sum())
    at_least_observed = int((np.abs(sums) >= observed - tie).sum())
    return MeanDifference(float(difference.mean()), (1 + at_least_observed) / (1 + RESAMPLES))
