"""Study files: hostile names in what `init` writes, damaged files, and a study file that is never replaced."""

from __future__ import annotations

import csv
import os
import tomllib

import pytest

from deconfound.cli import main
from deconfound.escaping import quoted_string
from tests.support.results import small_demo
from tests.support.studies import Good, write_study

TABLES = 'log = "log.csv"\nexperiment = "experiment.csv"\nreplay = "replay.csv"\n'


@pytest.fixture
def folder(tmp_path):
    write_study(tmp_path, Good(), "csv")
    return tmp_path


@pytest.mark.parametrize("text", ["plain", 'a"b', "a\\b", "a\nb = 1", "\x7f", "\x85\u2028", "\U0001f44d", "\t", ""])
def test_any_text_is_one_quoted_string(text):
    written = quoted_string(text)
    assert "\n" not in written
    assert tomllib.loads(f"a = {written}") == {"a": text}


def test_a_column_name_cannot_add_lines_to_a_study_file(folder):
    with (folder / "log.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    rows[0].append('Label_x\noutcome = "thumbs"\n#')
    with (folder / "log.csv").open("w", newline="") as file:
        csv.writer(file).writerows([rows[0], *([*row, "1"] for row in rows[1:])])
    assert main(["init", str(folder), "-o", str(folder / "study.toml")]) == 0
    assert tomllib.loads((folder / "study.toml").read_text())["map"] == {}


def test_a_file_name_with_a_control_character_is_valid_toml(folder):
    (folder / "log.csv").rename(folder / "log\x7f.csv")
    assert main(["init", str(folder), "-o", str(folder / "study.toml")]) == 0
    assert tomllib.loads((folder / "study.toml").read_text())["log"] == "log\x7f.csv"


def test_a_file_name_that_is_no_text_is_refused(folder, capsys):
    (folder / "log.csv").rename(folder / os.fsdecode(b"log\xff.csv"))
    assert main(["init", str(folder), "-o", str(folder / "study.toml")]) == 2
    assert "is not UTF-8. Rename it." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed = " + "[" * 5_000, "nested too deeply"),
        ("seed = " + "{a=" * 3_000, "nested too deeply"),
        ("map." + "a." * 3_000 + "b = 1", "has tables inside"),
        ("seed = " + "1" * 5_000, "no valid TOML"),
        ("seed = 0x" + "f" * 5_000, "too many digits"),
        ("seed = [[1]]", "a list or a table where one value"),
        ("where = [{a = 1}]", "a list or a table where one value"),
        ('models = "a\\u0000b"', "NUL"),
        ("#" * 1_100_000, "at most 1 MB"),
        ("seed = 1979-05-27", "invalid int value"),
    ],
)
def test_a_damaged_study_file_ends_in_a_message(folder, capsys, text, message):
    (folder / "study.toml").write_text(TABLES + text)
    assert main(["evaluate", str(folder / "study.toml")]) in (1, 2)
    error = capsys.readouterr().err
    assert message in error
    assert "defect" not in error


def test_a_pipe_is_no_study_file(tmp_path, capsys):
    os.mkfifo(tmp_path / "p.toml")
    assert main(["evaluate", str(tmp_path / "p.toml")]) == 1
    assert "not an ordinary file" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["evaluate", "plan"])
def test_the_study_file_is_never_replaced(tmp_path, capsys, command):
    small_demo().write(tmp_path)
    (tmp_path / "study.toml").write_text(TABLES.replace("csv", "parquet"))
    (tmp_path / "out.json").symlink_to("study.toml")
    before = (tmp_path / "study.toml").read_text()
    assert main([command, str(tmp_path / "study.toml"), "-q", "-o", str(tmp_path / "out.json"), "--overwrite"]) == 2
    assert "would replace the input" in capsys.readouterr().err
    assert (tmp_path / "study.toml").read_text() == before


@pytest.mark.parametrize("option", ["-o", "--output", "--outp"])
def test_the_command_line_replaces_the_file_s_output(tmp_path, option):
    small_demo().write(tmp_path)
    (tmp_path / "study.toml").write_text(TABLES.replace("csv", "parquet") + 'output = "a.json"\n')
    fast = ("-q", "--family", "exp-only", "--refits", "2")
    assert main(["evaluate", str(tmp_path / "study.toml"), *fast, option, str(tmp_path / "b.json")]) == 0
    assert (tmp_path / "b.json").exists()
    assert not (tmp_path / "a.json").exists()
