"""How to deal rows to models, and the fewest that meet a goal."""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray
from deconfound.plan.evidence import Evidence
from deconfound.plan.forecast import Forecast, Goal
from deconfound.value.small_sample import MIN_ROWS_PER_MODEL

MOST_ROWS = 1_000_000  # in all; who needs more than that has another problem
LEAST_SHARE = 0.2  # of an equal share, for every model: a small propensity makes heavy weights and late surprises
WORTH_IT = 0.02  # of the rows, saved: less is not worth unequal propensities
STEPS = (0.5, 1.0)  # of the way from equal shares to those that theory favours; the gaps it rests on are guesses


def equal(count: int) -> FloatArray:
    """The same propensity for every model."""
    return np.full(count, 1.0 / count)


def by_spread(evidence: Evidence) -> FloatArray:
    """Rows in proportion to the standard deviation of a row (Neyman): least mean square width."""
    return _floored(np.sqrt(evidence.row))


def by_contest(evidence: Evidence) -> FloatArray:
    """More rows to those who may be the best (optimal computing budget allocation).

        rows_a ~ row_a / gap_a^2,   rows_front ~ sd_front * sqrt(sum_a rows_a^2 / row_a)

    gap_a^2 is the expected square, doubt included, so no gap is zero.
    """
    front = int(evidence.mean.argmax())
    variance, doubt = evidence.row, np.diag(evidence.doubt)
    squared = (evidence.mean - evidence.mean[front]) ** 2 + doubt + doubt[front] - 2 * evidence.doubt[front]
    others = np.arange(len(variance)) != front
    rows = np.zeros_like(variance)
    rows[others] = variance[others] / np.maximum(squared[others], np.finfo(np.float64).tiny)
    safe = np.maximum(variance, np.finfo(np.float64).tiny)
    rows[front] = np.sqrt(variance[front] * (rows[others] ** 2 / safe[others]).sum())
    return _floored(rows)


def fewest(forecast: Forecast, goal: Goal) -> tuple[FloatArray, FloatArray | None]:
    """The shares that meet a goal with fewest rows, and those rows; equal shares unless others save something."""
    even, *others = [(share, rows_needed(forecast, goal, share)) for share in _tried(forecast.evidence, goal)]
    best = min(others, key=lambda pair: _size(pair[1]))
    return best if _size(best[1]) < (1 - WORTH_IT) * _size(even[1]) else even


def rows_needed(forecast: Forecast, goal: Goal, share: FloatArray) -> FloatArray | None:
    """Fewest rows a model (k,), dealt by these shares, that meet the goal; None beyond ``MOST_ROWS``."""
    low, high = 0, MIN_ROWS_PER_MODEL * len(share)
    while not goal.met(forecast, dealt(share, high)):
        low, high = high, 2 * high
        if low >= MOST_ROWS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if goal.met(forecast, dealt(share, middle)) else (middle, high)
    rows = dealt(share, high)
    return rows if rows.sum() <= MOST_ROWS else None


def dealt(share: FloatArray, total: int) -> FloatArray:
    """Whole rows a model (k,), at least ``FEWEST`` each and ``total`` in all or a few more."""
    return np.asarray(np.maximum(np.ceil(share * total - 1e-9), MIN_ROWS_PER_MODEL))


def _size(rows: FloatArray | None) -> float:
    return np.inf if rows is None else float(rows.sum())


def _tried(evidence: Evidence, goal: Goal) -> list[FloatArray]:
    even = equal(len(evidence.models))
    if goal.kind == "width":
        return [even, by_spread(evidence)]
    favoured = by_contest(evidence)
    return [even, *((1 - step) * even + step * favoured for step in STEPS)]


def _floored(rows: FloatArray) -> FloatArray:
    """Shares in proportion to ``rows``, none below ``LEAST_SHARE`` of an equal one."""
    even = equal(len(rows))
    share = rows / rows.sum() if rows.sum() > 0 else even
    return np.asarray(LEAST_SHARE * even + (1 - LEAST_SHARE) * share)
