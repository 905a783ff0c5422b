"""Weights under which the experiment's contexts have the target's means: entropy balancing.

    weight_i = c exp(tilt' g_i)      with      |weighted mean of g_j - the target's mean of g_j| <= tolerance_j

g are the columns that describe a context, their squares and, where few, their products. Where the mean outcome is a
linear function of g, the weighted outcomes are unbiased for the target whatever the tilt is: the weights depend on
contexts only. Of all weights with these means, these are the closest to equal ones (Hainmueller, 2012).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from deconfound.design import FloatArray, usable_sd
from deconfound.value.clusters import Clusters

ROWS_PER_FEATURE = 8  # independent rows; with fewer, features are not all balanced exactly: chance would cost rows
ROWS_PER_COLUMN = 10  # with fewer, not even columns are
MAX_FEATURES = 60  # with products; more columns have no products
MAX_SQUARED_SD = 3.0  # columns are cut here before they are squared: one outlier would decide the mean of a square
EXACT, FEW_ROWS, VERY_FEW_ROWS = (0.0, 0.0), (0.0, 0.5), (0.5, 1.0)
"""First tolerances of columns and of squares, in standard errors of the difference of the means."""

TOLERANCES = ((0.0, 1.0), (0.0, 2.0), (0.5, 2.0), (1.0, 2.0), (2.0, 2.0))  # tried in turn where the first fails
BALANCE_ATOL = 0.01  # standard deviations beyond the tolerance that still count as balanced
MIN_EFFECTIVE_SHARE = 0.1  # of the rows; a looser balance is tried where less would remain
RIDGE = 0.05  # on the tilt, where no tolerance can be met; it leaves a difference of 0.05 tilt
MAX_TILT = 10.0  # per standard deviation; reached only where the means cannot be met
MAX_ITERATIONS = 500
GRADIENT_ATOL = 1e-7


@dataclass(frozen=True, slots=True)
class TwoSamples:
    """Features of the experiment's rows and of a target's, and which rows belong together."""

    experiment: FloatArray  # (n, p)
    target: FloatArray  # (m, p)
    experiment_clusters: Clusters
    target_clusters: Clusters

    @classmethod
    def standardized(
        cls, both: FloatArray, split: int, experiment_clusters: Clusters, target_clusters: Clusters
    ) -> TwoSamples:
        """Features of all rows, the experiment's first, scaled to standard deviation one over both."""
        centered = both - both.mean(axis=0)
        size = usable_sd(centered.std(axis=0), np.abs(both).max(axis=0, initial=0.0))
        scaled = centered / size
        return cls(scaled[:split], scaled[split:], experiment_clusters, target_clusters)

    def difference(self, weight: FloatArray) -> FloatArray:
        """Weighted mean of the experiment less the target's (p,), in standard deviations."""
        return np.asarray(weight @ self.experiment / weight.sum() - self.target.mean(axis=0))

    def standard_error(self, weight: FloatArray) -> FloatArray:
        """Standard error of ``difference`` (p,) for weights that are known."""
        share = weight / weight.sum()
        own = share[:, None] * (self.experiment - share @ self.experiment)
        other = (self.target - self.target.mean(axis=0)) / len(self.target)
        variance = self.experiment_clusters.sums(own).variance() + self.target_clusters.sums(other).variance()
        return np.asarray(np.sqrt(variance))


def balance_features(columns: FloatArray, rows: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Columns, squares and, where ``rows`` independent rows suffice, products; and which features are columns."""
    count = columns.shape[1]
    blocks = [columns, cut(columns) ** 2]
    if count * (count + 3) // 2 <= min(MAX_FEATURES, rows // ROWS_PER_FEATURE):
        blocks.append(products(columns))
    features = np.hstack(blocks)
    return features, np.arange(features.shape[1]) < count


def cut(columns: FloatArray) -> FloatArray:
    """Columns in standard deviations, between -MAX_SQUARED_SD and MAX_SQUARED_SD."""
    centered = columns - columns.mean(axis=0)
    size = usable_sd(centered.std(axis=0), np.abs(columns).max(axis=0, initial=0.0))
    return np.asarray(np.clip(centered / size, -MAX_SQUARED_SD, MAX_SQUARED_SD))


def products(columns: FloatArray) -> FloatArray:
    """Products of all pairs of columns."""
    bounded = cut(columns)
    first, second = np.triu_indices(columns.shape[1], 1)
    return np.asarray(bounded[:, first] * bounded[:, second])


def balancing_weights(samples: TwoSamples, is_column: NDArray[np.bool_]) -> FloatArray:
    """Weights (n,) of mean one with the tightest balance that leaves enough effective rows.

    Columns are balanced exactly if that is possible and rows suffice, squares too if there are more rows. A feature
    that is constant in the experiment cannot be balanced and is left to the caller's check of what remains.
    """
    rows = len(samples.experiment)
    movable = samples.experiment.std(axis=0) > 0
    centered = (samples.experiment - samples.target.mean(axis=0))[:, movable]
    error = samples.standard_error(np.ones(rows))[movable]
    independent_rows = samples.experiment_clusters.count
    few = FEW_ROWS if is_column.sum() * ROWS_PER_COLUMN <= independent_rows else VERY_FEW_ROWS
    first = EXACT if len(is_column) * ROWS_PER_FEATURE <= independent_rows else few
    looser = (step for step in TOLERANCES if step[0] >= first[0] and step[1] > first[1])
    for of_columns, of_squares in (first, *looser):
        tolerance = np.where(is_column[movable], of_columns, of_squares) * error
        weight = entropy_weights(centered, tolerance)
        excess = np.abs(weight @ centered) / rows - tolerance
        if excess.max(initial=0.0) < BALANCE_ATOL and rows / (weight @ weight) >= MIN_EFFECTIVE_SHARE:
            return weight
    return entropy_weights(centered, np.zeros(len(error)), ridge=RIDGE)


def entropy_weights(centered: FloatArray, tolerance: FloatArray, ridge: float = 0.0) -> FloatArray:
    """Weights of mean one with |mean of weight * centered| <= tolerance, as equal as possible.

        tilt = argmin log sum_i exp(tilt' centered_i) + tolerance' |tilt| + ridge / 2 tilt' tilt

    is the dual problem. The tilt is split into a positive and a negative part, which makes absolute values smooth.
    """
    count = centered.shape[1]

    def dual(parts: FloatArray) -> tuple[float, FloatArray]:
        tilt = parts[:count] - parts[count:]
        logit = centered @ tilt
        total = float(logsumexp(logit))
        gradient = np.exp(logit - total) @ centered + ridge * tilt
        value = total + float(tolerance @ (parts[:count] + parts[count:])) + ridge / 2 * float(tilt @ tilt)
        return value, np.concatenate([gradient + tolerance, tolerance - gradient])

    options = {"maxiter": MAX_ITERATIONS, "maxfun": 2 * MAX_ITERATIONS, "ftol": 1e-14, "gtol": GRADIENT_ATOL}
    start, bounds = np.zeros(2 * count), [(0.0, MAX_TILT)] * (2 * count)
    parts = minimize(dual, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x if count else start
    logit = centered @ (parts[:count] - parts[count:])
    weight = np.exp(logit - logit.max(initial=-np.inf))
    return np.asarray(weight / weight.mean())
