"""Intervals for means of outcomes in [0, 1], by the mid-p binomial test with an effective number of rows."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, ndtr

from deconfound.design import FloatArray

BISECTIONS = 50  # each halves the error, so the limits are exact to 1e-15
MIN_SHAPE = 1e-12  # shapes of a beta distribution are positive


def mid_p_interval(mean: FloatArray, inverse_rows: FloatArray, z: float) -> FloatArray:
    """Limits (k, 2) of the probabilities at which ``mean`` (k,) of 1 / ``inverse_rows`` yes/no rows is not unusual.

        upper limit: P(X < x) + P(X = x) / 2 = Phi(-z),      x = n mean,  n = 1 / inverse_rows

    Binomial probabilities are extended to any real x and n by the beta distribution. Unlike a normal interval, the
    limits stay in [0, 1], are wider on the side of one half, and have a positive width at a mean of 0 or 1. Half of
    P(X = x), not all of it: the exact interval of Clopper and Pearson covers more often than it says.
    """
    rows = 1.0 / np.maximum(inverse_rows, np.finfo(np.float64).tiny)
    successes = np.clip(mean, 0.0, 1.0) * rows
    tail = float(ndtr(-abs(z)))
    both = np.repeat([1.0 - tail, tail], len(rows))
    return _solve(np.tile(successes, 2), np.tile(rows, 2), both).reshape(2, -1).T


def inverse_yes_no_rows(
    variance: FloatArray, inflation: FloatArray, binomial_variance: FloatArray, independent_rows: FloatArray | None
) -> FloatArray:
    """One over the number of yes/no rows (k,) whose mean has the ``variance`` (k,), times ``inflation``.

    ``inflation`` is what an estimated variance costs: a squared t quantile over the normal one. But no mean of n
    ``independent_rows`` in [0, 1] varies more than that of n yes/no rows. So the variance of yes/no outcomes is known,
    and costs nothing.
    """
    plain = variance / binomial_variance
    if independent_rows is None:
        return np.asarray(inflation * plain)
    return np.asarray(np.minimum(inflation * plain, np.maximum(plain, 1 / independent_rows)))


def _solve(successes: FloatArray, rows: FloatArray, probability: FloatArray) -> FloatArray:
    """The chances of success at which ``_mid_p`` is ``probability``; it decreases from one to zero."""
    low, high = np.zeros_like(rows), np.ones_like(rows)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        above = _mid_p(successes, rows, middle) > probability
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    # A tail that never reaches the probability inside (0, 1) puts the limit on the edge.
    return np.where(high == 1.0, 1.0, np.where(low == 0.0, 0.0, (low + high) / 2))


def _mid_p(successes: FloatArray, rows: FloatArray, chance: FloatArray) -> FloatArray:
    """P(X < successes) + P(X = successes) / 2 for X ~ binomial(rows, chance)."""
    failures = rows - successes
    at_most = np.where(failures > 0, betainc(np.maximum(failures, MIN_SHAPE), successes + 1, 1 - chance), 1.0)
    below = np.where(successes > 0, betainc(failures + 1, np.maximum(successes, MIN_SHAPE), 1 - chance), 0.0)
    return np.asarray((at_most + below) / 2)
