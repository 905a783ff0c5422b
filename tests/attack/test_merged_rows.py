"""A quote in a CSV that opens in one row and closes in a later one: the rows between become text."""

from __future__ import annotations

import pytest

from deconfound.data import Replay
from deconfound.loading import load_replay
from tests.support.studies import Good, as_csv

LINES = as_csv([{name: row[name] for name in ("context", "model", "output")} for row in Good().replay]).decode()


def read(folder, text) -> Replay:
    path = folder / "replay.csv"
    path.write_text(text, newline="")
    return load_replay(path)


def warned(replay: Replay) -> list[str]:
    return [each.message for each in replay.findings if each.check == "merged rows" and each.verdict == "warn"]


@pytest.mark.parametrize("column", [1, 2])
@pytest.mark.parametrize("hidden", [1, 2, 5])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_rows_inside_a_quoted_cell_are_reported(tmp_path, column, hidden, line_end):
    lines = LINES.splitlines()
    first, last = (lines[at].split(",") for at in (3, 3 + hidden))
    first[column] = '"' + first[column]
    last[column] += '"'
    lines[3], lines[3 + hidden] = ",".join(first), ",".join(last)
    replay = read(tmp_path, line_end.join([*lines, ""]))
    assert len(replay) == len(Good().replay) - hidden
    (message,) = warned(replay)
    assert message.startswith("replay.csv row 3: a cell contains a line break followed by what looks like another row")


@pytest.mark.parametrize(
    "text",
    [
        "two lines\nof text",
        "apples, pears, plums\nfigs, dates, nuts\nkiwis, limes, melons",
        "Dear Sir,\nthank you, yes\nBest, Bob",
        "a,b,c\nd,e,f\n",
        "ant\nbee",
        "question 1, ant\nquestion 2, bee",
    ],
)
def test_text_with_line_breaks_and_commas_is_not(tmp_path, text):
    lines = LINES.splitlines()
    cells = lines[3].split(",")
    lines[3] = ",".join([*cells[:2], f'"{text}"'])
    assert warned(read(tmp_path, "\n".join([*lines, ""]))) == []
