"""The sentences about efficient values: what shared outputs add to a result, what they assume, and the details."""

from __future__ import annotations

import numpy as np

from deconfound.escaping import escape_name
from deconfound.formatting import format_percent, join_names
from deconfound.report.exclusion_text import ASSUMPTION, REASONS
from deconfound.report.scale import UNIT, Scale
from deconfound.report.wording import format_raw_p_value
from deconfound.result import Result
from deconfound.value.efficient import ExclusionTest
from deconfound.value.efficient_summary import EfficientSummary


def shared_output_lines(result: Result) -> list[str]:
    """What shared outputs do for these values, or could do."""
    summary = result.efficient
    if summary is None or summary.result is None:
        return [] if summary is None else [_fallback_line(summary)]
    narrower = format_percent(summary.narrowing(result.level), 0)
    p_value = format_raw_p_value(summary.result.exclusion.p_value)
    if summary.used:
        return [
            f"Outcomes of identical outputs count for every model that could have written them (efficient values): "
            f"intervals are {narrower} narrower than doubly robust ones.",
            f"This assumes that {ASSUMPTION}. The exclusion test does not contradict it ({p_value}).",
        ]
    if summary.requested:
        return [_fallback_line(summary)]
    return [
        f"Models often wrote the same output. --method efficient would make intervals {narrower} narrower. It assumes "
        f"that {ASSUMPTION} (exclusion test: {p_value})."
    ]


def _fallback_line(summary: EfficientSummary) -> str:
    return "" if summary.obstacle is None else f"Values are doubly robust, not efficient: {REASONS[summary.obstacle]}."


def efficient_detail_lines(summary: EfficientSummary | None, scale: Scale = UNIT) -> list[str]:
    """Overlap, test, estimated bias and widening, for specialists."""
    if summary is None or summary.result is None or summary.overlap is None:
        return []
    result, overlap = summary.result, summary.overlap
    lines = [
        f"Shared outputs: {format_percent(overlap.shared_rows, 0)} of the experiment's rows have an output that "
        f"another model could have written. An output has {overlap.effective_models:.2f} possible authors on average."
    ]
    if result.exclusion.df:
        lines.append(_test_line(result.exclusion, result.values.models, scale))
    if summary.used:
        users = [name for name, uses in zip(result.values.models, result.uses_shared_outputs, strict=True) if uses]
        widening = float(result.widening.max()) - 1
        widened = f" Their standard errors allow for the estimated bias, by up to {format_percent(widening, 0)}."
        lines.append(f"Models that gain from shared outputs: {join_names(users)}.{widened * (widening > 0)}")
    return lines


def _test_line(test: ExclusionTest, models: tuple[str, ...], scale: Scale) -> str:
    rows = zip(models, test.bias, test.bias_standard_error, strict=True)
    biases = "; ".join(
        f"{escape_name(name)} {scale.difference(bias, signed=True)} ± {scale.with_unit(scale.difference(error))}"
        for name, bias, error in rows
        if np.isfinite(bias) and np.isfinite(error)
    )
    statistic = f"F({test.df}, {test.residual_df}) = {test.statistic:.2f}, {format_raw_p_value(test.p_value)}"
    return f"Exclusion test: {statistic}. Efficient minus doubly robust value ± standard error: {biases}."
