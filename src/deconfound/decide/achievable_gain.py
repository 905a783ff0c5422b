"""The most that routing could gain: choosing the truly best model of every context, given all that is uncertain."""

from __future__ import annotations

import numpy as np

from deconfound.decide.calibration import Calibration
from deconfound.design import FloatArray

DRAWS = 200  # of values, slope and variance; the 95th percentile then has ten draws above it
MAX_CONTEXTS = 500  # drawn from more; their mean gain has a standard error below 0.005
SEED = 11  # one fixed sample, so that equal inputs give equal bounds


def achievable_gain_bound(
    q: FloatArray, covariance: FloatArray, calibration: Calibration, cost: FloatArray, level: float
) -> float:
    """Upper ``level`` bound of mean_x max_a c(x, a) - max_a mean_x c(x, a), in outcome units and net of cost.

        c(x, a) = value_a + slope * (q(x, a) - mean_q_a) + deviation(x, a)

    Values, slope and the variance of the deviations are drawn from their posterior distributions. ``q`` (contexts, k)
    is the reward; ``covariance`` (k, k) that of the errors of the values. There is no bound where values or slope have
    no standard error, nor where no contexts recur: differences that nothing shows may then have any size.
    """
    known = np.isfinite(covariance).all() and np.isfinite(calibration.slope_standard_error)
    if not known or not calibration.context_variance.estimated:
        return 1.0 + float(np.ptp(cost))
    rng = np.random.default_rng(SEED)
    contexts = q if len(q) <= MAX_CONTEXTS else q[rng.choice(len(q), MAX_CONTEXTS, replace=False)]
    deviation = contexts - calibration.mean_q
    eigenvalues, axes = np.linalg.eigh(covariance)
    root = (axes * np.sqrt(np.maximum(eigenvalues, 0.0))) @ axes.T  # symmetric: rounding does not turn it
    unpredicted, gains = calibration.context_variance, np.empty(DRAWS)
    for draw in range(DRAWS):
        value = calibration.value - cost + root @ rng.standard_normal(len(cost))
        slope = np.clip(
            calibration.largest_slope_estimate + calibration.slope_standard_error * rng.standard_normal(), 0.0, 1.0
        )
        sd = np.sqrt(np.maximum(unpredicted.by_model + unpredicted.by_model_sd * rng.standard_normal(), 0.0))
        by_context = value + slope * deviation + sd * rng.standard_normal(deviation.shape)
        gains[draw] = by_context.max(axis=1).mean() - by_context.mean(axis=0).max()
    return float(np.quantile(gains, level, method="higher"))
