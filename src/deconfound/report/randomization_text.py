"""The sentences about A1: randomization."""

from __future__ import annotations

from deconfound.diagnose import randomization
from deconfound.escaping import escape_name
from deconfound.findings import Finding
from deconfound.formatting import format_percent, join_names, pluralize, quote
from deconfound.report.wording import ADD_TIME, MORE_ROWS, Wordings, format_p_value

BIASED = "Unless this is chance, the models were given different kinds of contexts and the values are biased."
ROWS_LOST = "Unless this is chance, rows were lost or added after the assignment, and the values are biased."


def _draws(draws: int, by_cluster: bool) -> str:
    return f"{pluralize(draws, 'row')}{', one per cluster' if by_cluster else ''}"


def _too_few_draws(details: randomization.TooFewDraws, _finding: Finding) -> tuple[str, str]:
    return f"Too few for this test: {_draws(details.draws, details.by_cluster)}.", MORE_ROWS


def _unknown_propensities(details: randomization.UnknownPropensities, _finding: Finding) -> tuple[str, str]:
    columns = join_names(f"propensity_{name}" for name in details.models)
    return (
        f"{details.source}: propensities vary between rows and are known for the assigned model only, so the "
        "assignment cannot be tested.",
        f"Add the probability of every model in every row (columns {columns}).",
    )


def _contradictory_propensities(details: randomization.ContradictoryPropensities, finding: Finding) -> tuple[str, str]:
    if finding.verdict == "cannot tell":
        return "With these propensities this cannot be tested.", ""
    return (
        f"{details.source}: each model has one propensity in all rows, and those of {join_names(details.models)} sum "
        f"to {details.total:.3g}. Probabilities of models of which one is drawn sum to at most 1, so these are not the "
        "ones that the models were drawn with, and values weighted by them are biased.",
        "Write the probability with which each row's model was drawn, or leave the column out if all were equally "
        "likely.",
    )


def _not_randomized(details: randomization.NotRandomized, finding: Finding) -> tuple[str, str]:
    if finding.verdict == "cannot tell":
        return "Without randomization this cannot be tested.", ""
    return (
        f"{details.source}: every row declares a propensity of 1, so its model was not drawn at random.",
        "Correct the propensities, or repeat the experiment with randomly drawn models.",
    )


def _sample_ratio(details: randomization.SampleRatio, finding: Finding) -> tuple[str, str]:
    total = sum(details.counts)
    test = f"chi-square {finding.statistic:.1f}, {format_p_value(finding)}"
    rows = _draws(total, details.by_cluster)
    if finding.verdict == "pass":
        return f"No significant deviation from the declared propensities ({rows}, {test}).", ""
    pairs = list(zip(details.counts, details.expected, strict=True))
    worst = max(range(len(pairs)), key=lambda k: abs(pairs[k][0] - pairs[k][1]) / max(pairs[k][1], 1e-12) ** 0.5)
    observed, declared = (format_percent(pairs[worst][side] / total, 1) for side in (0, 1))
    model = escape_name(details.models[worst])
    return (
        f"{model} was assigned in {observed} of {rows}; {declared} were declared, or follow from equal propensities if "
        f"none are ({test}). {ROWS_LOST}",
        "Look for errors, timeouts, filters and retries, and for wrong propensities; declare the true ones, or repeat "
        "the experiment.",
    )


def _missing_time(details: randomization.MissingTime, _finding: Finding) -> tuple[str, str]:
    return f"{details.source} has no time column, so a change of the assignment over time cannot be detected.", ADD_TIME


def _assignment_drift(details: randomization.AssignmentDrift, finding: Finding) -> tuple[str, str]:
    p = format_p_value(finding)
    if finding.verdict == "pass":
        return f"No significant change of the models' shares over time ({p}).", ""
    first, second = (format_percent(share, 1) for share in (details.first_half, details.second_half))
    shares = (details.declared_first_half, details.declared_second_half)
    declared_first, declared_second = (format_percent(share, 1) for share in shares)
    declared = "" if declared_first == declared_second else f", declared {declared_first} and {declared_second}"
    model = escape_name(details.model)
    return (
        f"The shares of the models changed over time: {model} from {first} in the first half to {second} in the second"
        f"{declared} ({p}). Anything else that changed with time is then confounded with the model.",
        "Declare the propensities of each period, or use only a period in which they were constant.",
    )


def _assignment_by_context(_details: randomization.AssignmentByContext, finding: Finding) -> tuple[str, str]:
    p = format_p_value(finding)
    if finding.verdict == "pass":
        return f"The context does not significantly predict the assigned model ({p}).", ""
    return (
        f"The context predicts the assigned model ({p}). {BIASED}",
        "Look for a rule or a user's choice before the assignment; declare its propensities, or remove those rows.",
    )


def _assignment_by_segment(details: randomization.AssignmentBySegment, finding: Finding) -> tuple[str, str]:
    p, column = format_p_value(finding), quote(details.column)
    if finding.verdict == "pass":
        return f"Segments by {column} do not significantly predict the assigned model ({p}).", ""
    return (
        f"Segments by {column} predict the assigned model ({p}). Unless this is chance, models were drawn with other "
        "probabilities in some segments, or the column depends on the answer; values by segment are then biased.",
        "If the column is known before the model answers, declare the propensity of each row; otherwise name another "
        "column.",
    )


def _identical_contexts(_details: randomization.IdenticalContexts, _finding: Finding) -> tuple[str, str]:
    return "All contexts have the same features, so this cannot be tested.", "Check the context column."


WORDINGS: Wordings = {
    randomization.TooFewDraws: _too_few_draws,
    randomization.UnknownPropensities: _unknown_propensities,
    randomization.ContradictoryPropensities: _contradictory_propensities,
    randomization.NotRandomized: _not_randomized,
    randomization.SampleRatio: _sample_ratio,
    randomization.MissingTime: _missing_time,
    randomization.AssignmentDrift: _assignment_drift,
    randomization.AssignmentByContext: _assignment_by_context,
    randomization.AssignmentBySegment: _assignment_by_segment,
    randomization.IdenticalContexts: _identical_contexts,
}
