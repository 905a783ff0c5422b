"""Why a look may not have the error rate that it promises: settings or rows that changed after an earlier look."""

from __future__ import annotations

from collections.abc import Sequence

from deconfound.findings import Finding, Notice
from deconfound.formatting import pluralize, quote
from deconfound.monitoring.monitor_settings import SettingsChange
from deconfound.monitoring.monitor_state import PastLook

CHANGED_SETTINGS, CHANGED_ROWS, EARLIER_VERDICT = "changed settings", "changed rows", "earlier verdict"


def state_findings(
    changes: Sequence[SettingsChange], lost: int, rows: int, looks: Sequence[PastLook]
) -> tuple[Finding, ...]:
    """Warnings about the state before this look, whose last look had ``rows`` rows, ``lost`` of them not found."""
    findings = [_settings(change) for change in changes if change.looks > 0]
    if lost:
        message = (
            f"{lost:,} of the {pluralize(rows, 'row')} of the last look have changed or vanished. Intervals hold at "
            "every look if rows are only added."
        )
        remedy = "Find out why. If rows were removed because of their outcomes, the values are biased."
        findings.append(Finding(CHANGED_ROWS, "warn", Notice(message, remedy)))
    return (*findings, *_earlier_stop(looks))


def _settings(change: SettingsChange) -> Finding:
    message = (
        f"The {change.setting} was changed after {pluralize(change.looks, 'look')}, from {change.before} to "
        f"{change.after}. The error rate is guaranteed only for settings that were fixed in advance."
    )
    return Finding(CHANGED_SETTINGS, "warn", Notice(message))


def _earlier_stop(looks: Sequence[PastLook]) -> list[Finding]:
    """An earlier look that ended the experiment; its statement is not withdrawn by later ones."""
    for number, look in enumerate(looks, start=1):
        if look.reason in ("best model", "within tolerance"):
            name = quote(look.choice)
            message = (
                f"Look {number}, at {look.rows:,} rows, already ended the experiment ({look.reason}: {name}). That "
                "statement holds with its confidence, whatever later looks show."
            )
            return [Finding(EARLIER_VERDICT, "pass", Notice(message))]
    return []
