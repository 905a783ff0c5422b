"""The sentences about constants, duplicates and leaks in the tables."""

from __future__ import annotations

from deconfound.diagnose import sanity
from deconfound.findings import Finding
from deconfound.formatting import format_percent, join_names, pluralize, quote
from deconfound.report.wording import Wordings

CHECK_OUTCOME = "Check which column is the outcome (--map)."


def _constant_outcomes(details: sanity.ConstantOutcomes, finding: Finding) -> tuple[str, str]:
    if finding.verdict == "pass":
        return "Outcomes vary in both sources and for every model.", ""
    source = join_names(details.sources)
    if details.models:
        return (
            f"{source}: all outcomes of {join_names(details.models)} are equal: how much they vary is not known.",
            "Their intervals rest on how much other models vary and on the outcome's range. More rows narrow them.",
        )
    if details.in_experiment:
        return f"All outcomes in {source} are equal, so the models cannot be compared.", CHECK_OUTCOME
    return f"All outcomes in {source} are equal, so the log is not informative.", CHECK_OUTCOME


def _duplicate_rows(details: sanity.DuplicateRows, finding: Finding) -> tuple[str, str]:
    if finding.verdict == "pass":
        return f"No row of {details.source} occurs twice.", ""
    count = max(details.rows, details.repeated_cells)
    rows = f"{pluralize(count, 'row')} ({format_percent(count / details.total_rows, 1)})"
    if details.repeated_cells > details.rows:
        return (
            f"{details.source}: in {rows}, cluster, context, model and output are those of an earlier row: copies or "
            "retries.",
            "Remove copies and retries; if they are separate observations, nothing has to be done.",
        )
    coincidence = "" if details.certain else " On this discrete scale some of it may be coincidence."
    return (
        f"{details.source}: {rows} equal an earlier row and count twice.{coincidence}",
        "Remove the duplicates: the reward takes them for separate observations.",
    )


def _duplicate_contexts(details: sanity.DuplicateContexts, finding: Finding) -> tuple[str, str]:
    if finding.verdict == "pass":
        return "Every text of the experiment has one context_id.", ""
    texts = f"{pluralize(details.texts, 'text')} ({pluralize(details.rows, 'row')})"
    return (
        f"{details.source}: {texts} under several context_ids. Cross-fitting then trains on contexts that it predicts, "
        "and standard errors are too small.",
        "Give each text one context_id, or omit the column: contexts are then identified by their text.",
    )


def _no_text(_details: sanity.NoText, _finding: Finding) -> tuple[str, str]:
    return "Without texts, contexts with several ids cannot be detected.", ""


def _shared_rows(details: sanity.SharedRows, finding: Finding) -> tuple[str, str]:
    if not details.share:
        return "No experiment row is in the log.", ""
    if finding.verdict == "pass":
        share = format_percent(details.share, 0)
        return f"{share} of the experiment's rows are in the log, which may be coincidence on this discrete scale.", ""
    return (
        f"{format_percent(details.share, 1)} of the experiment's rows are also in the log: the reward was trained on "
        "their outcomes, and they count twice.",
        "Remove the randomized rows from the log.",
    )


def _label_leakage(details: sanity.LabelLeakage, finding: Finding) -> tuple[str, str]:
    if not details.labels:
        return "There are no labels.", ""
    if finding.verdict == "pass":
        return f"No label is the outcome itself (largest correlation {details.largest_correlation:.2f}).", ""
    return (
        f"{join_names(details.leaking)}: the outcome under another name (correlation "
        f"{details.largest_correlation:.3f}). The proxies then repeat the log's confounding.",
        "Remove these columns.",
    )


def _segment_leakage(details: sanity.SegmentLeakage, finding: Finding) -> tuple[str, str]:
    share, column = format_percent(details.explained, 1), quote(details.column)
    if finding.verdict == "pass":
        return f"Segments by {column} do not decide the outcome ({share} of its variance).", ""
    return (
        f"Segments by {column} explain {share} of the variance of the outcome. A column that is known before the "
        "answer seldom does: it may be the outcome under another name, and within such segments models cannot be "
        "compared.",
        "Use only columns that are known before the model answers.",
    )


WORDINGS: Wordings = {
    sanity.ConstantOutcomes: _constant_outcomes,
    sanity.DuplicateRows: _duplicate_rows,
    sanity.DuplicateContexts: _duplicate_contexts,
    sanity.NoText: _no_text,
    sanity.SharedRows: _shared_rows,
    sanity.LabelLeakage: _label_leakage,
    sanity.SegmentLeakage: _segment_leakage,
}
