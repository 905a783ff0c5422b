"""All findings of a study, as text and as JSON: failures first, then passes, then notes on the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from deconfound.diagnose.thresholds import FAIL_P_RATIO
from deconfound.escaping import escape_line
from deconfound.findings import Finding, Notice, Verdict
from deconfound.formatting import wrap
from deconfound.report.scale import UNIT, UNIT_RANGE, Scale

SCHEMA = 3
VERDICT_ORDER: tuple[Verdict, ...] = ("fail", "warn", "cannot tell", "pass")
HEADINGS: dict[Verdict, str] = {
    "fail": "Failed",
    "warn": "Warnings",
    "cannot tell": "Cannot tell",
    "pass": "Passed",
}
NOTES = "Notes"
TOO_FEW_ROWS = "too few rows"  # the check of tables that `evaluate` refuses
ASSUMPTIONS = {
    "A1": "randomization",
    "A2": "replay fidelity",
    "A3": "outcome consistency",
    "A4": "output mechanism",
    "A5": "context shift",
}


def any_failed(findings: Sequence[Finding]) -> bool:
    """Whether some check failed."""
    return any(finding.verdict == "fail" for finding in findings)


def any_conclusive(findings: Sequence[Finding]) -> bool:
    """Whether at least one assumption could be tested, on rows enough to compare models."""
    tested = any(finding.assumption and finding.verdict != "cannot tell" for finding in findings)
    return tested and not any(finding.check == TOO_FEW_ROWS for finding in findings)


def failure_sentence(findings: Sequence[Finding]) -> str:
    """Which assumptions and checks failed; empty where none did."""
    failed = [finding for finding in findings if finding.verdict == "fail"]
    assumptions = sorted({finding.assumption for finding in failed if finding.assumption})
    names = [f"{each} ({ASSUMPTIONS[each]})" for each in assumptions]
    names += sorted({finding.check for finding in failed if not finding.assumption})
    return f"Assumption check failed: {', '.join(names)}." if names else ""


def false_alarm_note(level: float) -> str:
    """What the verdicts of the tests guarantee."""
    warn = 100 * (1.0 - level)
    return (
        f"False alarms are rare: if every assumption holds, at most {warn:.3g} % of studies show a warning from the"
        f" tests, and at most {FAIL_P_RATIO * warn:.2g} % a failure."
    )


def check_text(unscaled: Sequence[Finding], level: float, scale: Scale = UNIT) -> str:
    """The conclusion in one sentence, then every finding under its verdict, with outcomes on the user's scale."""
    findings = [scale.finding(finding) for finding in unscaled]
    parts = [_conclusion(findings)]
    if scale.description:
        parts.append(f"Outcomes and their differences are {scale.description}.")
    if any(finding.verdict in ("warn", "fail") for finding in findings):
        parts.append(false_alarm_note(level))
    for verdict in VERDICT_ORDER:
        group = [finding for finding in findings if finding.verdict == verdict and not is_note(finding)]
        parts += _group(HEADINGS[verdict], group)
    parts += _group(NOTES, [finding for finding in findings if is_note(finding)])
    return wrap("\n\n".join(parts)) + "\n"


def is_note(finding: Finding) -> bool:
    """Whether a finding only informs how the tables were read; such a finding is no check that passed."""
    return finding.verdict == "pass" and isinstance(finding.details, Notice)


def _group(heading: str, findings: Sequence[Finding]) -> list[str]:
    return ["\n".join([f"{heading} ({len(findings)})", *map(finding_line, findings)])] if findings else []


def finding_line(finding: Finding) -> str:
    """One finding: the assumption, the check, what was observed, what to do."""
    name = f"{finding.assumption} {finding.check}".strip()
    return f"  {escape_line(name)}: {finding.message} {finding.remedy}".rstrip()


def check_document(findings: Sequence[Finding], level: float, seed: int, scale: Scale = UNIT) -> dict[str, Any]:
    """The same for programs: numbers from 0 to 1, sentences on the user's scale."""
    count = Counter(finding.verdict for finding in findings)
    return {
        "schema": SCHEMA,
        "level": level,
        "seed": seed,
        "verdicts": {verdict: count[verdict] for verdict in VERDICT_ORDER},
        "scale": UNIT_RANGE,
        "outcome_range": [scale.low, scale.high],
        "outcome_unit": scale.unit,
        "findings": [scale.finding_document(finding) for finding in findings],
    }


def _conclusion(findings: Sequence[Finding]) -> str:
    if any_failed(findings):
        return failure_sentence(findings)
    too_few = [finding.message for finding in findings if finding.check == TOO_FEW_ROWS]
    if too_few:
        return f"Too few rows. {too_few[0]}"
    if not any_conclusive(findings):
        return "No assumption could be tested."
    if any(finding.verdict == "warn" for finding in findings):
        return "No check failed; review the warnings."
    return "No check failed."
