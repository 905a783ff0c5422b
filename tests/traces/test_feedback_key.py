"""Feedback is joined by the column that names what it judges, not by numbers that coincide."""

from __future__ import annotations

import pytest

from tests.support.litellm_calls import START, call, calls_of_two_models, converted, write_table

COUNT = 8
PARTNERS = [n + 1 - 2 * (n % 2) for n in range(COUNT)]  # 1, 0, 3, 2, ...


def outcomes(tables):
    return {row["call_id"]: row["outcome"] for row in tables["log"]}


def printed(capsys):
    streams = capsys.readouterr()
    return " ".join((streams.out + streams.err).split())


def test_row_numbers_are_no_sessions(tmp_path, capsys):
    """Row n judges another trace than that of session n."""
    rows = [(n + 1, f"t{PARTNERS[n]}", n % 2) for n in range(COUNT)]
    feedback = write_table(tmp_path / "feedback.csv", "id,trace_id,rating", rows)
    code, tables = converted(tmp_path, calls_of_two_models(COUNT), "--outcomes", feedback)
    assert code == 0
    assert outcomes(tables) == {f"c{PARTNERS[n]}": n % 2 for n in range(COUNT)}
    assert "joined by trace_id: 8 of 8 rows have the id of a trace" in printed(capsys)


@pytest.mark.parametrize("header", ["session_id,trace_id,rating", "trace_id,session_id,rating"])
def test_the_finest_id_decides(tmp_path, header):
    calls = [call(f"c{n}", f"t{n}", "one", "oak", f"q{n}", f"a{n}", START + n) for n in range(4)]
    cells = {"session_id": "one", "trace_id": "t{}", "rating": "{}"}
    rows = [[cells[name].format(n if name == "trace_id" else n % 2) for name in header.split(",")] for n in range(4)]
    _, tables = converted(tmp_path, calls, "--outcomes", write_table(tmp_path / "f.csv", header, rows))
    assert outcomes(tables) == {f"c{n}": n % 2 for n in range(4)}


def test_ids_of_calls_under_any_name_go_before_sessions(tmp_path):
    rows = [("1", f"c{n}", n % 2) for n in range(COUNT)]
    feedback = write_table(tmp_path / "f.csv", "session_id,request,rating", rows)
    _, tables = converted(tmp_path, calls_of_two_models(COUNT), "--outcomes", feedback)
    assert outcomes(tables) == {f"c{n}": n % 2 for n in range(COUNT)}


def test_numbers_that_only_match_sessions_are_asked_about(tmp_path, capsys):
    rows = [(n + 1, n % 2) for n in range(COUNT)]
    feedback = write_table(tmp_path / "f.csv", "id,rating", rows)
    code, _ = converted(tmp_path, calls_of_two_models(COUNT), "--outcomes", feedback)
    assert code == 2
    assert "may number the rows" in printed(capsys)
    options = ("--outcomes", feedback, "--outcomes-key", "id")
    code, tables = converted(tmp_path, calls_of_two_models(COUNT), *options)
    assert code == 0
    assert outcomes(tables) == {f"c{n}": n % 2 for n in range(COUNT)}


@pytest.mark.parametrize("header", ["call,reply_to,rating", "span_id,observation_id,rating"])
def test_two_columns_of_one_level_are_asked_about(tmp_path, capsys, header):
    rows = [(f"c{n}", f"c{PARTNERS[n]}", 1) for n in range(COUNT)]
    feedback = write_table(tmp_path / "f.csv", header, rows)
    assert converted(tmp_path, calls_of_two_models(COUNT), "--outcomes", feedback)[0] == 2
    assert "--outcomes-key COLUMN" in printed(capsys)


def test_a_finer_column_that_is_mostly_empty_is_asked_about(tmp_path, capsys):
    rows = [(f"t{n}" if n < 2 else "", n + 1, 1) for n in range(COUNT)]
    feedback = write_table(tmp_path / "f.csv", "trace_id,session_id,rating", rows)
    assert converted(tmp_path, calls_of_two_models(COUNT), "--outcomes", feedback)[0] == 2
    assert "several columns have ids" in printed(capsys)


def test_ratings_are_no_sessions(tmp_path):
    rows = [(n % 2 + 1, f"t{n}") for n in range(COUNT)]
    feedback = write_table(tmp_path / "f.csv", "rating,trace_id", rows)
    _, tables = converted(tmp_path, calls_of_two_models(COUNT), "--outcomes", feedback)
    assert outcomes(tables) == {f"c{n}": n % 2 + 1 for n in range(COUNT)}
