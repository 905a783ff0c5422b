"""The sentences about rows that the declared assignment did not draw as they are."""

from __future__ import annotations

from deconfound.diagnose.compliance import Compliance
from deconfound.escaping import escape_name
from deconfound.findings import Finding
from deconfound.formatting import format_percent, pluralize
from deconfound.report.wording import Wordings

UNRELATED_REMEDY = (
    "Use the manifest of this experiment; check that the rows have the ids that were drawn for, exactly as they were "
    "then, and that the service asks the assignment for every one of them."
)
REMEDY = (
    "Look for fallbacks, retries, overrides and caches that replaced the drawn model, and for rows from outside the "
    "experiment. Leaving such rows out does not repair it: which rows they are depends on the model."
)


def _compliance(details: Compliance, finding: Finding) -> tuple[str, str]:
    if finding.verdict == "pass":
        return f"Every one of {pluralize(details.rows, 'row')} has the model that its assignment draws.", ""
    parts = []
    if details.other_model:
        share = format_percent(details.other_model / details.rows, 1)
        parts.append(
            f"{details.other_model:,} of {details.rows:,} rows ({share}) have another model than the one drawn, most "
            f"often {escape_name(details.answered)} instead of {escape_name(details.drawn)} ({details.pair_rows:,})"
        )
    if details.outside:
        parts.append(f"{details.outside:,} of {details.rows:,} rows are of units outside the experiment's share")
    more = ", …" if details.other_model + details.outside > len(details.examples) else ""
    message = f"{details.source}: {'; '.join(parts)}. See {details.numbered} {', '.join(details.examples)}{more}."
    if details.unrelated:
        unrelated = "That is about as often as if these models had been drawn without this assignment."
        return f"{message} {unrelated}", UNRELATED_REMEDY
    return f"{message} This is no chance: the assignment is exact.", REMEDY


WORDINGS: Wordings = {Compliance: _compliance}
