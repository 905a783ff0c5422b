"""Long lines are broken, tables are not."""

from __future__ import annotations

from deconfound.formatting import wrap


def test_long_paragraphs_are_wrapped_and_short_lines_stay():
    text = "short line\n\n" + "word " * 30
    lines = wrap(text.strip(), columns=40).split("\n")
    assert lines[:2] == ["short line", ""]
    assert max(map(len, lines)) <= 40
    assert " ".join(lines[2:]).split() == ["word"] * 30


def test_continuation_lines_of_list_items_are_indented_further():
    lines = wrap("  warn: " + "word " * 20, columns=30).split("\n")
    assert lines[0].startswith("  warn")
    assert all(line.startswith("    word") for line in lines[1:])


def test_table_rows_and_long_words_are_not_broken():
    row = "1  cedar  " + "x" * 60
    assert wrap(row, columns=40) == row
    path = "/a-long-path/" + "x" * 60
    assert path in wrap(f"saved to {path} today", columns=40).split("\n")
