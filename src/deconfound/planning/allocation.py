"""Distribute rows over models, and find the smallest number of rows that meets a goal."""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray
from deconfound.planning.forecast import Forecast, Goal, root_mean_square
from deconfound.planning.inputs import PlanInputs
from deconfound.value.mean_weights import MIN_ROWS_PER_MODEL

MAX_ROWS = 1_000_000  # in total; goals that need more are refused
MIN_RELATIVE_SHARE = 0.2  # of an equal share, for every model: small propensities give large, unstable weights
MIN_SAVING = 0.02  # of the rows; smaller savings do not justify unequal propensities
INTERPOLATION_STEPS = (0.5, 1.0)  # of the way from equal to OCBA shares, which depend on uncertain differences
ROUNDING_ATOL = 1e-9  # rows; a product such as 0.1 * 30 must not be rounded up to the next whole row


def equal_shares(count: int) -> FloatArray:
    """The same propensity for every model."""
    return np.full(count, 1.0 / count)


def neyman_shares(inputs: PlanInputs) -> FloatArray:
    """Shares proportional to the residual standard deviation (Neyman allocation): least mean squared width."""
    return _with_minimum_share(np.sqrt(inputs.residual_variance))


def ocba_shares(inputs: PlanInputs) -> FloatArray:
    """More rows for the likely best models (optimal computing budget allocation).

        rows_a ~ variance_a / difference_a^2,   rows_best ~ sd_best * sqrt(sum_a rows_a^2 / variance_a)

    difference_a^2 is the expected squared difference to the best model under the prior, so it is never zero.
    """
    mean, covariance, variance = inputs.prior.mean, inputs.prior.covariance, inputs.residual_variance
    best = int(mean.argmax())
    value_variance = np.diag(covariance)
    squared_difference = (mean - mean[best]) ** 2 + value_variance + value_variance[best] - 2 * covariance[best]
    others = np.arange(len(variance)) != best
    rows = np.zeros_like(variance)
    rows[others] = variance[others] / np.maximum(squared_difference[others], np.finfo(np.float64).tiny)
    positive = np.maximum(variance, np.finfo(np.float64).tiny)
    rows[best] = np.sqrt(variance[best] * (rows[others] ** 2 / positive[others]).sum())
    return _with_minimum_share(rows)


def width_shares(forecast: Forecast, rows_per_model: int = 100) -> FloatArray:
    """Neyman shares if they save at least ``MIN_SAVING`` of the rows for the same width, else equal ones.

    Rows are inversely proportional to the squared width; the comparison is made at ``rows_per_model``.
    """
    equal, neyman = equal_shares(len(forecast.inputs.models)), neyman_shares(forecast.inputs)
    total = rows_per_model * len(equal)
    width, equal_width = (root_mean_square(forecast.widths(allocate_rows(share, total))) for share in (neyman, equal))
    return neyman if width**2 < (1 - MIN_SAVING) * equal_width**2 else equal


def cheapest_allocation(forecast: Forecast, goal: Goal) -> tuple[FloatArray, FloatArray | None]:
    """The shares that meet the goal with fewest rows, and those rows per model (None beyond ``MAX_ROWS``).

    Equal shares unless others save at least ``MIN_SAVING``.
    """
    candidates = _candidate_allocations(forecast.inputs, goal)
    equal, *others = [(share, rows_needed(forecast, goal, share)) for share in candidates]
    cheapest = min(others, key=lambda candidate: _total(candidate[1]))
    return cheapest if _total(cheapest[1]) < (1 - MIN_SAVING) * _total(equal[1]) else equal


def rows_needed(forecast: Forecast, goal: Goal, share: FloatArray) -> FloatArray | None:
    """Smallest number of rows per model (k,) in these proportions that meets the goal; None beyond ``MAX_ROWS``."""
    low, high = 0, MIN_ROWS_PER_MODEL * len(share)
    while not goal.is_met(forecast, allocate_rows(share, high)):
        low, high = high, 2 * high
        if low >= MAX_ROWS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if goal.is_met(forecast, allocate_rows(share, middle)) else (middle, high)
    rows = allocate_rows(share, high)
    return rows if rows.sum() <= MAX_ROWS else None


def allocate_rows(share: FloatArray, total: int) -> FloatArray:
    """Whole rows per model (k,): at least ``MIN_ROWS_PER_MODEL`` each, together ``total`` or slightly more."""
    return np.asarray(np.maximum(np.ceil(share * total - ROUNDING_ATOL), MIN_ROWS_PER_MODEL))


def _candidate_allocations(inputs: PlanInputs, goal: Goal) -> list[FloatArray]:
    """Shares to try; equal ones first."""
    equal = equal_shares(len(inputs.models))
    if goal.kind == "width":
        return [equal, neyman_shares(inputs)]
    optimal = ocba_shares(inputs)
    return [equal, *((1 - step) * equal + step * optimal for step in INTERPOLATION_STEPS)]


def _with_minimum_share(rows: FloatArray) -> FloatArray:
    """Shares proportional to ``rows``, mixed with equal ones so that none falls below ``MIN_RELATIVE_SHARE``."""
    equal = equal_shares(len(rows))
    share = rows / rows.sum() if rows.sum() > 0 else equal
    return np.asarray(MIN_RELATIVE_SHARE * equal + (1 - MIN_RELATIVE_SHARE) * share)


def _total(rows: FloatArray | None) -> float:
    return np.inf if rows is None else float(rows.sum())
