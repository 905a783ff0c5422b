"""Names, tables, paragraphs and JSON as users see them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deconfound.formatting import (
    did_you_mean,
    format_percent,
    join_names,
    pluralize,
    quote,
    similar_name,
    text_table,
    to_jsonable,
    wrap,
)


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("a\nb", '"a\\nb"'),
        ("\x1b[31m", '"\\x1b[31m"'),
        ("x" * 61, '"' + "x" * 60 + '…"'),
        ('say "no"', '"say \\"no\\""'),
    ],
)
def test_a_quoted_value_is_short_and_cannot_control_the_terminal(value, quoted):
    assert quote(value) == quoted


def test_direction_marks_are_escaped():
    assert "\u202e" not in quote("abc\u202etxt")


def test_long_lists_are_cut_and_counted():
    assert join_names(f"m{i}" for i in range(10)) == "m0, m1, m2, m3, m4, m5, m6, m7 and 2 more"


def test_counts_and_percentages_read_naturally():
    assert [pluralize(number, "row") for number in (0, 1, 1200)] == ["0 rows", "1 row", "1,200 rows"]
    assert [format_percent(0.955), format_percent(0.955, 0)] == ["95.5 %", "96 %"]


def test_the_similar_name_ignores_case():
    assert similar_name("modle", ["Output", "Model"]) == "Model"
    assert did_you_mean("modle", ["Output", "Model"]) == '; did you mean "Model"?'
    assert similar_name("zzz", ["Output", "Model"]) is None
    assert did_you_mean("zzz", ["Output", "Model"]) == ""


def test_a_table_aligns_numbers_right_and_chosen_columns_left():
    rows = [("", "model", "value"), ("1", "ant", "0.5"), ("10", "wasp", "12.25")]
    assert text_table(rows, left=(1,)).split("\n") == ["    model  value", " 1  ant      0.5", "10  wasp   12.25"]
    assert text_table([("a", "b"), ("1", "")], left=(1,), rule=True).split("\n") == ["a  b", "----", "1"]
    assert text_table([]) == ""


def test_long_lines_are_wrapped_and_short_ones_unchanged():
    lines = wrap("short   line\n\n" + "word " * 30 + "end", 40).split("\n")
    assert lines[:2] == ["short   line", ""]
    assert max(map(len, lines)) <= 40
    assert " ".join(lines[2:]).split() == ["word"] * 30 + ["end"]


def test_continuation_lines_of_an_indented_line_are_indented_by_two_more():
    first, *rest = wrap("  warn: " + "word " * 20, 30).split("\n")
    assert first.startswith("  warn")
    assert rest
    assert all(line.startswith("    word") for line in rest)
    assert not any(line.startswith(" ") for line in wrap("word " * 20, 30).split("\n"))


def test_table_rows_and_long_words_are_not_broken():
    row = "1  cedar  " + "x" * 60
    assert wrap(row, 40) == row
    path = "/a-long-path/" + "x" * 60
    assert path in wrap(f"saved to {path} today", 40).split("\n")


@given(st.text("ab \n", max_size=120), st.integers(10, 40))
def test_wrapping_changes_only_white_space(text, width):
    assert wrap(text, width).split() == text.split()


def test_json_gets_null_for_every_number_that_is_not_finite():
    value = {
        "a": [1.5, math.nan],
        "b": np.array([[1.0, np.inf], [0.0, 2.0]]),
        "c": (np.float64("-inf"), np.int64(3), True, "x", None),
    }
    expected = {"a": [1.5, None], "b": [[1.0, None], [0.0, 2.0]], "c": [None, 3, True, "x", None]}
    assert json.loads(json.dumps(to_jsonable(value), allow_nan=False)) == expected


def test_a_percent_sign_stays_with_its_number():
    for width in range(12, 30):
        assert not any(
            line.lstrip().startswith("%") for line in wrap("at 95 % confidence, 5 % of all", width).split("\n")
        )


def test_a_small_negative_share_is_zero_percent():
    assert format_percent(-0.001, 0) == "0 %"
    assert format_percent(-0.006, 0) == "-1 %"


def test_wide_letters_take_two_columns_of_a_terminal():
    table = text_table([("name", "n"), ("日本語", "1"), ("abcdef", "2"), ("e\u0301", "3")], left=(0,))
    assert table.splitlines() == ["name    n", "日本語  1", "abcdef  2", "e\u0301       3"]
