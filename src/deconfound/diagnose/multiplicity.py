"""Verdicts for all tests of one study together, so that a study that violates nothing rarely shows a warning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deconfound.diagnose.thresholds import FAIL_P_RATIO
from deconfound.findings import Details, Finding, Verdict

SEVERITY: tuple[Verdict, ...] = ("pass", "warn", "fail")


@dataclass(frozen=True, slots=True)
class PendingFinding:
    """A tested check whose verdict depends on the p-values of the study's other tests."""

    check: str
    assumption: str
    details: Details
    statistic: float | None  # None where it is infinite
    p_value: float
    worst: Verdict = "fail"  # "warn" for what has harmless explanations, "pass" for an effect too small to matter
    otherwise: Verdict = "pass"  # without a significant result


def judge(results: Sequence[Finding | PendingFinding], level: float) -> tuple[Finding, ...]:
    """Decide all pending verdicts by Holm's adjusted p-values; other findings stay as they are.

    If every null hypothesis is true, at most 1 - level of studies get a warning from these tests, and at most
    ``FAIL_P_RATIO`` of that a failure, whatever the dependence between the tests.
    """
    adjusted = iter(holm([each.p_value for each in results if isinstance(each, PendingFinding)]))
    return tuple(_decide(each, next(adjusted), level) if isinstance(each, PendingFinding) else each for each in results)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values of Holm's step-down procedure: the largest of (m - j + 1) p_(j) over all j up to its rank."""
    adjusted, largest = [1.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = largest
    return adjusted


def _decide(pending: PendingFinding, adjusted_p_value: float, level: float) -> Finding:
    significance: Verdict = pending.otherwise
    if adjusted_p_value < 1.0 - level:
        reached: Verdict = "fail" if adjusted_p_value < FAIL_P_RATIO * (1.0 - level) else "warn"
        significance = SEVERITY[min(SEVERITY.index(reached), SEVERITY.index(pending.worst))]
    return Finding(
        pending.check,
        significance,
        pending.details,
        pending.assumption,
        pending.statistic,
        pending.p_value,
        adjusted_p_value,
    )
