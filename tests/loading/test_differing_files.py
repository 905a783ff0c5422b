"""Files of one table that differ in types, in the order of columns and in names are one table where that is clear."""

from __future__ import annotations

import datetime
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deconfound.data import Study
from deconfound.loading import load
from tests.support.studies import WRITERS, Good, as_csv, as_jsonl, refused, same, tables, write_study

BERLIN = datetime.timezone(datetime.timedelta(hours=2))
DAY = datetime.datetime(2026, 5, 1, 10, tzinfo=datetime.UTC)


@pytest.fixture
def paths(tmp_path):
    """The files of a study whose log is in the folder "logs"."""
    (tmp_path / "logs").mkdir()
    return write_study(tmp_path, Good(), "csv") | {"log": tmp_path / "logs"}


def write_halves(folder, first, second, ending="parquet"):
    """The log in two files, with the rows of each changed in its own way; an ending per file, or one for both."""
    rows = Good().log
    endings = (ending, ending) if isinstance(ending, str) else ending
    for number, (change, kind) in enumerate(zip((first, second), endings, strict=True)):
        half = [change(row) for row in rows[6 * number : 6 * number + 6]]
        (folder / f"{number}.{kind}").write_bytes(WRITERS[kind](half))


def unchanged(row):
    return row


def with_outcome(convert):
    return lambda row: row | {"outcome": convert(row["outcome"])}


def called(**names):
    """Rows with columns under other names."""
    return lambda row: {names.get(column, column): value for column, value in row.items()}


def notes(study: Study) -> list[str]:
    return [finding.message for finding in study.findings]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (int, float),
        (float, int),
        (int, str),
        (str, float),
        (bool, int),
        (bool, str),
        (lambda y: "yes" if y else "no", str),
    ],
)
def test_outcomes_of_different_types_are_one_column(tmp_path, paths, first, second):
    write_halves(tmp_path / "logs", with_outcome(first), with_outcome(second))
    assert same(load(**paths), load(**tables(Good())))


@pytest.mark.parametrize("endings", [("csv", "parquet"), ("jsonl", "csv"), ("parquet", "jsonl")])
def test_formats_may_differ(tmp_path, paths, endings):
    write_halves(tmp_path / "logs", unchanged, unchanged, endings)
    assert same(load(**paths), load(**tables(Good())))


def test_what_became_text_is_a_note_where_it_is_used(tmp_path, paths):
    write_halves(tmp_path / "logs", lambda row: row | {"note": 1}, lambda row: row | {"note": "a", "outcome": "1"})
    found = [note for note in notes(load(**paths)) if "read as text" in note]
    assert found == ['logs: column "outcome" has numbers in 0.parquet and text in 1.parquet; all are read as text.']


def test_each_file_may_write_decimals_in_its_own_way(tmp_path, paths):
    german, english = lambda y: f"{y:.1f}".replace(".", ","), lambda y: f"{y:.2f}"
    write_halves(tmp_path / "logs", with_outcome(german), with_outcome(english), "csv")
    study = load(**paths)
    assert same(study, load(**tables(Good())))
    assert '0.csv: outcome has decimal commas; "0,0" is read as 0.0.' in notes(study)


def test_the_order_of_columns_may_differ(tmp_path, paths):
    write_halves(tmp_path / "logs", unchanged, lambda row: dict(reversed(row.items())), "csv")
    assert same(load(**paths), load(**tables(Good())))


def write_parquet(path, rows, **types):
    table = pa.Table.from_pylist(rows)
    for name, kind in types.items():
        table = table.set_column(table.column_names.index(name), name, table[name].cast(kind))
    sink = io.BytesIO()
    pq.write_table(table, sink)
    path.write_bytes(sink.getvalue())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pa.timestamp("us", "UTC"), pa.timestamp("ns", "Europe/Berlin")),
        (pa.timestamp("s"), pa.timestamp("us")),
        (pa.timestamp("us", "UTC"), None),
    ],
)
def test_times_of_different_types_are_one_column(tmp_path, paths, first, second):
    """None stands for ISO text."""
    for number, kind in enumerate((first, second)):
        rows = [
            row | {"time": (DAY + datetime.timedelta(hours=12 * number + at)).replace(tzinfo=None)}
            for at, row in enumerate(Good().log[6 * number : 6 * number + 6])
        ]
        if kind is None:
            rows = [row | {"time": row["time"].isoformat() + "Z"} for row in rows]
        write_parquet(tmp_path / "logs" / f"{number}.parquet", rows, **({} if kind is None else {"time": kind}))
    hours = [time / 3600 for time in load(**paths).log.arrow["time"].to_pylist()]
    start = DAY.timestamp() / 3600
    assert hours == [start + at for at in (*range(6), *range(12, 18))]


def test_times_with_and_without_a_zone_are_left_out_with_the_file_and_the_row(tmp_path, paths):
    moment = DAY.replace(tzinfo=None)
    for number, kind in enumerate((pa.timestamp("us", "UTC"), pa.timestamp("us"))):
        rows = [row | {"time": moment} for row in Good().log[6 * number : 6 * number + 6]]
        write_parquet(tmp_path / "logs" / f"{number}.parquet", rows, time=kind)
    study = load(**paths)
    assert "time" not in study.log.arrow.column_names
    assert any("1.parquet row 1: time" in note and "no time zone" in note for note in notes(study))


def test_ids_are_the_same_as_numbers_and_as_text(tmp_path):
    good = Good()
    numbers = {text: number for number, text in enumerate(dict.fromkeys(row["context"] for row in good.all_rows()))}
    for row in good.all_rows():
        row["context_id"] = numbers[row["context"]] + 2**53 + 1
    paths = write_study(tmp_path, good, "csv") | {"log": tmp_path / "logs"}
    (tmp_path / "logs").mkdir()
    for number, kind in enumerate((int, str)):
        rows = [row | {"context_id": kind(row["context_id"])} for row in good.log[6 * number : 6 * number + 6]]
        (tmp_path / "logs" / f"{number}.parquet").write_bytes(WRITERS["parquet"](rows))
    assert same(load(**paths), load(**tables(good)))


def test_integers_beyond_floats_are_not_rounded_by_joining(tmp_path, paths):
    write_halves(
        tmp_path / "logs", lambda row: row | {"user": 2**53 + 1}, lambda row: row | {"user": 1.0 if row else None}
    )
    assert set(load(**paths).log.arrow["cluster"].to_pylist()) == {"9007199254740993", "1"}


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (7, "007", '1.parquet: column "user" has "007", but numbers in 0.parquet, without such zeros'),
        (2.0**60, "a", '0.parquet: column "user" has floats that are too large to be exact, unlike 1.parquet'),
    ],
)
def test_names_that_lost_zeros_or_digits_are_refused_with_both_files(tmp_path, paths, first, second, message):
    write_halves(tmp_path / "logs", lambda row: row | {"user": first}, lambda row: row | {"user": second})
    assert message in refused(**paths)
    assert load(**paths, ignore=["user"]).models


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files_may_use_different_names_for_a_column(tmp_path, paths, ending):
    other = called(context="prompt", model="Model_Name", output="response")
    write_halves(tmp_path / "logs", unchanged, other, ending)
    study = load(**paths)
    assert same(study, load(**tables(Good())))
    assert f'logs: column "context" is called "prompt" in 1.{ending}.' in notes(study)


def test_two_names_for_the_outcome_are_a_warning(tmp_path, paths):
    write_halves(tmp_path / "logs", called(outcome="score"), called(outcome="rating"))
    study = load(**paths)
    warned = next(finding for finding in study.findings if finding.verdict == "warn" and '"rating"' in finding.message)
    assert warned.message == 'logs: column "score" is called "rating" in 1.parquet.'
    assert "same measure" in warned.remedy


def test_a_map_and_the_canonical_name_may_be_in_different_files(tmp_path, paths):
    write_halves(tmp_path / "logs", called(context="frage"), unchanged, "csv")
    assert same(load(**paths, columns={"log.context": "frage"}), load(**tables(Good())))


def test_conditions_and_ignored_columns_may_use_every_name(tmp_path, paths):
    write_halves(tmp_path / "logs", called(outcome="stars"), called(outcome="rating"))
    assert len(load(**paths, where=["log.rating>0"]).log) == 6
    write_halves(tmp_path / "logs", lambda row: row | {"time": 1}, lambda row: row | {"created_at": 2})
    assert "time" not in load(**paths, ignore=["created_at"]).log.arrow.column_names


def test_messages_and_plain_questions_are_the_same_contexts(tmp_path, paths):
    asked = [{"role": "user", "content": ""}]
    rows = Good().log
    first = [row | {"context": [asked[0] | {"content": row["context"]}]} for row in rows[:6]]
    first = [{("messages" if name == "context" else name): value for name, value in row.items()} for row in first]
    (tmp_path / "logs" / "0.jsonl").write_bytes(as_jsonl(first))
    (tmp_path / "logs" / "1.csv").write_bytes(as_csv(rows[6:]))
    assert same(load(**paths), load(**tables(Good())))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            lambda row: row | {"prompt": "template"},
            called(context="prompt"),
            '1.parquet: there is no column "context", which 0.parquet has',
        ),
        (
            lambda row: row | {"user_id": "u"},
            lambda row: row | {"session_id": "s"},
            "several columns could be the cluster: user_id (not in 1.parquet), session_id (not in 0.parquet)",
        ),
    ],
)
def test_where_it_is_not_clear_which_column_is_meant_both_files_are_named(tmp_path, paths, first, second, message):
    write_halves(tmp_path / "logs", first, second)
    assert message in refused(**paths)
