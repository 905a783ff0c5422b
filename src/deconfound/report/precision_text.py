"""What log and replay add to the precision of the experiment alone."""

from __future__ import annotations

import numpy as np

from deconfound.formatting import format_percent
from deconfound.result import Result

MIN_GAIN = 0.005  # of the variance; less would be shown as 0 %
NO_GAIN = "Log and replay do not narrow the intervals here; they may still improve the estimates."


def precision_sentence(result: Result) -> str:
    """For a page: the gain and the numbers behind it; empty where no variance can be compared."""
    factor = _variance_factor(result)
    if factor is None:
        return ""
    if factor <= 1.0:
        return NO_GAIN
    return f"{_gain(factor)}: with the experiment alone, the median variance of a value is {factor:.2f} times as large."


def precision_lines(result: Result) -> list[str]:
    """For a terminal: the gain in one line; nothing where no variance can be compared."""
    factor = _variance_factor(result)
    if factor is None:
        return []
    return [f"{_gain(factor)}." if factor >= 1.0 + MIN_GAIN else NO_GAIN]


def _gain(factor: float) -> str:
    """Variances fall with one over the rows."""
    return f"Log and replay are worth {format_percent(factor - 1.0, 0)} more randomized rows"


def _variance_factor(result: Result) -> float | None:
    """Median over the models of the variance of the experiment alone, divided by that of the reported value."""
    alone, combined = result.experiment.standard_error, result.values.standard_error
    both = np.isfinite(alone) & np.isfinite(combined)
    if not both.any() or not (combined[both] > 0).all():
        return None
    return float(np.median((alone[both] / combined[both]) ** 2))
