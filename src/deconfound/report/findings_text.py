"""The sentences of every kind of finding: what was observed, what it means, and what to do.

Each assumption has a module of its own, with one function per type of details. Findings become prose nowhere else.
"""

from __future__ import annotations

from deconfound.escaping import escape_line
from deconfound.findings import Details, Finding, Notice
from deconfound.report import (
    compliance_text,
    context_text,
    exclusion_text,
    missing_text,
    outcome_text,
    randomization_text,
    replay_text,
    sanity_text,
)
from deconfound.report.wording import Wordings


def _notice(details: Notice, _finding: Finding) -> tuple[str, str]:
    return details.message, details.remedy


WORDINGS: Wordings = {
    Notice: _notice,
    **compliance_text.WORDINGS,
    **randomization_text.WORDINGS,
    **missing_text.WORDINGS,
    **replay_text.WORDINGS,
    **outcome_text.WORDINGS,
    **context_text.WORDINGS,
    **sanity_text.WORDINGS,
    **exclusion_text.WORDINGS,
}


def describe(details: Details, finding: Finding) -> tuple[str, str]:
    """Message and remedy of a finding with these details, each on one line whatever names are in it."""
    if type(details) not in WORDINGS:
        raise TypeError(f"{finding.check}: no wording for {type(details).__name__}")
    message, remedy = WORDINGS[type(details)](details, finding)
    return escape_line(message), escape_line(remedy)


def details_types() -> tuple[type, ...]:
    """Every type of details that a finding can have, for reading saved findings."""
    return tuple(WORDINGS)
