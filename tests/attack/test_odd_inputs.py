"""Folders without end and pipes are refused at once, with the reason."""

from __future__ import annotations

import os
from itertools import accumulate

import pytest

from deconfound.errors import DataError
from deconfound.loading.table_files import find_table
from deconfound.traces.reader import Remarks
from deconfound.traces.trace_files import files_of
from tests.support.litellm_calls import calls_of_two_models, converted

DEEP = 1_200
REFUSAL = "more than 100 folders inside each other"


@pytest.fixture
def deep(tmp_path):
    """A folder in a folder, and so on; removed from the inside, since pytest would do so recursively."""
    folders = list(accumulate(["d"] * DEEP, lambda folder, name: folder / name, initial=tmp_path))[1:]
    for folder in folders:
        folder.mkdir()
    yield tmp_path
    for folder in reversed(folders):
        folder.rmdir()


def test_folders_without_end_are_refused(deep):
    with pytest.raises(DataError, match=REFUSAL):
        find_table(deep)
    with pytest.raises(DataError, match=REFUSAL):
        files_of([deep], Remarks())
    with pytest.raises(DataError, match=REFUSAL):
        find_table(f"{deep}/d*")


def test_folders_in_the_usual_depth_are_read_in_order(tmp_path):
    for name in ("b/x.jsonl", "a/z/y.jsonl", "a.jsonl", "c.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    names = [str(file.path.relative_to(tmp_path)) for file in files_of([tmp_path], Remarks())]
    assert names == ["a/z/y.jsonl", "a.jsonl", "b/x.jsonl", "c.jsonl"]
    assert [str(file.path.relative_to(tmp_path)) for file in find_table(tmp_path).tables] == names


@pytest.mark.parametrize("option", ["--assignment", "--propensity-from"])
def test_a_pipe_is_no_file_of_an_option(tmp_path, capsys, option):
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    assert converted(tmp_path, calls_of_two_models(2), option, pipe)[0] == 1
    assert "a pipe" in " ".join(capsys.readouterr().err.split())
