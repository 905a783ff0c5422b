"""Numbers from 0 to 1 on the user's scale."""

from __future__ import annotations

import math

import pytest

from deconfound.diagnose.outcome_consistency import OutcomeValues
from deconfound.diagnose.outcome_matching import MatchingLevel
from deconfound.findings import Finding, Notice
from deconfound.report.scale import UNIT, Scale

STARS = Scale(1.0, 5.0)


def test_without_another_scale_numbers_are_printed_as_they_are():
    assert [UNIT.value(0.1234), UNIT.difference(0.1, signed=True), UNIT.value(math.nan)] == ["0.123", "+0.100", "–"]
    assert UNIT.rough_difference(0.126) == "0.13"
    assert UNIT.is_unit
    assert Scale(0.0, 1.0) == UNIT


def test_a_zero_has_no_sign():
    assert [UNIT.improvement(number) for number in (-0.0004, 0.0004, -0.0, -0.0006)] == ["0.000"] * 3 + ["-0.001"]
    assert UNIT.value(-1e-9) == UNIT.difference(-1e-9) == "0.000"


def test_values_are_moved_and_stretched_and_differences_only_stretched():
    assert STARS.value(0.6) == "3.40"
    assert STARS.interval(0.25, 1.0) == "2.00 to 5.00"
    assert STARS.difference(0.1) == "0.40"
    assert STARS.difference(-0.1, signed=True) == "-0.40"
    assert STARS.rough_difference(0.1) == "0.40"
    assert not STARS.is_unit


@pytest.mark.parametrize(("width", "decimals"), [(0.1, 4), (1, 3), (4, 2), (10, 2), (100, 1), (1000, 0), (50_000, 0)])
def test_a_thousandth_of_the_scale_can_be_seen(width, decimals):
    assert Scale(0.0, width).decimals == decimals


def test_findings_about_outcomes_are_rescaled_and_others_unchanged():
    notice = Finding("columns", "pass", Notice("m."))
    assert STARS.finding(notice) == notice
    level = Finding("level", "warn", MatchingLevel(40, "context and model", -0.05), "A3", 0.0, 0.001, 0.001)
    assert "mean difference -0.200" in STARS.finding(level).message
    values = OutcomeValues(5, (0.0, 1.0), (), 2, (0.0, 1.0), (0.0, 1.0))
    message = STARS.finding(Finding("outcome values", "pass", values, "A3")).message
    assert "log: 5 values from 1 to 5; experiment: 1 and 5" in message
    assert UNIT.finding(level) == level


def test_less_is_better_on_a_scale_that_goes_down():
    seconds = Scale(60.0, 0.0, "s")
    assert seconds.value_in_unit(0.8) == "12.0 s"
    assert seconds.interval(0.7, 0.8) == "12.0 to 18.0"
    assert seconds.difference(0.1) == "6.0"
    assert seconds.difference(0.1, signed=True) == "-6.0"
    assert seconds.improvement(0.1) == "+6.0"
    assert seconds.rough_difference(0.1) == "6.0"
    assert seconds.description == "on your scale from 60 to 0 s; less is better"


def test_units_follow_values():
    assert Scale(1.0, 5.0, "of 5 stars").value_in_unit(0.6) == "3.40 of 5 stars"
    assert UNIT.value_in_unit(0.6) == "0.600"
    assert UNIT.description == ""


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("of 5 stars", "0.40 stars"),
        ("out of 5 points", "0.40 points"),
        ("/ 5", "0.40"),
        ("of 5", "0.40"),
        ("s", "0.40 s"),
        ("offers", "0.40 offers"),
        ("", "0.40"),
    ],
)
def test_differences_have_the_unit_without_the_upper_end(unit, expected):
    scale = Scale(1.0, 5.0, unit)
    assert scale.with_unit(scale.difference(0.1)) == expected


def test_the_scale_is_described_in_its_unit():
    assert Scale(1.0, 5.0, "of 5 stars").description == "on your scale from 1 to 5 stars"
    assert Scale(1.0, 5.0).description == "on your scale from 1 to 5"
