"""The sentences about efficient values: what shared outputs add, what they assume, and why they are not used."""

from __future__ import annotations

import numpy as np

from deconfound.diagnose.exclusion import Exclusion
from deconfound.findings import Finding
from deconfound.formatting import escape_control_characters, format_percent, join_names
from deconfound.report.wording import Wordings, format_raw_p_value
from deconfound.result import Result
from deconfound.value.efficient import ExclusionTest
from deconfound.value.efficient_summary import EfficientSummary, Obstacle

ASSUMPTION = "a model affects outcomes only through its output"
REASONS: dict[Obstacle, str] = {
    "unknown propensities": "the experiment does not show the propensity of every model in every row, or it is zero",
    "no shared outputs": "no two models wrote the same output on the same context",
    "exclusion untestable": f"too few outputs are shared to test whether {ASSUMPTION}",
    "exclusion rejected": f"the exclusion test contradicts that {ASSUMPTION}",
    "no gain": "shared outputs would not make intervals narrower",
}
REMEDIES: dict[Obstacle, str] = {
    "unknown propensities": (
        "Add one column propensity_NAME for each model that could be assigned. A model that could not be assigned in "
        "some rows has no efficient value."
    ),
    "exclusion untestable": "Replay more draws, or randomize more rows.",
    "exclusion rejected": (
        "Nothing has to be done: doubly robust values do not need this assumption. Look for what differs between "
        "models besides their outputs, such as latency or a visible name."
    ),
}


def _exclusion(details: Exclusion, finding: Finding) -> tuple[str, str]:
    tested = ""
    if finding.p_value is not None and finding.statistic is not None:
        statistic = f"F({details.df}, {details.residual_df}) = {finding.statistic:.2f}"
        tested = f" ({statistic}, {format_raw_p_value(finding.p_value)}, level {details.level:g})"
    if details.obstacle is None:
        return (
            f"Nothing contradicts that {ASSUMPTION}{tested}. Outcomes of shared outputs count for every model that "
            "could have written them.",
            "",
        )
    sentence = f"Values are doubly robust, not efficient: {REASONS[details.obstacle]}{tested}."
    return sentence, REMEDIES.get(details.obstacle, "")


WORDINGS: Wordings = {Exclusion: _exclusion}


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


def efficient_detail_lines(summary: EfficientSummary | None) -> list[str]:
    """Overlap, test, estimated bias and widening, for specialists."""
    if summary is None or summary.result is None or summary.overlap is None:
        return []
    result, overlap = summary.result, summary.overlap
    lines = [
        f"Shared outputs: {format_percent(overlap.shared_rows, 0)} of the experiment's rows have an output that "
        f"another model could have written. An output has {overlap.effective_models:.2f} possible authors on average."
    ]
    if result.exclusion.df:
        lines.append(_test_line(result.exclusion, result.values.models))
    if summary.used:
        users = [name for name, uses in zip(result.values.models, result.uses_shared_outputs, strict=True) if uses]
        widened = format_percent(float(result.widening.max()) - 1, 0)
        lines.append(
            f"Efficient values: {join_names(users)}. Their standard errors allow for the estimated bias; the largest "
            f"increase is {widened}."
        )
    return lines


def _test_line(test: ExclusionTest, models: tuple[str, ...]) -> str:
    rows = zip(models, test.bias, test.bias_standard_error, strict=True)
    biases = "; ".join(
        f"{escape_control_characters(name)} {bias:+.3f} ± {error:.3f}"
        for name, bias, error in rows
        if np.isfinite(bias) and np.isfinite(error)
    )
    statistic = f"F({test.df}, {test.residual_df}) = {test.statistic:.2f}, {format_raw_p_value(test.p_value)}"
    return f"Exclusion test: {statistic}. Efficient minus doubly robust value ± standard error: {biases}."
