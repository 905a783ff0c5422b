"""JSON Lines that are no lines of JSON: objects over several lines, several objects in one, keys without end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import deconfound as dc
from deconfound.loading import load_replay
from deconfound.loading.input_limit import LIMIT_VARIABLE, MAX_COLUMNS

ROW = {"context": "c", "model": "ant", "output": "o"}
LINE = json.dumps(ROW)


def write(folder, *lines):
    path = folder / "replay.jsonl"
    path.write_bytes("\n".join([*lines, ""]).encode())
    return path


def refused(path: Path) -> str:
    with pytest.raises(dc.DataError) as caught:
        load_replay(path)
    return str(caught.value)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_one_object_over_many_lines_is_refused_before_it_can_end_the_process(tmp_path, opening, closing):
    """No line is deep, all of them together are; in a process of its own, since the stack overflowed."""
    deep = [opening * 450] * 60 + ["1" + closing * 450] + [closing * 450] * 59
    path = write(tmp_path, LINE, LINE[:-1] + ', "z":', *deep, "}", LINE)
    code = "import sys; from deconfound.loading import load_replay; load_replay(sys.argv[1])"
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "DataError: replay.jsonl line 2: the line is not JSON" in run.stderr


@pytest.mark.parametrize(
    "lines",
    [
        [LINE + LINE, "          "],
        [LINE + LINE, LINE.replace(', "model"', ',\n"model"')],
        [LINE[:-1] + ', "z": [{}', "{}]}"],
        [LINE[:-1] + ', "z": {}', '"y": {}}'],
    ],
)
def test_lines_that_are_not_one_object_each_are_refused(tmp_path, lines):
    assert "is not JSON" in refused(write(tmp_path, LINE, *lines, LINE))


@pytest.mark.parametrize("blank", ["", " ", " " * 10, "\t" * 50, "\r", " " * 100 + "\r"])
def test_blank_lines_of_any_length_are_skipped(tmp_path, blank):
    replay = load_replay(write(tmp_path, LINE, blank, blank, LINE))
    assert len(replay) == 2
    assert replay.locate(1) == "replay.jsonl line 4"


@pytest.mark.parametrize("line", [f"  {LINE}", f"{LINE} \t", f"{LINE}\r", f" {LINE} \r"])
def test_space_around_an_object_changes_nothing(tmp_path, line):
    assert len(load_replay(write(tmp_path, LINE, line, LINE))) == 3


def test_a_byte_order_mark_inside_the_file_is_named(tmp_path):
    message = refused(write(tmp_path, LINE, "\ufeff" + LINE))
    assert message.startswith("replay.jsonl line 2: the line starts with a byte-order mark")
    assert "several files were probably joined" in message


def test_keys_that_differ_in_every_line_are_refused_before_the_table_is_built(tmp_path, monkeypatch):
    """Every key is a column of all lines: the table has the square of the file."""
    monkeypatch.setenv(LIMIT_VARIABLE, "0.004")
    path = write(tmp_path, *(json.dumps({**ROW, f"k{i}": 1}) for i in range(1_000)))
    assert "1,000 rows with 1,003 columns are more than 500,000 cells" in refused(path)


@pytest.mark.parametrize("place", [1, 700, 999])
def test_a_key_that_a_sample_of_the_lines_lacks_is_read(tmp_path, monkeypatch, place):
    monkeypatch.setenv(LIMIT_VARIABLE, "0.004")
    lines = [LINE] * 1_000
    lines[place] = json.dumps({**ROW, "feature_late": 2.5})
    assert "feature_late has no value" in refused(write(tmp_path, *lines))


def test_nested_keys_that_differ_in_every_line_are_no_columns(tmp_path, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "0.004")
    path = write(tmp_path, *(json.dumps({**ROW, "meta": {f"k{i}": 1}}) for i in range(1_000)))
    replay = load_replay(path)
    assert len(replay) == 1_000
    assert replay.unused_columns == ("meta",)


def test_one_line_of_too_many_keys_is_refused(tmp_path):
    path = write(tmp_path, json.dumps({**ROW, **{f"k{i}": 1 for i in range(MAX_COLUMNS)}}))
    assert "the table has 100,003 columns, and at most 100,000 can be read" in refused(path)
