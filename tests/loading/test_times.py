"""Dates as spreadsheets write them."""

from __future__ import annotations

from datetime import datetime

import pytest

from deconfound.loading.times import parse_datetimes
from tests.loading.test_convert import load_log, with_times

LATER = "12/31/2026"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["5/31/2026", "5/1/2026"], [datetime(2026, 5, 31), datetime(2026, 5, 1)]),
        (["31/5/2026", "1/5/2026"], [datetime(2026, 5, 31), datetime(2026, 5, 1)]),
        (["1.5.2026 14:05"], [datetime(2026, 5, 1, 14, 5)]),
        (["31.05.2026, 14:05:09"], [datetime(2026, 5, 31, 14, 5, 9)]),
        ([LATER + " 2:05 PM", LATER + " 12:00 AM"], [datetime(2026, 12, 31, 14, 5), datetime(2026, 12, 31)]),
        ([LATER + " 12:30:15.250 p.m."], [datetime(2026, 12, 31, 12, 30, 15)]),
        (["1/2/2026", "3/4/2026"], [None, None]),  # nothing shows the order
        (["13/2/2026", "2/13/2026"], [None, None]),  # no order fits both
        ([LATER + " 13:00 PM", LATER + " 25:00"], [None, None]),
        (["2/30/2026"], [None]),
        (["1/2/26"], [None]),
        (["1/" * 1000], [None]),
    ],
)
def test_the_column_shows_which_of_day_and_month_is_first(texts, expected):
    assert parse_datetimes(texts) == expected


def test_dates_of_a_spreadsheet_are_times():
    log = load_log(with_times([f"5/{day}/2026 9:30 AM" for day in range(20, 32)]))
    assert log.arrow["time"][0].as_py() == datetime.fromisoformat("2026-05-20T09:30:00Z").timestamp()


def test_dates_that_may_mean_two_days_are_left_out():
    log = load_log(with_times([f"5/{day}/2026" for day in range(1, 13)]))
    (finding,) = [finding for finding in log.findings if finding.check == "columns left out"]
    assert "may have the day or the month first" in finding.message
