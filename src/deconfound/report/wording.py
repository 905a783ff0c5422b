"""What the sentences of all findings share: the type of a table of wordings, p-values, common remedies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deconfound.findings import Finding

Wordings = dict[type, Callable[[Any, Finding], tuple[str, str]]]
"""For each type of details, the function that gives message and remedy."""

MORE_ROWS, MORE_CONTEXTS = "Randomize more rows.", "Randomize more contexts."
NOT_RELIABLE = "Not reliable while a check fails"
ADD_TIME = "Add the time of each row (column `time`)."


def format_p_value(finding: Finding) -> str:
    """The raw p-value and, where it is small, the one adjusted for all tests of the study."""
    if finding.p_value is None:
        return ""
    if finding.adjusted_p_value is None or finding.p_value >= 0.1:
        return format_raw_p_value(finding.p_value)
    return f"{format_raw_p_value(finding.p_value)}, adjusted {format_raw_p_value(finding.adjusted_p_value)}"


def format_raw_p_value(value: float) -> str:
    """A p-value with three decimals, or two where it is large."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}" if value < 0.1 else f"p = {value:.2f}"
