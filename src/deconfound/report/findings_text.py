"""Findings in plain words and as JSON: what fails first, what passes last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from deconfound.findings import Finding, Verdict
from deconfound.report.document import finite

SCHEMA = 1
ORDER: tuple[Verdict, ...] = ("fail", "warn", "cannot tell", "pass")
HEADS: dict[Verdict, str] = {
    "fail": "Failed",
    "warn": "Warnings",
    "cannot tell": "Cannot tell",
    "pass": "Passed",
}


def failed(findings: Sequence[Finding]) -> bool:
    """Whether some assumption is visibly broken."""
    return any(finding.verdict == "fail" for finding in findings)


def told(findings: Sequence[Finding]) -> bool:
    """Whether anything could be said about any assumption."""
    return any(finding.assumption and finding.verdict != "cannot tell" for finding in findings)


def refusal(findings: Sequence[Finding]) -> str:
    """That the data contradict an assumption, and which; empty where they do not."""
    broken = sorted({finding.assumption or finding.check for finding in findings if finding.verdict == "fail"})
    return f"The data say no: {', '.join(broken)} failed." if broken else ""


def findings_text(findings: Sequence[Finding], level: float) -> str:
    """The answer in one sentence, then every finding under its verdict."""
    count = Counter(finding.verdict for finding in findings)
    parts = [_answer(findings), luck(level)] if failed(findings) or count["warn"] else [_answer(findings)]
    for verdict in ORDER:
        under = [finding for finding in findings if finding.verdict == verdict]
        if under:
            parts.append("\n".join([f"{HEADS[verdict]} ({len(under)})", *(line(finding) for finding in under)]))
    return "\n\n".join(parts) + "\n"


def line(finding: Finding) -> str:
    """One finding: the assumption, the check, what was seen, what to do."""
    start = f"{finding.assumption:<2}  {finding.check}: {finding.message}"
    return f"  {start} {finding.remedy}".rstrip()


def findings_document(findings: Sequence[Finding], level: float, seed: int) -> dict[str, Any]:
    """The same for programs."""
    count = Counter(finding.verdict for finding in findings)
    return {
        "schema": SCHEMA,
        "level": level,
        "seed": seed,
        "verdicts": {verdict: count[verdict] for verdict in ORDER},
        "findings": [finite(asdict(finding)) for finding in findings],
    }


def _answer(findings: Sequence[Finding]) -> str:
    if failed(findings):
        return refusal(findings)
    if not told(findings):
        return "Nothing can be told about any assumption."
    if any(finding.verdict == "warn" for finding in findings):
        return "No assumption is visibly broken; some findings want a look."
    return "No assumption is visibly broken."


def luck(level: float) -> str:
    """How seriously to take a warning, and a failure."""
    chance = 1.0 - level
    return (
        f"Each test warns in up to {100 * chance:.3g} % of sound studies, so one warning among many tests may be luck;"
        f" it fails in up to {100 * chance / 50:.2g} %, which is hardly luck."
    )
