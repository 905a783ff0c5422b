"""Permutation tests that features predict a target, and what other tests share with them.

Prediction is leave-one-out ridge in closed form. With H = Z (Z'Z + penalty I)^-1 Z' and h its diagonal, row i is
predicted from all others by ((H r)_i - h_i r_i) / (1 - h_i): linear in the target r, so that a thousand resampled
targets are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import linalg

from deconfound.data.encode import encode
from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.thresholds import RESAMPLES

CHUNK = 2_000_000  # numbers of resampled targets in memory at once
TIE_RTOL = 1e-9  # relative to the largest possible value: statistics closer than this differ by rounding only
COSINES = 4  # trends, one turn and back, a step: slow changes; faster ones would need more rows to be detected

Resample = Callable[[np.random.Generator, int], FloatArray]
"""Draws the given number of targets (k, draws, n) that are as likely as the observed one under the null hypothesis."""


@dataclass(frozen=True, slots=True)
class PredictionTest:
    """Whether features predict a target better than resampled targets."""

    statistic: float  # standard deviations above the mean of the resamples
    p_value: float


@dataclass(frozen=True, slots=True)
class LeaveOneOutRidge:
    """The leave-one-out ridge predictions of one feature matrix, for any centered target."""

    features: FloatArray  # (n, m), centered
    scaled_features: FloatArray  # (n, m), each row over 1 - h
    inverse: FloatArray  # (m, m)
    leverage_ratio: FloatArray  # (n,), h / (1 - h)

    @classmethod
    def fit(cls, features: FloatArray, penalty: float) -> LeaveOneOutRidge:
        """Factor the features once, for all targets."""
        centered = features - features.mean(axis=0)
        inverse = linalg.inv(centered.T @ centered + penalty * np.eye(centered.shape[1]))
        h = np.einsum("im,mk,ik->i", centered, inverse, centered, optimize=True)
        return cls(centered, centered / (1.0 - h)[:, None], inverse, h / (1.0 - h))

    def predict(self, target: FloatArray) -> FloatArray:
        """Each row of the target (n, k) from all others."""
        fitted = self.scaled_features @ (self.inverse @ (self.features.T @ target))
        return fitted - self.leverage_ratio[:, None] * target

    def statistics(self, targets: FloatArray) -> FloatArray:
        """Sum over rows and columns of target times prediction, for each of several targets (k, draws, n)."""
        flat = targets.reshape(-1, targets.shape[-1])
        fitted = ((flat @ self.scaled_features) * (flat @ self.features @ self.inverse)).sum(axis=1)
        return np.asarray((fitted - flat**2 @ self.leverage_ratio).reshape(targets.shape[:2]).sum(axis=0))


def prediction_test(
    ridges: Sequence[LeaveOneOutRidge],
    target: FloatArray,
    resample: Resample,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> PredictionTest:
    """Test that some of the ridges predict the target (n, k); the observed target counts as one of the resamples.

    Each ridge's statistic is standardized over observed and resampled targets alike, which keeps the test exact; the
    largest over the ridges is compared.
    """
    columns = [np.array([ridge.statistics(target.T[:, None]) for ridge in ridges])]
    left, size = resamples, max(1, CHUNK // target.size)
    while left:
        targets = resample(rng, min(left, size))
        columns.append(np.stack([ridge.statistics(targets) for ridge in ridges]))
        left -= targets.shape[1]
    return compare_with_resamples(np.hstack(columns), float((target**2).sum()))


def compare_with_resamples(values: FloatArray, scale: float) -> PredictionTest:
    """The test of statistics (ridges, 1 + resamples), the observed ones first; ``scale`` is that of the target."""
    sd = values.std(axis=1, keepdims=True)
    # Where nothing varies nothing is predicted: rounding must not decide.
    constant = sd <= TIE_RTOL * scale
    standardized = np.where(constant, 0.0, (values - values.mean(axis=1, keepdims=True)) / np.where(constant, 1.0, sd))
    largest = standardized.max(axis=0)
    return PredictionTest(float(largest[0]), float((largest >= largest[0] - TIE_RTOL).mean()))


# --- resampling schemes ---


def permute_within(target: FloatArray, strata: IntArray) -> Resample:
    """Permute rows of the target (n, k) within strata: exact where those rows are exchangeable."""
    groups = [np.flatnonzero(strata == each) for each in np.unique(strata)]

    def resample(rng: np.random.Generator, count: int) -> FloatArray:
        index = np.empty((count, len(strata)), dtype=np.int64)
        for rows in groups:
            index[:, rows] = rng.permuted(np.tile(rows, (count, 1)), axis=1)
        return np.take(target.T, index, axis=1)

    return resample


# --- columns for the tests ---


def center_within(values: FloatArray, strata: IntArray, weight: FloatArray | None = None) -> FloatArray:
    """Columns (n, m) minus their mean in each stratum, weighted where weights (n,) are given."""
    _, code = np.unique(strata, return_inverse=True)
    weight = np.ones(len(code)) if weight is None else weight
    total = np.bincount(code, weights=weight)
    means = np.column_stack([np.bincount(code, weights=weight * column) / total for column in values.T])
    return np.asarray(values - means[code])


def cluster_of_row(table: pa.Table) -> IntArray:
    """Code of each row's cluster, or of its context where the table has no clusters."""
    return encode(table["cluster" if "cluster" in table.column_names else "context_id"], None)[1]


def sample_clusters(cluster: IntArray, max_rows: int, rng: np.random.Generator) -> IntArray:
    """All rows, or those of randomly chosen whole clusters where there are more than about ``max_rows``."""
    if len(cluster) <= max_rows:
        return np.arange(len(cluster))
    turn = rng.permutation(int(cluster.max()) + 1)[cluster]
    return np.flatnonzero(turn <= np.sort(turn)[max_rows - 1])


def time_quantile(time: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Each row's rank in time, between 0 and 1; equal times share one. Only the order counts, so any unit will do.

    With weights (n,) it is the weight of the earlier rows instead of their number.
    """
    weight = np.ones(len(time)) if weight is None else weight
    _, code = np.unique(time, return_inverse=True)
    total = np.bincount(code, weights=weight)
    return np.asarray((np.cumsum(total) - total / 2)[code] / weight.sum())


def cosine_basis(time: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Half and whole cosines of the time quantile (n, COSINES), each of mean square one for evenly spaced rows."""
    half_turns = np.arange(1, COSINES + 1)
    return np.asarray(np.sqrt(2.0) * np.cos(np.pi * time_quantile(time, weight)[:, None] * half_turns))
