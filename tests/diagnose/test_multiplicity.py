"""Holm's procedure, and the verdicts that follow from it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deconfound.diagnose.multiplicity import PendingFinding, holm, judge
from deconfound.findings import Finding, Notice


def pending(p_value, worst="fail", otherwise="pass"):
    return PendingFinding(f"p {p_value}", "A1", Notice(""), 1.5, p_value, worst, otherwise)


def verdicts(*results, level=0.95):
    return [finding.verdict for finding in judge(results, level)]


@given(st.lists(st.floats(0, 1), max_size=6))
def test_holm_is_the_closed_test_of_all_intersections_by_bonferroni(p_values):
    """A hypothesis is rejected if every intersection with it is: its adjusted p-value is the largest of theirs."""
    indices = range(len(p_values))
    subsets = [set(subset) for size in indices for subset in combinations(indices, size + 1)]
    expected = [
        max(min(1.0, len(subset) * min(p_values[j] for j in subset)) for subset in subsets if i in subset)
        for i in indices
    ]
    assert holm(p_values) == pytest.approx(expected)


def test_a_single_test_keeps_its_p_value():
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


def test_a_small_p_value_among_many_tests_is_no_warning():
    assert verdicts(pending(0.03)) == ["warn"]
    assert verdicts(pending(0.03), pending(0.5)) == ["pass", "pass"]
    assert verdicts(pending(0.004), *[pending(0.5)] * 9) == ["warn", *["pass"] * 9]


def test_a_failure_has_a_fifth_of_the_error_rate_of_a_warning():
    assert verdicts(pending(0.0099)) == ["fail"]
    assert verdicts(pending(0.0101)) == ["warn"]
    assert verdicts(pending(0.0099), level=0.99) == ["warn"]
    assert verdicts(pending(0.0021), pending(0.6), pending(0.6), pending(0.6), pending(0.6)) == ["warn", *["pass"] * 4]


def test_verdicts_are_limited_to_the_worst_that_a_check_may_give():
    assert verdicts(pending(1e-9, worst="warn")) == ["warn"]
    assert verdicts(pending(1e-9, worst="pass")) == ["pass"]
    assert verdicts(pending(0.5, otherwise="cannot tell")) == ["cannot tell"]
    assert verdicts(pending(1e-9, otherwise="cannot tell")) == ["fail"]


def test_findings_without_a_test_do_not_count_as_tests():
    settled = Finding("constant outcomes", "warn", Notice("m"), statistic=0.5)
    findings = judge([settled, pending(0.04), settled], 0.95)
    assert findings[0] is settled
    assert findings[1].verdict == "warn"
    assert (findings[1].p_value, findings[1].adjusted_p_value, findings[1].statistic) == (0.04, 0.04, 1.5)


@pytest.mark.parametrize("dependence", ["independent", "equal", "negative"])
def test_clean_families_rarely_warn(dependence):
    """Of 2,000 families of ten uniform p-values at most 5 % warn, plus 4 standard errors (0.02)."""
    rng = np.random.default_rng(0)
    warned = 0
    for _ in range(2000):
        p = rng.random(10)
        if dependence == "equal":
            p[:] = p[0]
        if dependence == "negative":
            p = np.r_[p[:5], 1 - p[:5]]
        warned += any(finding.verdict != "pass" for finding in judge([pending(x) for x in p], 0.95))
    assert warned / 2000 <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 2000)
