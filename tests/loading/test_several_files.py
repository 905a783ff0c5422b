"""A table in several files, a folder or a pattern is the same table, and every row still knows its file."""

from __future__ import annotations

import pytest

from deconfound.loading import load
from deconfound.loading.table_files import MAX_FILES
from tests.support.studies import WRITERS, Good, refused, same, tables, write_study


@pytest.fixture
def paths(tmp_path):
    """The files of a study whose log is in the folder "logs", in two parts; the table in memory is another's work."""
    return write_study(tmp_path, Good(), "csv") | {"log": tmp_path / "logs"}


def write_parts(folder, *endings, rows=None):
    folder.mkdir(exist_ok=True)
    rows = rows or Good().log
    size = len(rows) // len(endings)
    for number, ending in enumerate(endings):
        (folder / f"part-{number}.{ending}").write_bytes(WRITERS[ending](rows[number * size : (number + 1) * size]))


@pytest.mark.parametrize("ending", WRITERS)
def test_a_folder_of_parts_is_one_table(tmp_path, paths, ending):
    write_parts(tmp_path / "logs", ending, ending, ending)
    assert same(load(**paths), load(**tables(Good())))


def test_a_pattern_and_a_list_name_the_same_table(tmp_path, paths):
    write_parts(tmp_path / "logs", "csv", "csv")
    for log in (f"{tmp_path}/logs/part-*.csv", [tmp_path / "logs" / "part-0.csv", tmp_path / "logs" / "part-1.csv"]):
        assert same(load(**paths | {"log": log}), load(**tables(Good())))


def test_parts_in_folders_of_folders_are_found_and_files_of_tools_are_not(tmp_path, paths):
    write_parts(tmp_path / "logs", "csv")
    (tmp_path / "logs" / "day=1").mkdir()
    (tmp_path / "logs" / "part-0.csv").rename(tmp_path / "logs" / "day=1" / "part-0.csv")
    for name in ("_SUCCESS", ".part-0.csv.crc", "_metadata.csv", "notes.txt"):
        (tmp_path / "logs" / name).write_text("x")
    assert same(load(**paths), load(**tables(Good())))


@pytest.mark.parametrize(("ending", "place"), [("csv", "part-1.csv row 2"), ("jsonl", "part-1.jsonl line 2")])
def test_a_fault_is_reported_at_its_file_and_row(tmp_path, paths, ending, place):
    rows = Good().log
    rows[7]["outcome"] = 1.5
    write_parts(tmp_path / "logs", ending, ending, rows=rows)
    assert f"{place}: outcome 1.5 is outside 0 to 1" in refused(**paths)


def test_faults_in_several_parts_name_their_files(tmp_path, paths):
    rows = Good().log
    rows[1]["outcome"] = rows[7]["outcome"] = 1.5
    write_parts(tmp_path / "logs", "csv", "csv", rows=rows)
    assert "(2 rows: part-0.csv 2, part-1.csv 2)" in refused(**paths)


def test_every_part_needs_the_columns_that_count(tmp_path, paths):
    """Without this, a replay in the folder of the log would be a log without outcomes."""
    write_parts(tmp_path / "logs", "csv")
    (tmp_path / "logs" / "replay.csv").write_bytes(WRITERS["csv"](Good().replay))
    message = refused(**paths)
    assert 'replay.csv: there is no column "outcome", which part-0.csv has' in message


def test_every_damaged_part_is_reported(tmp_path, paths):
    (tmp_path / "logs").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "logs" / name).write_bytes(b"")
    message = refused(**paths)
    assert "a.csv, b.csv: the file is empty" in message


def test_a_part_without_rows_adds_none(tmp_path, paths):
    write_parts(tmp_path / "logs", "csv")
    (tmp_path / "logs" / "part-1.csv").write_text("context,model,output,outcome\n")
    assert same(load(**paths), load(**tables(Good())))


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("{0}/*.csvx", "*.csvx: no file has a name like this"),
        (["{0}/experiment.csv", "{0}/experiment.csv"], "experiment.csv: the file is named twice"),
        ("{0}", "the log and the experiment are the same table"),
    ],
)
def test_wrong_names_are_explained(tmp_path, paths, log, message):
    given = [one.format(tmp_path) for one in log] if isinstance(log, list) else log.format(tmp_path)
    assert message in refused(**paths | {"log": given})


def test_a_folder_of_too_many_files_is_refused(tmp_path, paths):
    (tmp_path / "logs").mkdir()
    for number in range(MAX_FILES + 1):
        (tmp_path / "logs" / f"{number}.csv").touch()
    assert "logs: there are 10,001 files" in refused(**paths)
