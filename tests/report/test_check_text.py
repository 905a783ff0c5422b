"""All findings of a study as text and as JSON."""

from __future__ import annotations

import json

from deconfound.diagnose.context_shift import SameContexts
from deconfound.diagnose.sanity import ConstantOutcomes
from deconfound.findings import Finding, Notice
from deconfound.report.check_text import (
    any_conclusive,
    any_failed,
    check_document,
    check_text,
    failure_sentence,
    false_alarm_note,
)

NOTE = Notice("m.")
READ = Finding("columns", "pass", NOTE)
PASSED = Finding("constant outcomes", "pass", ConstantOutcomes(()))
OPEN = Finding("sample ratio", "cannot tell", NOTE, "A1")
TESTED = Finding("contexts of the log", "pass", SameContexts("log"), "A5")
WARNED = Finding("outcome direction", "warn", NOTE, "A3")
FAILED = Finding("replay fidelity", "fail", NOTE, "A2")
LEAKING = Finding("label leakage", "fail", NOTE)


def test_only_findings_about_an_assumption_are_conclusive():
    assert not any_conclusive([PASSED, OPEN])
    assert any_conclusive([PASSED, OPEN, TESTED])


def test_failures_are_listed_by_assumption_then_by_check():
    assert any_failed([LEAKING])
    assert failure_sentence([LEAKING, FAILED, WARNED]) == (
        "Assumption check failed: A2 (replay fidelity), label leakage."
    )
    assert failure_sentence([WARNED]) == ""


def test_the_first_line_is_the_conclusion():
    def first(*findings):
        return check_text(findings, 0.95).splitlines()[0]

    assert first(FAILED, WARNED) == failure_sentence([FAILED])
    assert first(PASSED) == "No assumption could be tested."
    assert first(TESTED, WARNED) == "No check failed; review the warnings."
    assert first(TESTED) == "No check failed."


def test_failures_come_first_and_the_guarantee_appears_once_where_something_warns():
    text = check_text([TESTED, WARNED, FAILED, OPEN], 0.95)
    order = [text.index(head) for head in ("Failed (1)", "Warnings (1)", "Cannot tell (1)", "Passed (1)")]
    assert order == sorted(order)
    assert text.replace("\n", " ").count(false_alarm_note(0.95)) == 1
    assert false_alarm_note(0.95) not in check_text([TESTED, OPEN], 0.95)


def test_remarks_on_the_tables_are_notes_and_no_passed_checks():
    lines = check_text([READ, PASSED, TESTED], 0.95).splitlines()
    assert lines.index("Passed (2)") < lines.index("Notes (1)") == lines.index("  columns: m.") - 1


def test_the_guarantee_follows_the_level():
    assert "at most 5 % of studies" in false_alarm_note(0.95)
    assert "at most 1 % a failure" in false_alarm_note(0.95)
    assert "at most 10 % of studies" in false_alarm_note(0.9)


def test_the_document_counts_verdicts_and_has_every_field():
    document = json.loads(json.dumps(check_document([TESTED, FAILED, WARNED], 0.95, 3)))
    assert document["verdicts"] == {"fail": 1, "warn": 1, "cannot tell": 0, "pass": 1}
    assert (document["level"], document["seed"]) == (0.95, 3)
    assert list(document["findings"][0]) == [
        "check",
        "assumption",
        "verdict",
        "statistic",
        "p_value",
        "adjusted_p_value",
        "message",
        "remedy",
        "details",
    ]
