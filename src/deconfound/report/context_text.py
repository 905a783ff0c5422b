"""The sentences about A5: context shift."""

from __future__ import annotations

from deconfound.diagnose import context_shift as contexts
from deconfound.diagnose.thresholds import (
    FAIL_EFFECTIVE_SHARE,
    FAIL_IMBALANCE,
    FAIL_TARGET_OUTSIDE,
    MIN_DENSITY_RATIO,
    MIN_EFFECTIVE_ROWS,
    WARN_IMBALANCE,
)
from deconfound.findings import Finding
from deconfound.formatting import format_percent, pluralize
from deconfound.report.wording import Wordings, format_p_value

OTHER_CONTEXTS = {"log": "the log's", "replay": "the other replayed contexts", "target": "the target's"}
TARGET_DIFFERENCE = 'How far weights remove a difference is in "overlap with the target".'
SHIFT_CONSEQUENCE = {
    "log": (
        "Values remain valid for the experiment's contexts; the log is less informative about them and its raw "
        "averages describe another population.",
        "Nothing to do for the values. If the log's contexts are the ones that matter, give them as --target.",
    ),
    "replay": (
        "Values for the experiment's contexts remain valid.",
        "Leave out --extra-contexts: with it, values describe a mixture of both populations.",
    ),
}


def _context_difference(details: contexts.ContextDifference, finding: Finding) -> tuple[str, str]:
    others = OTHER_CONTEXTS[details.other_source]
    test = f"AUC {details.auc:.2f}, {pluralize(details.contexts, 'context')}, {format_p_value(finding)}"
    if details.other_source == contexts.TARGET:
        return f"Do the experiment's contexts differ from the target's? {test}. {TARGET_DIFFERENCE}", ""
    consequence, remedy = SHIFT_CONSEQUENCE[details.other_source]
    if finding.verdict == "warn":
        return f"The experiment's contexts differ from {others} ({test}). {consequence}", remedy
    return f"No significant difference between the experiment's contexts and {others} ({test}).", ""


def _same_contexts(details: contexts.SameContexts, _finding: Finding) -> tuple[str, str]:
    others = OTHER_CONTEXTS[details.other_source]
    return f"The experiment's contexts and {others} are the same.", ""


def _too_few_contexts(details: contexts.TooFewContexts, _finding: Finding) -> tuple[str, str]:
    others = OTHER_CONTEXTS[details.other_source]
    return (
        f"Fewer than {details.minimum} of the experiment's contexts, or of {others}, can be compared (one per "
        "cluster).",
        "Use more contexts or clusters.",
    )


def _undescribed_contexts(details: contexts.UndescribedContexts, _finding: Finding) -> tuple[str, str]:
    others = OTHER_CONTEXTS[details.other_source]
    return (
        f"No feature_* column depends on the context alone, so the experiment's contexts and {others} cannot be "
        "compared.",
        "Add feature_* columns that describe the context, or the text of the contexts.",
    )


def _target_overlap(details: contexts.TargetOverlap, finding: Finding) -> tuple[str, str]:
    if finding.verdict == "fail":
        return (
            f"Too little overlap with the target: {'; '.join(_failed_criteria(details))}. Weights cannot correct this.",
            "Randomize models on contexts of the target and add those rows to the experiment.",
        )
    rows = f"{details.effective_rows:.0f} effective rows of {pluralize(details.rows, 'experiment row')}"
    outside = f"{format_percent(details.share_outside_support, 0)} of the target's contexts are unlike the experiment's"
    message = f"Weighted to the target: {rows}; {outside}. {_imbalance_sentence(details)}"
    if finding.verdict == "pass":
        return message, ""
    imbalanced = details.imbalance >= WARN_IMBALANCE
    consequence = "Values keep part of that difference as bias." if imbalanced else "Intervals are wider."
    return f"{message} {consequence}", "Randomize more contexts like the target's."


def _imbalance_sentence(details: contexts.TargetOverlap) -> str:
    if details.imbalance < WARN_IMBALANCE:
        return "After weighting, no clear difference from the target's contexts remains."
    return f"After weighting, contexts still differ from the target's by up to {_sds(details.imbalance)}."


def _sds(difference: float) -> str:
    return f"{difference:.2f} standard deviations of a feature"


def _failed_criteria(details: contexts.TargetOverlap) -> list[str]:
    """Each criterion of ``overlap_finding`` that is not met: what was measured, and the threshold."""
    effective, share = details.effective_rows, details.effective_rows / details.rows
    outside, ratio = details.share_outside_support, details.mean_density_ratio
    criteria = (
        (
            outside >= FAIL_TARGET_OUTSIDE,
            f"{format_percent(outside, 0)} of the target's contexts are unlike every context of the experiment "
            f"(less than {format_percent(FAIL_TARGET_OUTSIDE)} required)",
        ),
        (
            effective < MIN_EFFECTIVE_ROWS,
            f"after weighting, the {pluralize(details.rows, 'experiment row')} count as {effective:.1f} "
            f"(at least {MIN_EFFECTIVE_ROWS} required)",
        ),
        (
            share < FAIL_EFFECTIVE_SHARE,
            f"after weighting, {format_percent(share, 0)} of the experiment's rows count "
            f"(at least {format_percent(FAIL_EFFECTIVE_SHARE)} required)",
        ),
        (
            ratio < MIN_DENSITY_RATIO,
            f"the experiment's contexts are {ratio:.2f} times as frequent in the target as in the experiment, on "
            f"average (at least {MIN_DENSITY_RATIO} required)",
        ),
        (
            details.imbalance >= FAIL_IMBALANCE,
            f"after weighting, contexts still differ from the target's by up to {_sds(details.imbalance)} "
            f"(less than {FAIL_IMBALANCE} required)",
        ),
    )
    return [sentence for failed, sentence in criteria if failed]


WORDINGS: Wordings = {
    contexts.ContextDifference: _context_difference,
    contexts.SameContexts: _same_contexts,
    contexts.TooFewContexts: _too_few_contexts,
    contexts.UndescribedContexts: _undescribed_contexts,
    contexts.TargetOverlap: _target_overlap,
}
