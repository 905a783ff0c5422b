"""The exact check of a declared assignment, and the tests of A1 on experiments that it drew."""

from __future__ import annotations

import numpy as np
import pytest

from deconfound.diagnose import check
from deconfound.diagnose.assignment import read_assignment
from deconfound.diagnose.assignment_tests import sample_ratio_test
from deconfound.diagnose.compliance import COMPLIANCE, check_compliance
from deconfound.findings import finding_from_document, finding_to_document
from deconfound.loading import load
from deconfound.report.findings_text import details_types
from tests.support.assigned import assigned_study, assigned_tables, manifest
from tests.support.checking import make_study

FALSE_ALARMS = 0.05


def with_other_models(count):
    """The first rows are answered by another model than the drawn one, as by a fallback."""

    def change(rows):
        for row in rows[:count]:
            row["model"] = "bee" if row["model"] != "bee" else "ant"

    return change


def compliance(**options):
    (finding,) = check_compliance(assigned_study(options.pop("declared", manifest()), **options))
    return finding


def test_rows_as_they_were_drawn_pass():
    finding = compliance()
    assert (finding.verdict, finding.statistic, finding.assumption) == ("pass", 0.0, "A1")
    assert "Every one of 120 rows" in finding.message


def test_without_an_assignment_there_is_no_such_check():
    assert check_compliance(make_study()) == ()


@pytest.mark.parametrize(("others", "verdict"), [(1, "warn"), (5, "warn"), (6, "fail"), (30, "fail")])
def test_a_single_row_warns_and_one_in_twenty_fails(others, verdict):
    finding = compliance(change=with_other_models(others))
    assert (finding.verdict, finding.statistic) == (verdict, others / 120)
    assert f"{others:,} of 120 rows" in finding.message
    assert "See row 1" in finding.message
    assert "instead of" in finding.message
    assert "fallbacks" in finding.remedy


def test_rows_from_outside_the_share_are_counted():
    finding = compliance(declared=manifest(share=0.9))
    assert finding.details.outside > 0
    assert finding.details.other_model == 0
    assert f"{finding.details.outside} of 120 rows are of units outside the experiment's share" in finding.message


def test_another_experiments_manifest_is_recognized_as_such():
    tables = assigned_tables(manifest("prices"))
    (finding,) = check_compliance(load(**tables, assignment=manifest("other")))
    assert finding.verdict == "fail"
    assert finding.details.unrelated
    assert "without this assignment" in finding.message
    assert "manifest" in finding.remedy


def test_rows_without_an_outcome_count_and_are_named():
    def change(rows):
        with_other_models(2)(rows)
        rows[1]["outcome"] = None

    finding = compliance(change=change)
    assert finding.details.other_model == 2
    assert "2" in finding.details.examples


def test_the_finding_survives_being_saved():
    finding = compliance(change=with_other_models(3))
    read = finding_from_document(finding_to_document(finding), details_types())
    assert (read, read.message, read.remedy) == (finding, finding.message, finding.remedy)


def test_the_checks_of_a_study_contain_it():
    findings = {finding.check: finding for finding in check(assigned_study(manifest(), change=with_other_models(20)))}
    assert findings[COMPLIANCE].verdict == "fail"
    assert findings[COMPLIANCE].p_value is None


def test_models_are_independent_by_unit_and_not_by_cluster():
    """Contexts repeat, and every use is by another user: clusters do not show that models were drawn by context."""
    study = assigned_study(manifest(), rows=120, contexts=30, people=10**9)
    assignment = read_assignment(study, seed=0)
    assert assignment.by_cluster
    assert len(assignment) == 30
    assert len(set(study.experiment.arrow["cluster"].to_pylist())) == 120


def p_values(studies, test, **options):
    """Of one test in studies with different experiments, contexts and people."""
    return np.array([test(assigned_study(manifest(f"e{at}"), seed=at, **options)) for at in range(studies)])


def sample_ratio_p(study):
    return sample_ratio_test(read_assignment(study, seed=0), seed=0)[1]


@pytest.mark.parametrize("contexts", [0, 20], ids=["own contexts", "repeated contexts"])
def test_the_sample_ratio_of_assigned_experiments_has_its_false_alarm_rate(contexts):
    """80 experiments drawn by the hash, 60 rows each: raw p-values below 0.05 are at most binomial with rate 0.05.

    P(more than 11 of 80) = 0.0006. With 20 contexts of three users each, rows counted as independent draws exceed that
    by far: the sum of three equal draws has three times the variance.
    """
    alarms = int((p_values(80, sample_ratio_p, rows=60, contexts=contexts, people=10**9) < FALSE_ALARMS).sum())
    assert alarms <= 11


@pytest.mark.slow
def test_all_checks_of_assigned_experiments_warn_as_rarely_as_promised():
    """200 whole studies: at most 5 % show a warning from A1. P(more than 20 of 200 at rate 0.05) = 0.001."""
    alarms = 0
    for at in range(200):
        findings = check(assigned_study(manifest(f"e{at}", unit="user"), seed=at, rows=150, people=50))
        alarms += any(each.assumption == "A1" and each.verdict in ("warn", "fail") for each in findings)
    assert alarms <= 20
