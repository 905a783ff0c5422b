"""The worst and the best outcome: what messages suggest, and when the direction is doubtful."""

from __future__ import annotations

import pytest

import deconfound as dc
from deconfound.errors import DataError
from deconfound.loading.outcome_ends import less_is_better, likely_ends
from tests.support.studies import Good, tables


@pytest.mark.parametrize(
    "name",
    ["latency", "latency_ms", "Response Time", "total-cost", "errors", "is_error", "metrics.duration", "edit_distance"],
)
def test_names_of_what_should_be_small(name):
    assert less_is_better(name)


@pytest.mark.parametrize("name", ["outcome", "stars", "time_saved", "cost_savings", "error_free", "time", "sometimes"])
def test_other_names_say_nothing(name):
    assert not less_is_better(name)


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [
        (0.58, 17.71, (0.0, 18.0)),
        (1.0, 5.0, (1.0, 5.0)),
        (0.0, 4.0, (0.0, 4.0)),
        (-1.0, 1.0, (-1.0, 1.0)),
        (12.0, 1234.0, (12.0, 1300.0)),
        (-0.4, 0.3, (-1.0, 1.0)),
        (0.0, 1.7e308, (0.0, 1.7e308)),
    ],
)
def test_suggested_ends_enclose_the_values(low, high, ends):
    assert likely_ends(low, high) == ends


def tables_with(name, scale):
    good = Good()
    for row in (*good.log, *good.experiment):
        row[name] = scale * row.pop("outcome") + 0.5
    return {**tables(good), "columns": {"outcome": name}}


def test_a_value_outside_is_answered_with_both_directions():
    with pytest.raises(DataError, match="--outcome-range 0 18 if more is better, 18 0 if less is better"):
        dc.load(**tables_with("latency", 17.0))


def directions(study):
    return [finding for finding in study.findings if finding.check == "outcome direction"]


def test_large_latencies_are_not_silently_the_best():
    found = directions(dc.load(**tables_with("latency", 17.0), outcome_range=(0.0, 18.0)))
    assert [finding.verdict for finding in found] == ["warn", "warn"]
    assert "--outcome-range 18 0" in found[0].details.remedy


def test_no_warning_where_the_direction_is_given_or_the_name_says_nothing():
    assert not directions(dc.load(**tables_with("latency", 17.0), outcome_range=(18.0, 0.0)))
    assert not directions(dc.load(**tables_with("stars", 4.0), outcome_range=(0.0, 5.0)))
