"""The sentences about A3: outcome consistency."""

from __future__ import annotations

from deconfound.diagnose import outcome_consistency as outcomes
from deconfound.diagnose import outcome_drift as drift
from deconfound.diagnose import outcome_matching as matching
from deconfound.findings import Finding
from deconfound.formatting import pluralize
from deconfound.report.wording import ADD_TIME, Wordings, format_p_value, format_raw_p_value

CHECK_SCALE = (
    "Check that the best outcome is the same end of the scale in both sources; invert the source where it is not."
)


def _scale(values: int, bounds: tuple[float, float], scale: tuple[float, ...]) -> str:
    if scale and len(scale) < 3:
        return " and ".join(f"{value:.3g}" for value in scale)
    return f"{values:,} values from {bounds[0]:.3g} to {bounds[1]:.3g}"


def _outcome_values(details: outcomes.OutcomeValues, finding: Finding) -> tuple[str, str]:
    log = _scale(details.log_values, details.log_range, details.log_scale)
    experiment = _scale(details.experiment_values, details.experiment_range, details.experiment_scale)
    observed = f"log: {log}; experiment: {experiment}"
    if finding.verdict == "pass":
        return f"Log and experiment use compatible outcome values ({observed}).", ""
    return (
        f"Log and experiment use different outcome values ({observed}; {format_p_value(finding)}). A reward learned "
        "from one is wrong for the other.",
        "Convert both to one scale and coding before loading; --outcome-range applies to both.",
    )


def _outcome_direction(details: outcomes.OutcomeDirection, finding: Finding) -> tuple[str, str]:
    correlation = f"correlation {details.correlation:.2f} within models"
    if finding.verdict == "warn":
        return (
            f"Outputs that rate well in the log rate poorly in the experiment ({correlation}, "
            f"{format_p_value(finding)}). One source may have an inverted scale; strong confounding can have the same "
            "effect.",
            CHECK_SCALE,
        )
    test = f"{correlation}, {format_raw_p_value(details.positive_p_value)}"
    if details.confirmed:
        return f"Outputs that rate well in the log also rate well in the experiment ({test}).", ""
    return (
        f"The log does not predict the experiment's outcomes ({test}), so an inverted scale could not be detected.",
        "Compare some rows of both sources by hand.",
    )


def _direction_untested(details: outcomes.DirectionUntested, _finding: Finding) -> tuple[str, str]:
    return (
        f"The direction of the outcomes cannot be compared: this needs surface statistics and {details.minimum} "
        f"experiment rows, of {details.rows:,}.",
        "Use surface statistics, and randomize more rows.",
    )


def _matching_outputs(details: matching.MatchingOutputs, finding: Finding) -> tuple[str, str]:
    rows = f"{pluralize(details.rows, 'row')} with the same {details.matched_on}"
    test = f"correlation {details.correlation:.2f} within models, {format_p_value(finding)}"
    if finding.verdict == "pass":
        return f"No significant contradiction between log and experiment on {rows} ({test}).", ""
    return (
        f"Log and experiment contradict each other on {rows} ({test}). One source may have an inverted scale.",
        CHECK_SCALE,
    )


def _matching_level(details: matching.MatchingLevel, finding: Finding) -> tuple[str, str]:
    rows = f"{pluralize(details.rows, 'row')} with the same {details.matched_on}"
    test = f"mean difference {details.difference:+.3f}, {format_p_value(finding)}"
    if finding.verdict == "pass":
        return f"No significant difference in mean outcome between experiment and log on {rows} ({test}).", ""
    return (
        f"Experiment and log differ in their mean outcome on {rows} ({test}). Confounding causes this and is corrected;"
        " a different question or rating scale would not be, and the data cannot distinguish them.",
        "Make sure that both sources asked the same question on the same scale.",
    )


def _too_few_matches(details: matching.TooFewMatches, _finding: Finding) -> tuple[str, str]:
    return (
        f"{pluralize(details.rows, 'experiment row')} share context and output, or context and model, with the log; "
        f"{details.minimum} are needed.",
        "Include some contexts in both sources, to see whether the same output gets the same outcome.",
    )


def _outcome_drift(details: drift.OutcomeDrift, finding: Finding) -> tuple[str, str]:
    p = format_p_value(finding)
    if finding.verdict == "pass":
        return f"No significant change of a model's outcomes over time ({p}).", ""
    return (
        f"Outcomes of the same model changed over time ({details.mean_shift:+.3f} from the first half to the second, "
        f"{p}). Values then average over a changing period.",
        "Find out what changed (users, rubric, judge, model version), and use only the rows that still apply.",
    )


def _drift_untested(details: drift.DriftUntested, _finding: Finding) -> tuple[str, str]:
    if details.has_time:
        return f"{details.source} has too few rows, clusters or distinct times to detect a drift.", "Collect more rows."
    return f"{details.source} has no time column, so a change of the outcomes over time cannot be detected.", ADD_TIME


WORDINGS: Wordings = {
    outcomes.OutcomeValues: _outcome_values,
    outcomes.OutcomeDirection: _outcome_direction,
    outcomes.DirectionUntested: _direction_untested,
    matching.MatchingOutputs: _matching_outputs,
    matching.MatchingLevel: _matching_level,
    matching.TooFewMatches: _too_few_matches,
    drift.OutcomeDrift: _outcome_drift,
    drift.DriftUntested: _drift_untested,
}
