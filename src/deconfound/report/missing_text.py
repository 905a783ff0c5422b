"""The sentences about missing outcomes: the findings, and the values that need no trust in the missing ones."""

from __future__ import annotations

from collections.abc import Sequence

from deconfound.diagnose import missing_outcomes
from deconfound.escaping import escape_name
from deconfound.features.surface import SURFACE_STATISTICS
from deconfound.findings import Finding
from deconfound.formatting import format_percent, join_noted_names, pluralize
from deconfound.report.scale import Scale
from deconfound.report.wording import Wordings, format_p_value
from deconfound.result import Result
from deconfound.value.unrated_rows import MissingOutcomes

WHOLE_SCALE = (
    "Bounds over nearly the whole scale say nothing about a model: too many of its outcomes are missing, or too few of "
    "its rows were randomized. Only more outcomes make them narrower."
)
MISSING_OUTCOMES = "Missing outcomes"  # the heading of the section
NEARLY_WHOLE = 0.95  # width of bounds, as a share of the scale, that need an explanation
ALWAYS_SHOWN_SHARE = 0.03  # of missing outcomes: above it, bounds are part of the summary whatever the tests say
FIND_THE_CAUSE = (
    "Find out why, and collect these outcomes. Until then rely on the bounds, which assume nothing about them."
)
MEANINGS = dict(SURFACE_STATISTICS)


def _shares(models: Sequence[str], part: Sequence[int], whole: Sequence[int]) -> str:
    return join_noted_names(
        (name, f": {some:,} of {total:,}") for name, some, total in zip(models, part, whole, strict=True)
    )


def _by_model(details: missing_outcomes.MissingByModel, finding: Finding) -> tuple[str, str]:
    missing, rows = sum(details.missing), sum(details.rows)
    counts = f"{missing:,} of {pluralize(rows, 'randomized row')} have no outcome"
    if finding.verdict == "cannot tell":
        return f"{counts}. Whether it depends on the model cannot be tested.", FIND_THE_CAUSE
    shares = _shares(details.models, details.missing, details.rows)
    if finding.verdict == "pass":
        return f"{counts}; no significant difference between models ({shares}; {format_p_value(finding)}).", ""
    return (
        f"{counts}, and models differ ({shares}; {format_p_value(finding)}). Rows that were rated are then not "
        "comparable between models, and the values are biased.",
        FIND_THE_CAUSE,
    )


def _by_output(details: missing_outcomes.MissingByOutput, finding: Finding) -> tuple[str, str]:
    counts = f"{details.missing:,} of {pluralize(details.rows, 'randomized row')}"
    p = format_p_value(finding)
    if finding.verdict == "pass":
        return f"Missing outcomes ({counts}) are not significantly related to the outputs of a model ({p}).", ""
    name = escape_name(details.statistic)
    meaning = f" ({MEANINGS[details.statistic]})" if details.statistic in MEANINGS else ""
    direction = "higher" if details.higher else "lower"
    return (
        f"Outcomes are missing ({counts}) more often for some outputs of a model than for others: where they are "
        f"missing, {name}{meaning} is {direction} ({p}). Unless ratings do not depend on it, the values are biased.",
        "Rely on the bounds, or on the weighted values if nothing but context and output decides who rates.",
    )


def _too_few_missing(details: missing_outcomes.TooFewMissing, _finding: Finding) -> tuple[str, str]:
    rows = pluralize(details.rows, "randomized row")
    return (
        f"{details.missing:,} of {rows} have no outcome: too few, or too little known about their outputs, to compare "
        "them with the others.",
        "",
    )


def _log_rates(details: missing_outcomes.LogRates, finding: Finding) -> tuple[str, str]:
    rates = join_noted_names(
        (name, f": {format_percent(rated / max(rows, 1), 0)}")
        for name, rated, rows in zip(details.models, details.rated, details.rows, strict=True)
    )
    p = format_p_value(finding)
    if finding.verdict == "pass":
        return f"Models are rated about equally often in the log ({rates}; {p}).", ""
    return (
        f"Models are rated at different rates in the log ({rates}; {p}), so its ratings are a selection. The "
        "experiment corrects for that; the raw means of the log do not.",
        "Ask for a rating equally often, whichever model answered.",
    )


WORDINGS: Wordings = {
    missing_outcomes.MissingByModel: _by_model,
    missing_outcomes.MissingByOutput: _by_output,
    missing_outcomes.TooFewMissing: _too_few_missing,
    missing_outcomes.LogRates: _log_rates,
}


def missing_answer(result: Result) -> list[str]:
    """One sentence for the answer, where the section says more."""
    missing = _shown(result)
    if missing is None:
        return []
    return [f'{_missing_share(missing)} of the randomized rows have no outcome: see "{MISSING_OUTCOMES}".']


def missing_outcome_lines(result: Result) -> list[str]:
    """What bounds and weighted values mean, where more than a few outcomes are missing or a check failed."""
    missing = _shown(result)
    if missing is None:
        return []
    scale, level = Scale.of(result), format_percent(result.level)
    share = _missing_share(missing)
    lines = [f"{share} of the randomized rows have no outcome. The values above use the rows that have one."]
    about = "" if result.population.kind == "experiment" else ", for the contexts of the experiment"
    cost = "" if result.values.cost is None else ", before cost"
    unit = f", in {scale.difference_unit}" if scale.difference_unit else ""
    lines.append(f"Bounds hold with {level} confidence whatever the missing outcomes are{about}{cost}{unit}.")
    bounds = missing.bounds(result.level)
    if (bounds[:, 1] - bounds[:, 0]).max() >= NEARLY_WHOLE:
        lines.append(WHOLE_SCALE)
    return [*lines, *_weighted_lines(missing)]


def missing_outcome_rows(result: Result) -> list[tuple[str, ...]]:
    """One row per model in the order of the values, headings first: missing outcomes, bounds, weighted value."""
    missing = _shown(result)
    if missing is None:
        return []
    scale, level, bounds = Scale.of(result), format_percent(result.level), missing.bounds(result.level)
    weighted = missing.weighted
    headings = (
        "model",
        "missing",
        "bounds",
        *(("weighted value", f"{level} interval") if weighted is not None else ()),
    )
    rows: list[tuple[str, ...]] = [headings]
    for name in result.values.ranking():
        i = missing.models.index(name)
        cells = [f"{missing.missing[i]:,} of {missing.rows[i]:,}", scale.interval(*map(float, bounds[i]))]
        if weighted is not None:
            ends = map(float, weighted.interval(result.level)[i])
            cells += [scale.value(float(weighted.estimate[i])), scale.interval(*ends)]
        rows.append((escape_name(name), *cells))
    return rows


def _weighted_lines(missing: MissingOutcomes) -> list[str]:
    if missing.weighted is None:
        return ["Too few outcomes are missing to weight the others in their place."]
    rows = format_percent(missing.effective_share, 0)
    remaining = f"{missing.imbalance:.2f} standard deviations"
    return [
        "Weighted values are right if a missing outcome does not depend on what it would have been, given model, "
        "context and output.",
        f"Weighting keeps {rows} of the rows' information; statistics differ by at most {remaining} after it.",
    ]


def _missing_share(missing: MissingOutcomes) -> str:
    return format_percent(sum(missing.missing) / sum(missing.rows), 1)


def _shown(result: Result) -> MissingOutcomes | None:
    missing = result.missing
    return missing if missing is not None and _is_worth_showing(missing, result.findings) else None


def _is_worth_showing(missing: MissingOutcomes, findings: Sequence[Finding]) -> bool:
    checks = (missing_outcomes.BY_MODEL, missing_outcomes.BY_OUTPUT)
    alarmed = any(each.check in checks and each.verdict in ("warn", "fail") for each in findings)
    return alarmed or sum(missing.missing) > ALWAYS_SHOWN_SHARE * sum(missing.rows)
