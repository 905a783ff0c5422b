"""Tables as text, Markdown and CSV."""

from __future__ import annotations

import csv
import io
import math

import pytest
from deconfound_bench.score_tables import Estimate, Table, to_csv, to_markdown, to_text

SPECIAL_CHARACTERS = Table(
    "a | title",
    ("name", "x|y", "count"),
    (("=1+1", Estimate(-0.1, 0.03), 2000), ("a|b\\|<c>", Estimate(1 / 3, math.nan), 7), ("two\nlines", 0.5, -1)),
    "a *note*",
)


def test_csv_has_full_precision_and_no_formulas():
    rows = list(csv.reader(io.StringIO(to_csv(SPECIAL_CHARACTERS))))
    assert rows[0] == ["name", "x|y", "x|y standard error", "count"]
    assert rows[1] == ["'=1+1", "-0.1", "0.03", "2000"]
    assert rows[2] == ["a|b\\|<c>", repr(1 / 3), "", "7"]
    assert rows[3] == ["two\nlines", "0.5", "", "-1"]
    for start in "=+-@":
        assert to_csv(Table("t", (f"{start}x()",), ((f"{start}y()",),))) == f"'{start}x()\n'{start}y()\n"


def test_special_characters_do_not_break_a_markdown_table():
    lines = to_markdown(SPECIAL_CHARACTERS).splitlines()
    assert lines[0] == "**a \\| title**"
    assert lines[2] == "| name | x\\|y | count |"
    assert lines[3] == "| :-- | --: | --: |"
    assert lines[5] == "| a\\|b\\\\\\|\\<c\\> | 0.3333 | 7 |"
    assert lines[6] == "| two\\\\nlines | 0.5 | -1 |"
    assert lines[-1] == "a \\*note\\*"


def test_text_tables_are_aligned_and_escape_line_breaks():
    lines = to_text(SPECIAL_CHARACTERS).splitlines()
    assert lines[2:7] == [
        "name                 x|y  count",
        "-------------------------------",
        "=1+1        -0.10 ± 0.03  2,000",
        "a|b\\|<c>          0.3333      7",
        "two\\nlines           0.5     -1",
    ]


def test_a_row_with_the_wrong_number_of_entries_is_an_error():
    with pytest.raises(ValueError, match="2 entries for 1 columns"):
        Table("t", ("a",), ((1, 2),))
