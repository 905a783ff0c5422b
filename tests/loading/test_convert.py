"""Conversion of single columns: times, propensities and identifiers."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deconfound.loading import load
from tests.support.studies import Good, refused, tables, write_study

SECONDS = 1_777_639_500.0  # 2026-05-01T12:45:00Z
ISO = [f"2026-05-01T{hour:02d}:45:00Z" for hour in range(12, 24)]


def with_times(values, column="time"):
    good = Good()
    for row, value in zip(good.log, values, strict=False):
        row[column] = value
    return good


def load_log(good, kind=pa.Table.from_pylist):
    return load(**tables(good) | {"log": kind(good.log)}).log


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_iso_times_become_seconds_in_every_format(tmp_path, ending):
    study = load(**write_study(tmp_path, with_times(ISO), ending))
    assert study.log.arrow["time"].to_numpy() == pytest.approx(SECONDS + 3600.0 * np.arange(12))
    assert "time" not in study.experiment.arrow.column_names


@pytest.mark.parametrize("kind", [pa.Table.from_pylist, pd.DataFrame, pl.DataFrame])
def test_times_of_a_data_frame_are_the_same_seconds(kind):
    moments = [datetime(2026, 5, 1, hour, 45, tzinfo=UTC) for hour in range(12, 24)]
    assert load_log(with_times(moments), kind).arrow["time"][0].as_py() == SECONDS
    assert load_log(with_times([m.replace(tzinfo=None) for m in moments]), kind).arrow["time"][0].as_py() == SECONDS


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


def test_a_timestamp_is_recognized_by_its_alias():
    log = load_log(with_times(ISO, "timestamp"))
    assert "time" in log.arrow.column_names
    assert any('"timestamp"' in finding.message for finding in log.findings if finding.check == "columns")


@pytest.mark.parametrize(
    ("values", "where", "what"),
    [
        ([*ISO[:-1], "later"], "row 12", 'time "later" is not a time'),
        ([*ISO[:-1], None], "row 12", "time has no value"),
        ([*ISO[:-1], "2026-05-01"], "row 12", "no time zone"),
        ([*map(str, range(11)), ""], "row 12", "time has no value"),
        ([1.0] * 11 + [float("inf")], "row 12", "infinite"),
        ([True] * 12, "", "not a time"),
        ([[1]] * 12, "row 1", "not a number"),
        ([*ISO[:-1], "17"], "row 12", "time 17 is not a time"),
    ],
)
def test_times_that_cannot_be_read_are_left_out_with_row_and_fix(values, where, what):
    log = load_log(with_times(values))
    assert "time" not in log.arrow.column_names
    (finding,) = [finding for finding in log.findings if finding.check == "columns left out"]
    assert finding.verdict == "warn"
    assert finding.message.startswith(f"log (Table) {where}".strip())
    assert what in finding.message
    assert finding.remedy.endswith(".")


def test_floats_that_lost_their_last_digits_are_refused_as_ids():
    good = Good()
    for row in good.all_rows():
        row["context_id"] = 2.0**60 + int(row["context"][-1])
    assert "too large to be exact" in refused(**tables(good))


def test_whole_floats_are_written_as_whole_numbers():
    frame = pd.DataFrame(Good().log).assign(user_id=[1.0] * 12)
    assert load(**tables(Good()) | {"log": frame}).log.arrow["cluster"][0].as_py() == "1"


def test_a_type_that_cannot_be_written_as_text_is_refused():
    table = tables(Good())["log"]
    intervals = pa.array([(1, 2, 3)] * 12, pa.month_day_nano_interval())
    message = refused(**tables(Good()) | {"log": table.set_column(2, "output", intervals)})
    assert 'output has type "month_day_nano_interval"' in message


def test_invalid_utf8_in_parquet_is_refused_by_row():
    broken = pa.array([b"fine"] * 5 + [b"\xff"] + [b"fine"] * 6).view(pa.string())
    table = tables(Good())["log"].drop_columns(["output"]).append_column("output", broken)
    assert "log (Table) row 6: output is not UTF-8" in refused(**tables(Good()) | {"log": table})
