"""The optional time column, in every form in which it may come."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deconfound.errors import DataError
from deconfound.loading import load
from tests.support.broken_files import Good, write_study

SECONDS = 1_777_639_500.0  # 2026-05-01T12:45:00Z
ISO = [f"2026-05-01T{hour:02d}:45:00Z" for hour in range(12, 24)]


def with_times(values, column="time"):
    good = Good()
    for row, value in zip(good.log, values, strict=False):
        row[column] = value
    return good


def load_log(good, kind=pa.Table.from_pylist):
    tables = {role: pa.Table.from_pylist(getattr(good, role)) for role in ("experiment", "replay")}
    return load(log=kind(good.log), **tables).log


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_iso_times_become_seconds_in_every_format(tmp_path, ending):
    study = load(**write_study(tmp_path, with_times(ISO), ending))
    assert study.log.arrow["time"].to_numpy() == pytest.approx(SECONDS + 3600.0 * np.arange(12))
    assert "time" not in study.experiment.arrow.column_names


@pytest.mark.parametrize("kind", [pa.Table.from_pylist, pd.DataFrame, pl.DataFrame])
def test_times_of_a_data_frame_are_the_same_seconds(kind):
    times = [datetime(2026, 5, 1, hour, 45, tzinfo=UTC) for hour in range(12, 24)]
    assert load_log(with_times(times), kind).arrow["time"][0].as_py() == SECONDS
    assert load_log(with_times([t.replace(tzinfo=None) for t in times]), kind).arrow["time"][0].as_py() == SECONDS


@pytest.mark.parametrize(
    ("values", "first"),
    [
        ([date(2026, 5, 1)] * 12, 1_777_593_600.0),
        (["2026-05-01"] * 12, 1_777_593_600.0),
        (["2026-05-01 14:45:00+02:00"] * 12, SECONDS),
        ([17] * 12, 17.0),
        (["17.5"] * 12, 17.5),
    ],
)
def test_dates_zones_and_numbers_are_times(values, first):
    assert load_log(with_times(values)).arrow["time"][0].as_py() == first


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process cannot be set on this system")
def test_a_time_without_zone_is_the_same_on_every_machine(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert load_log(with_times(["2026-05-01T12:45:00"] * 12)).arrow["time"][0].as_py() == SECONDS
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_timestamp_is_found_by_its_alias():
    log = load_log(with_times(ISO, "timestamp"))
    assert "time" in log.arrow.column_names
    assert any('"timestamp"' in finding.details.message for finding in log.findings if finding.check == "columns")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([*ISO[:-1], "later"], 'log (Table) row 12: time "later" is not a time'),
        ([*ISO[:-1], None], "row 12: time has no value"),
        ([*ISO[:-1], "2026-05-01"], "has no time zone, unlike other rows"),
        ([*map(str, range(11)), ""], "row 12: time has no value"),
        ([1.0] * 11 + [float("inf")], "is infinite"),
        ([True] * 12, "which is not a time"),
        ([[1]] * 12, "is not a number"),
        ([*ISO[:-1], "17"], "row 12: time 17 is not a time"),
    ],
)
def test_values_that_are_not_times_are_refused_with_row_and_fix(values, problem):
    with pytest.raises(DataError) as caught:
        load_log(with_times(values))
    assert problem in str(caught.value)
    assert all(each.fix.endswith(".") for each in caught.value.problems)
