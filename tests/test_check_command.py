"""`deconfound check` as a user meets it, and the columns that came with it."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from deconfound.data import Study
from deconfound.diagnose import check
from deconfound.errors import DataError, UsageError
from deconfound.findings import Finding
from deconfound.loading import load, load_contexts
from deconfound.report.findings_text import failed, findings_text, told
from tests.support.broken_files import Good, write_study
from tests.support.checking import MODELS, each, make_study

SECONDS = 1_777_639_500.0  # 2026-05-01T12:45:00Z


def written(study: Study, folder: Path) -> list[str]:
    words = []
    for table in (study.log, study.experiment, study.replay):
        path = folder / f"{table.role}.parquet"
        pq.write_table(table.table, path)
        words += [f"--{table.role}", str(path)]
    return ["check", "-q", *words]


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> list[str]:
    return written(make_study(seed=4), tmp_path_factory.mktemp("sound"))


def test_a_sound_study_ends_with_code_0_and_one_sentence_first(sound, capsys):
    assert main(sound) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].startswith("No assumption is visibly broken")
    assert "Passed (" in out
    assert err == ""


def test_json_has_every_finding_with_its_number(sound, capsys):
    assert main([*sound, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert sum(document["verdicts"].values()) == len(document["findings"])
    read = [Finding(**finding) for finding in document["findings"]]
    assert {"A1", "A2", "A3", "A4", "A5"} <= {finding.assumption for finding in read}
    ratio = next(finding for finding in read if finding.check == "sample ratio")
    assert ratio.number is not None
    assert 0 < ratio.number <= 1


def test_a_broken_draw_ends_with_code_3(tmp_path, capsys):
    study = make_study(experiment=each(lambda at, row: row.update(model="cat") if at > 40 else None))
    assert main(written(study, tmp_path)) == 3
    out = capsys.readouterr().out
    assert out.startswith("The data say no: A1 failed.")
    assert out.index("Failed (") < out.index("Passed (")


def test_nothing_to_tell_ends_with_code_4(tmp_path, monkeypatch, capsys):
    open_question = Finding("sample ratio", "cannot tell", "Too few rows.", assumption="A1")
    monkeypatch.setattr("deconfound.diagnose.check", lambda *_, **__: (open_question,))
    assert main(written(make_study(rows=3), tmp_path)) == 4
    assert "Nothing can be told" in capsys.readouterr().out


def test_three_rows_end_in_findings_and_not_in_a_traceback(tmp_path, capsys):
    assert main(written(make_study(rows=3), tmp_path)) in (0, 3, 4)
    assert "too few" in capsys.readouterr().out


def test_a_target_is_read_by_its_own_names(sound, tmp_path, capsys):
    pd.DataFrame({"prompt": ["case 1: roof", "case 2: lamp"] * 40}).to_csv(tmp_path / "target.csv", index=False)
    assert main([*sound, "--target", str(tmp_path / "target.csv")]) in (0, 3)
    assert "target" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "code"), [(["--level", "1"], 2), (["--target", "none.csv"], 1), (["--map", "outcome"], 2)]
)
def test_bad_usage_and_missing_files_end_with_their_codes(sound, more, code, capsys):
    assert main([*sound, *more]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("deconfound: ")


def test_names_cannot_steer_the_terminal(tmp_path, capsys):
    hostile = {name: f"\x1b[31m{name}" for name in MODELS}

    def rename(rows):
        for row in rows:
            row["model"] = hostile[row["model"]]

    study = make_study(log=rename, replay=rename, experiment=lambda rows: (rename(rows), _late(rows, hostile["cat"])))
    assert main(written(study, tmp_path)) == 3
    assert "\x1b" not in capsys.readouterr().out


def _late(rows, name):
    for row in rows[40:]:
        row["model"] = name


def test_check_runs_on_a_study_in_memory_and_repeats_itself():
    study = make_study(seed=4)
    stages = []
    found = check(study, seed=1, progress=lambda stage, _: stages.append(stage))
    assert found == check(study, seed=1)
    assert len(stages) == len(set(stages)) == 7
    assert not set(study.findings) & set(found)
    with pytest.raises(UsageError, match="level"):
        check(study, level=95)


def test_a_test_that_may_err_nearly_always_warns_nearly_always():
    """With 1 - level = 0.999 whatever gives a p-value below that warns; one check at least of each assumption does."""
    study = make_study(seed=4)
    replayed, log = study.replay.table, study.log.table
    elsewhere = replayed["output"].take(np.roll(np.arange(len(replayed)), len(MODELS)))
    again = replayed.drop_columns(["output"]).append_column("output", elsewhere)
    again = again.append_column("outcome", pa.array(np.linspace(0, 1, len(replayed)))).select(log.column_names)
    study = load(log=pa.concat_tables([log, again]), experiment=study.experiment.table, replay=replayed)
    found = check(study, level=0.001)
    warned = {finding.check for finding in found if finding.verdict == "warn"}
    assert {"sample ratio", "replay validity", "hidden path to the output", "contexts of the log"} <= warned


def test_findings_of_an_older_version_are_still_read():
    old = {"check": "text", "verdict": "warn", "message": "m", "remedy": "r"}
    assert Finding(**old) == Finding("text", "warn", "m", "r", None, "")
    assert list(asdict(Finding(**old)))[:4] == list(old)


def test_a_verdict_is_told_only_by_what_concerns_an_assumption():
    fine = Finding("labels", "pass", "m")
    open_question = Finding("sample ratio", "cannot tell", "m", assumption="A1")
    assert not told([fine, open_question])
    assert told([fine, open_question, Finding("sample ratio", "pass", "m", assumption="A1")])
    assert failed([Finding("labels", "fail", "m")])
    assert findings_text([fine], 0.95).startswith("Nothing can be told")


# --- the time column ---


def with_times(values, column="time"):
    good = Good()
    for row, value in zip(good.log, values, strict=False):
        row[column] = value
    return good


def log_of(good, kind=pa.Table.from_pylist):
    tables = {role: pa.Table.from_pylist(getattr(good, role)) for role in ("experiment", "replay")}
    return load(log=kind(good.log), **tables).log


ISO = [f"2026-05-01T{hour:02d}:45:00Z" for hour in range(12, 24)]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_iso_times_become_seconds_in_every_format(tmp_path, ending):
    study = load(**write_study(tmp_path, with_times(ISO), ending))
    assert study.log.table["time"].to_numpy() == pytest.approx(SECONDS + 3600.0 * np.arange(12))
    assert "time" not in study.experiment.table.column_names


@pytest.mark.parametrize("kind", [pa.Table.from_pylist, pd.DataFrame, pl.DataFrame])
def test_times_of_a_data_frame_are_the_same_seconds(kind):
    moments = [datetime(2026, 5, 1, hour, 45, tzinfo=UTC) for hour in range(12, 24)]
    assert log_of(with_times(moments), kind).table["time"][0].as_py() == SECONDS
    assert log_of(with_times([m.replace(tzinfo=None) for m in moments]), kind).table["time"][0].as_py() == SECONDS


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
    assert log_of(with_times(values)).table["time"][0].as_py() == first


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process cannot be set on this system")
def test_a_time_without_zone_is_the_same_on_every_machine(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert log_of(with_times(["2026-05-01T12:45:00"] * 12)).table["time"][0].as_py() == SECONDS
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_timestamp_is_found_by_its_alias():
    log = log_of(with_times(ISO, "timestamp"))
    assert "time" in log.table.column_names
    assert any('time is read from column "timestamp"' in finding.message for finding in log.findings)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([*ISO[:-1], "later"], 'log (Table) row 12: column "time" is no time: "later"'),
        ([*ISO[:-1], None], 'row 12: column "time" is missing'),
        ([*ISO[:-1], "2026-05-01"], "has no time zone while other rows have one"),
        ([*map(str, range(11)), ""], 'row 12: column "time" is missing'),
        ([1.0] * 11 + [float("inf")], "is infinite"),
        ([True] * 12, "which is no time"),
        ([[1]] * 12, "is not a number"),
        ([*ISO[:-1], "17"], 'is no time: "17"'),
    ],
)
def test_what_is_no_time_is_refused_with_row_and_fix(values, said):
    with pytest.raises(DataError) as caught:
        log_of(with_times(values))
    assert said in str(caught.value)
    assert all(problem.fix.endswith(".") for problem in caught.value.problems)


# --- a file of contexts ---


def test_contexts_are_read_by_text_id_or_features():
    assert load_contexts(pa.table({"prompt": ["a", "b"]})).column_names == ["context"]
    assert load_contexts(pa.table({"id": [1, 2]}))["context_id"].to_pylist() == ["1", "2"]
    table = load_contexts(pa.table({"context_id": ["a"], "feature_x": [1]}))
    assert table.schema.types == [pa.string(), pa.float64()]
    named = load_contexts(pa.table({"text": ["a"]}), columns={"context": "text", "outcome": "stars"})
    assert named.column_names == ["context"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"model": ["ant"]}, "no column for the context"),
        ({"context": ["a", None]}, "row 2"),
        ({"context": ["a", " "]}, "is empty"),
        ({"context_id": ["a"], "feature_x": [float("nan")]}, "is missing or NaN"),
    ],
)
def test_faulty_contexts_are_refused(table, said):
    with pytest.raises(DataError, match=said):
        load_contexts(pa.table(table))
