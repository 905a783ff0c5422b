"""False alarms and power of single checks and of the whole family, on the studies of ``benchmarks/checks_*.py``.

Seeds are fixed, so a failure is a change of the code. The limits are those of p < 0.05 in a single check: in 30 clean
studies more than 6 alarms have probability 0.0006, in 1,000 more than 72 have probability 0.001. With a power of 0.9
fewer than 6 of 10 violations are detected with probability 0.0016, fewer than 166 of 200 with probability 0.0008.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import checks_outcomes, checks_randomization
from benchmarks.checks import alarm_rate
from benchmarks.checks_family import check_all
from benchmarks.checks_family_kinds import SMALL
from benchmarks.checks_studies import Violation, make_study

CASES = {case.name: case for module in (checks_randomization, checks_outcomes) for case in module.cases()}
EXPENSIVE = [name for name in CASES if "by context" in name]
CHEAP = [name for name in CASES if name not in EXPENSIVE and "over time" not in name and "by person" not in name]
OVER_TIME = [name for name in CASES if "over time" in name or "by person" in name]


@pytest.mark.parametrize("name", CHEAP)
def test_a_check_is_silent_on_clean_studies_and_detects_the_violation(name):
    assert alarm_rate(CASES[name].clean, 30, seed=11) <= 6 / 30
    assert alarm_rate(CASES[name].violated, 10, seed=12) >= 6 / 10


@pytest.mark.parametrize("name", OVER_TIME)
def test_changes_over_time_and_assignments_by_person_are_detected(name):
    """More than 2 alarms in 6 clean studies have probability 0.002 at 5 %; fewer than 3 hits of 6, 0.001 at 90 %."""
    assert alarm_rate(CASES[name].clean, 6, seed=11) <= 2 / 6
    assert alarm_rate(CASES[name].violated, 6, seed=12) >= 3 / 6


@pytest.mark.parametrize("name", EXPENSIVE)
def test_contexts_that_decide_the_model_are_detected(name):
    """At least two of three violated studies, which fails with probability 0.03 at a power of 0.9."""
    assert alarm_rate(CASES[name].violated, 3, seed=12) >= 2 / 3


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_false_alarms_and_power_are_those_of_the_documentation(name):
    assert alarm_rate(CASES[name].clean, 1000, seed=13) <= 0.072
    assert alarm_rate(CASES[name].violated, 200, seed=14) >= 0.83


# --- all checks of one study ---


def warnings(seed, violation=None):
    study, target = make_study(np.random.default_rng([61, seed]), SMALL, violation or Violation())
    return {finding.check for finding in check_all(study, target, seed) if finding.verdict in ("warn", "fail")}


def test_clean_studies_show_no_warnings():
    """At 5 % more than 2 of 6 studies warn with probability 0.002; with raw p-values about half of them would."""
    assert sum(bool(warnings(seed)) for seed in range(6)) <= 2


def test_an_inverted_log_is_detected_among_all_other_checks():
    assert "outcome direction" in warnings(0, Violation(inverted=True)) & warnings(1, Violation(inverted=True))


@pytest.mark.slow
def test_few_clean_studies_show_warnings():
    """At 5 % more than 24 of 300 studies warn with probability 0.008."""
    assert sum(bool(warnings(seed)) for seed in range(300)) <= 24
