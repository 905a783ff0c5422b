"""What a folder or a pattern names: tables, columns in the names of folders, and files that are not read."""

from __future__ import annotations

import pytest

from deconfound.loading import load
from tests.support.studies import WRITERS, Good, as_csv, as_jsonl, refused, same, tables, write_study


@pytest.fixture
def paths(tmp_path):
    """The files of a study whose log is in the folder "logs", in one part."""
    given = write_study(tmp_path, Good(), "csv")
    (tmp_path / "logs").mkdir()
    (tmp_path / "log.csv").rename(tmp_path / "logs" / "part-0.csv")
    return given | {"log": tmp_path / "logs"}


def left_out(study) -> list[tuple[str, str]]:
    return [(each.verdict, each.message) for each in study.findings if each.check == "files left out"]


def test_files_of_other_kinds_are_named(tmp_path, paths):
    for name in ("README.md", "schema.sql"):
        (tmp_path / "logs" / name).write_text("x")
    expected = "logs: 2 files are not read (no Parquet, CSV or JSON Lines): README.md, schema.sql."
    assert left_out(load(**paths)) == [("pass", expected)]


@pytest.mark.parametrize("name", ["part-1.xlsx", "part-1.json", "part-1.zip", "part-1.parquet.gz"])
def test_files_that_may_have_rows_are_a_warning(tmp_path, paths, name):
    (tmp_path / "logs" / name).write_text("x")
    expected = f"logs: 1 file is not read (no Parquet, CSV or JSON Lines): {name}."
    assert left_out(load(**paths)) == [("warn", expected)]


def test_many_files_are_counted_and_a_few_named(tmp_path, paths):
    for number in range(30):
        (tmp_path / "logs" / f"{number:02d}.md").write_text("x")
    ((_, message),) = left_out(load(**paths))
    assert message.startswith("logs: 30 files are not read")
    assert message.endswith(" and 22 more.")


MARKERS = ("_SUCCESS", "_committed_1", ".part-0.csv.crc", "part-0.csv.crc", ".DS_Store", "Thumbs.db", "part-0.csv.md5")


def test_marks_of_tools_are_not_mentioned(tmp_path, paths):
    for name in MARKERS:
        (tmp_path / "logs" / name).write_text("x")
    assert left_out(load(**paths)) == []


@pytest.mark.parametrize("pattern", ["{0}/logs/*", "{0}/l*gs"])
def test_a_pattern_leaves_the_same_files_out(tmp_path, paths, pattern):
    for name in (*MARKERS, "README.md"):
        (tmp_path / "logs" / name).write_text("x")
    ((verdict, message),) = left_out(load(**paths | {"log": pattern.format(tmp_path)}))
    assert (verdict, "1 file is not read" in message) == ("pass", True)


def test_marks_in_a_list_that_a_shell_wrote_are_left_out_and_other_files_are_refused(tmp_path, paths):
    (tmp_path / "logs" / "_SUCCESS").write_text("x")
    files = sorted((tmp_path / "logs").iterdir())
    assert same(load(**paths | {"log": files}), load(**tables(Good())))
    (tmp_path / "logs" / "README.md").write_text("x")
    files = sorted((tmp_path / "logs").iterdir())
    assert 'README.md: unsupported file extension ".md"' in refused(**paths | {"log": files})


def test_json_is_a_table_where_there_is_no_other(tmp_path, paths):
    """Beside other tables it is rather a description of them, as schema.json."""
    (tmp_path / "export").mkdir()
    for number, part in enumerate((Good().log[:6], Good().log[6:])):
        (tmp_path / "export" / f"rows-{number}.json").write_bytes(as_jsonl(part))
    for log in (tmp_path / "export", f"{tmp_path}/export/*.json", f"{tmp_path}/export/rows*"):
        assert same(load(**paths | {"log": log}), load(**tables(Good())))


def test_a_pattern_of_spreadsheets_is_explained(tmp_path, paths):
    (tmp_path / "a.xlsx").write_text("x")
    assert "spreadsheet" in refused(**paths | {"log": f"{tmp_path}/*.xlsx"})


def write_partitions(folder, ending="parquet", encode=str):
    """The log in folders by model; the column is in their names alone."""
    for name in ("ant", "bee", "cat"):
        part = folder / f"model={encode(name)}"
        part.mkdir(parents=True)
        rows = [
            {key: value for key, value in row.items() if key != "model"} for row in Good().log if row["model"] == name
        ]
        (part / f"part-0.{ending}").write_bytes(WRITERS[ending](rows))
    (folder / "_SUCCESS").touch()


def by_model(study) -> list[tuple[str, str, float]]:
    rows = study.log.arrow
    return sorted(zip(*(rows[name].to_pylist() for name in ("model", "output", "outcome")), strict=True))


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("given", ["{0}/hive", "{0}/hive/*/*", "{0}/hive/model=*"])
def test_a_column_may_be_in_the_names_of_folders(tmp_path, paths, ending, given):
    write_partitions(tmp_path / "hive", ending)
    assert by_model(load(**paths | {"log": given.format(tmp_path)})) == by_model(load(**tables(Good())))


def test_folders_of_files_in_a_list_count_below_what_they_share(tmp_path, paths):
    write_partitions(tmp_path / "env=prod" / "user=me")
    files = sorted((tmp_path / "env=prod").rglob("*.parquet"))
    study = load(**paths | {"log": files})
    assert by_model(study) == by_model(load(**tables(Good())))
    assert "cluster" not in study.log.arrow.column_names


def test_values_in_names_of_folders_are_decoded_and_may_be_missing(tmp_path, paths):
    rows = [{key: value for key, value in row.items() if key != "model"} for row in Good().log]
    for folder, part in (("model=a%2Fb", rows[:6]), ("model=__HIVE_DEFAULT_PARTITION__", rows[6:])):
        (tmp_path / "hive" / folder).mkdir(parents=True)
        (tmp_path / "hive" / folder / "p.csv").write_bytes(as_csv(part))
    message = refused(**paths | {"log": tmp_path / "hive"})
    assert "model=__HIVE_DEFAULT_PARTITION__/p.csv row 1: model has no value (6 rows" in message


def test_a_column_of_the_file_goes_before_one_of_the_folder(tmp_path, paths):
    folder = tmp_path / "hive" / "model=wrong"
    folder.mkdir(parents=True)
    (folder / "p.csv").write_bytes(as_csv(Good().log))
    assert same(load(**paths | {"log": tmp_path / "hive"}), load(**tables(Good())))
