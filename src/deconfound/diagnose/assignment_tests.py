"""Tests of an assignment against its declared probabilities: the counts of the models, and features that predict them.

p-values are exact up to the number of resamples: assignments are drawn again with the declared probabilities or, for
features, permuted where all rows have the same ones.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.assignment import Assignment, redraw
from deconfound.diagnose.permutation_tests import (
    CHUNK,
    LeaveOneOutRidge,
    PredictionTest,
    compare_with_resamples,
)
from deconfound.diagnose.thresholds import MULTINOMIAL_DRAWS, RESAMPLES

MAX_TESTED_ROWS = 5_000  # of the test of features; of more, a sample is tested
MAX_REDRAWN_ROWS = 20_000  # of the test of counts, where rows have probabilities of their own; of more, a sample
MAX_GROUPS = 30  # of rows with the same probabilities, up to which a group's counts are drawn instead of its rows
TIE_RTOL = 1e-9  # statistics closer than this differ by rounding only
EIGENVALUE_RTOL = 1e-10  # of the largest: the counts' covariance is singular, because they sum to n


def sample_ratio_test(assignment: Assignment, seed: int) -> tuple[float, float]:
    """Squared distance of the counts from their expectation, and its p-value against counts drawn again.

    With C the covariance of the counts under the declared probabilities, the statistic is
    (counts - expected)' C^+ (counts - expected): Pearson's chi-square where all rows have the same probabilities.
    """
    probability = assignment.require_probability()
    expected = probability.sum(axis=0)
    covariance = np.diag(expected) - probability.T @ probability
    inverse = np.linalg.pinv(covariance, rcond=EIGENVALUE_RTOL, hermitian=True)

    def statistic(counts: IntArray) -> FloatArray:
        deviation = counts - expected
        return np.asarray(((deviation @ inverse) * deviation).sum(axis=1))

    observed = float(statistic(assignment.counts[None])[0])
    simulated = statistic(redraw_counts(probability, np.random.default_rng(seed)))
    at_least_observed = int((simulated >= observed * (1 - TIE_RTOL)).sum())
    return observed, (1 + at_least_observed) / (1 + len(simulated))


def redraw_counts(probability: FloatArray, rng: np.random.Generator) -> IntArray:
    """Rows per model (draws, k) of assignments drawn again."""
    vectors, sizes = np.unique(probability, axis=0, return_counts=True)
    if len(vectors) <= MAX_GROUPS:
        groups = zip(sizes, vectors / vectors.sum(axis=1, keepdims=True), strict=True)
        return np.asarray(sum(rng.multinomial(size, vector, MULTINOMIAL_DRAWS) for size, vector in groups))
    counts = np.zeros((RESAMPLES, probability.shape[1]), dtype=np.int64)
    limits = np.minimum(probability.cumsum(axis=1), 1.0)
    limits[:, -1] = 1.0
    step = max(1, CHUNK // RESAMPLES)
    for start in range(0, len(probability), step):
        uniform = rng.random((RESAMPLES, len(limits[start : start + step])))
        below = np.stack(
            [np.count_nonzero(uniform < limit, axis=1) for limit in limits[start : start + step].T], axis=1
        )
        counts += np.diff(below, axis=1, prepend=0)
    return counts


def sample_redrawn_rows(assignment: Assignment, seed: int) -> Assignment:
    """All draws, or a random sample of ``MAX_REDRAWN_ROWS`` where rows have probabilities of their own."""
    if assignment.is_constant or len(assignment) <= MAX_REDRAWN_ROWS:
        return assignment
    if len(np.unique(assignment.require_probability(), axis=0)) <= MAX_GROUPS:
        return assignment
    return assignment.take(np.sort(np.random.default_rng(seed).permutation(len(assignment))[:MAX_REDRAWN_ROWS]))


def predict_assignment(
    blocks: tuple[FloatArray, ...], penalties: tuple[float, ...], assignment: Assignment, seed: int
) -> PredictionTest:
    """Test that some block of features predicts the assigned model beyond its declared probability."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(assignment))[:MAX_TESTED_ROWS])
    sampled = assignment.take(rows)
    probability = sampled.require_probability()
    ridges = [
        LeaveOneOutRidge.fit(block[rows], penalty * len(rows)) for block, penalty in zip(blocks, penalties, strict=True)
    ]
    residual = sampled.indicator - probability
    scale = float(((residual - residual.mean(axis=0)) ** 2).sum())
    statistics = [AssignmentStatistic(ridge, probability) for ridge in ridges]
    columns = [np.stack([each.of(sampled.model[None]) for each in statistics])]
    size = max(1, CHUNK // max(each.numbers_per_draw for each in statistics))
    for start in range(0, RESAMPLES, size):
        count = min(size, RESAMPLES - start)
        if sampled.is_constant:
            drawn = rng.permuted(np.tile(sampled.model, (count, 1)), axis=1)
        else:
            drawn = redraw(probability, count, rng)
        columns.append(np.stack([each.of(drawn) for each in statistics]))
    return compare_with_resamples(np.hstack(columns), scale)


class AssignmentStatistic:
    """The statistic of a ridge whose targets are the indicators of the models minus their probabilities, centered.

    It is that of ``LeaveOneOutRidge.statistics``. The targets (k, draws, n) are never written down: their products
    with the features are sums over the rows of each model, so that the time does not grow with models times rows.
    """

    def __init__(self, ridge: LeaveOneOutRidge, probability: FloatArray) -> None:
        self._ridge = ridge
        self._deviation = probability - probability.mean(axis=0)  # (n, k)
        self._both = np.hstack([ridge.features, ridge.scaled_features])
        self._declared = self._deviation.T @ self._both  # (k, 2m)
        self._leverage_by_model = self._deviation.T @ ridge.leverage_ratio  # (k,)
        self._declared_square = float(ridge.leverage_ratio @ (self._deviation**2).sum(axis=1))

    @property
    def numbers_per_draw(self) -> int:
        """How many numbers one draw needs in memory."""
        return int(self._deviation.shape[0] + self._declared.size)

    def of(self, model: IntArray) -> FloatArray:
        """The statistic of each of several assignments (draws, n)."""
        draws, (n, models) = len(model), self._deviation.shape
        width, leverage = self._ridge.features.shape[1], self._ridge.leverage_ratio
        cell = (np.arange(draws)[:, None] * models + model).ravel()
        members = sparse.csr_matrix((np.ones(cell.size), (cell, np.tile(np.arange(n), draws))), (draws * models, n))
        share = np.bincount(cell, minlength=draws * models).reshape(draws, models) / n
        sums = (members @ self._both).reshape(draws, models, -1) - self._declared
        sums -= share[:, :, None] * self._both.sum(axis=0)
        fitted = ((sums[:, :, :width] @ self._ridge.inverse) * sums[:, :, width:]).sum(axis=(1, 2))
        own = self._deviation[np.arange(n), model] + np.take_along_axis(share, model, axis=1)
        square = leverage.sum() * (1.0 + (share**2).sum(axis=1)) + self._declared_square
        return np.asarray(fitted - square - 2.0 * (share @ self._leverage_by_model) + 2.0 * (own @ leverage))
