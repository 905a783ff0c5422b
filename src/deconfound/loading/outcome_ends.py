"""The worst and the best outcome: values outside of them, and whether less is better by the column's name."""

from __future__ import annotations

import math

import numpy as np

from deconfound.data import Mask
from deconfound.errors import Problem
from deconfound.findings import Finding, Notice
from deconfound.formatting import quote
from deconfound.loading.column_mapping import normalize_name
from deconfound.loading.convert import Floats
from deconfound.loading.missing_codes import likely_codes, missing_option
from deconfound.loading.outcome_words import OutcomeScale
from deconfound.loading.raw import Column

LESS_IS_BETTER = frozenset(
    (
        *("latency", "seconds", "secs", "sec", "ms", "milliseconds", "minutes", "duration", "delay", "wait", "ttft"),
        *("cost", "costs", "price", "error", "errors", "failure", "failures", "failed", "loss", "complaint"),
        *("complaints", "refunds", "escalations", "escalated", "hallucinations", "toxicity", "retries", "distance"),
    )
)
"""Words in names of columns."""
MORE_IS_BETTER = frozenset(("saved", "saving", "savings", "reduction", "reduced", "avoided", "free", "no", "without"))
"""Words that turn the others around, such as in time_saved."""
TIME = "time"  # at the end of a name, such as response_time
DIGITS = 2  # of a suggested end


def less_is_better(name: str) -> bool:
    """Whether a column's name suggests that small values are good."""
    words = normalize_name(name.rpartition(".")[2]).split("_")
    slow = len(words) > 1 and words[-1] == TIME
    return (slow or not LESS_IS_BETTER.isdisjoint(words)) and MORE_IS_BETTER.isdisjoint(words)


def likely_ends(low: float, high: float) -> tuple[float, float]:
    """Round ends of a scale on which values from ``low`` to ``high`` lie; it begins at 0 unless they begin later."""
    below = math.floor(low)
    return (float(below) if below < 0 or low >= 1.0 else 0.0), _rounded_up(high)


def _rounded_up(value: float) -> float:
    """The next whole number, of large numbers one with two digits that are not 0."""
    unit = 10.0 ** max(0, math.floor(math.log10(value)) - DIGITS + 1) if value >= 1.0 else 1.0
    rounded = math.ceil(value / unit) * unit
    return rounded if math.isfinite(rounded) else value


def range_hint(low: float, high: float) -> str:
    """How --outcome-range is written for values from ``low`` to ``high``, in both directions."""
    first, last = likely_ends(low, high)
    return f"--outcome-range {first:g} {last:g} if more is better, {last:g} {first:g} if less is better"


def outside_range(column: Column, values: Floats, outside: Mask, scale: OutcomeScale) -> Problem:
    """The problem of outcomes that are not on the scale."""
    finite = values[np.isfinite(values)]
    span = f"this column has values from {finite.min():g} to {finite.max():g}"
    description = "is outside 0 to 1"
    fix = f"pass the worst and the best outcome: {range_hint(float(finite.min()), float(finite.max()))} ({span})."
    if scale.range is not None:
        description = f"is outside --outcome-range {scale.range[0]:g} {scale.range[1]:g}"
        fix = f"widen the range ({span})."
    codes = likely_codes(values, outside)
    if not codes:
        return column.row_problem(outside, description, f"Correct it, or {fix}")
    stands = (
        f"If {' and '.join(f'{code:g}' for code in codes)} stands for a missing outcome, pass {missing_option(codes)}"
    )
    return column.row_problem(outside, description, f"{stands}. Otherwise correct it, or {fix}")


def direction_finding(column: Column, scale: OutcomeScale) -> Finding | None:
    """A warning where more counts as better, and the column's name suggests the opposite."""
    worst, best = scale.ends
    if worst > best or not less_is_better(column.name):
        return None
    message = f"{column.source}: the largest {quote(column.name)} counts as the best outcome."
    remedy = f"If less is better, pass the worst first: --outcome-range {best:g} {worst:g}."
    return Finding("outcome direction", "warn", Notice(message, remedy))
