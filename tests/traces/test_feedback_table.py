"""Feedback in a table of its own: which column is which, and which of several judgements counts."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from tests.support.trace_runs import make_runs, write_lines

NEWER, OLDER = "2026-05-03T09:00:00Z", "2026-05-02T09:00:00Z"


@pytest.fixture
def convert(tmp_path, capsys):
    """Convert four calls with the text of a feedback table; returns what is printed, and the tables."""

    def run(text, *options, code=0):
        traces = write_lines(tmp_path / "runs.jsonl", make_runs(4))
        feedback = tmp_path / "feedback.csv"
        feedback.write_text(text, encoding="utf-8")
        words = ["convert", str(traces), "--outcomes", str(feedback), "-o", str(tmp_path / "out"), "--overwrite"]
        assert main([*words, *options]) == code
        printed = capsys.readouterr()
        tables = {path.stem: pq.read_table(path).to_pydict() for path in (tmp_path / "out").glob("*.parquet")}
        return " ".join((printed.out + printed.err).split()), tables

    return run


def revised(column, newer, older):
    """The newer vote is above the older one."""
    return f"call_id,rating,{column}\nrun-0,1,{newer}\nrun-0,0,{older}\nrun-1,1,{older}\n"


@pytest.mark.parametrize("name", ["submitted_at", "updated_at", "date", "ts", "Rated At", "answered_at", "vote_date"])
def test_the_last_vote_counts_whatever_its_time_is_called(convert, name):
    _, tables = convert(revised(name, NEWER, OLDER))
    assert tables["log"]["outcome"][:2] == [1.0, 1.0]


@pytest.mark.parametrize(("newer", "older"), [("5/3/2026 9:00 AM", "5/2/2026 9:00 AM"), ("late", "early"), ("", "")])
def test_votes_whose_times_can_all_not_be_read_are_refused(convert, newer, older):
    text, _ = convert(revised("created_at", newer, older), code=1)
    assert "feedback.csv row 1: the score has no time that can be read" in text
    assert "whether it or that in feedback.csv row 2 is the last" in text


@pytest.mark.parametrize("table", ["call_id,rating\nrun-0,1\nrun-0,0\nrun-1,1\n", revised("date", OLDER, OLDER)])
def test_the_order_of_the_file_counts_where_times_do_not_decide_and_is_stated(convert, table):
    text, tables = convert(table)
    assert tables["log"]["outcome"][:2] == [0.0, 1.0]
    assert "1 answer got different scores rating by one author, and no time says which is the last" in text


def test_durations_are_no_times(convert):
    """A column of seconds would order the votes by how long they took."""
    text, tables = convert("call_id,rating,response_time\nrun-0,1,9.5\nrun-0,0,1.5\n")
    assert tables["log"]["outcome"][0] == 0.0
    assert "no time says which is the last" in text


def test_equal_votes_need_no_order(convert):
    text, tables = convert("call_id,rating\nrun-0,1\nrun-0,1\n")
    assert tables["log"]["outcome"][0] == 1.0
    assert "no time says" not in text


WIDE = "trace_id,stars,solved\ntrace-0,5,1\ntrace-1,2,0\n"


def test_a_column_of_any_name_can_be_the_outcome(convert):
    text, _ = convert("call_id,verdict,comment\nrun-0,down,\nrun-1,up,nice\n", code=1)
    assert "Name the column with the judgement: --outcome COLUMN" in text
    text, tables = convert("call_id,verdict,comment\nrun-0,down,\nrun-1,up,nice\n", "--outcome", "verdict")
    assert tables["log"]["outcome"][:2] == [0.0, 1.0]
    assert "Columns of the feedback that are not used: comment" in text


@pytest.mark.parametrize("name", ["thumb", "Stars", "user_rating", "vote", "y", "thumbs-up"])
def test_names_of_outcomes_in_tables_are_known_in_feedback_too(convert, name):
    _, tables = convert(f"call_id,{name}\nrun-0,1\nrun-1,0\n")
    assert tables["log"]["outcome"][:2] == [1.0, 0.0]


def test_a_wide_table_has_one_score_per_column(convert):
    text, tables = convert(WIDE, "--outcome", "solved")
    assert tables["log"]["outcome"][:2] == [1.0, 0.0]
    assert tables["log"]["label_stars"][:2] == [5.0, 2.0]
    text, _ = convert(WIDE.replace("solved", "rating"), code=2)
    assert "Which score is the outcome? Choose one with --outcome NAME: rating (unknown, 2), stars (unknown, 2)" in text


def test_several_outcomes_are_several_columns(convert):
    text, tables = convert(WIDE, "--outcome", "stars", "--outcome", "solved")
    assert tables["log"]["outcome_stars"][:2] == [5.0, 2.0]
    assert tables["log"]["outcome_solved"][:2] == [1.0, 0.0]
    assert "outcome" not in tables["log"]
    assert "The outcome in column outcome_stars is the score stars" in text
    assert "2 with outcome_stars, 2 with outcome_solved" in text


def test_the_key_and_the_columns_without_use_are_stated(convert):
    """The trace of a call is no column without use: it says in which trace a span is meant."""
    text, _ = convert("call_id,trace_id,rating,comment\nrun-0,trace-0,1,x\nrun-1,trace-1,0,y\n")
    assert "joined by call_id: 2 of 2 rows have the id of a call" in text
    assert "Columns of the feedback that are not used: comment. One can be --outcome COLUMN." in text


def test_every_column_of_a_judge_gives_a_label(convert):
    table = "call_id,stars,thumbs,rater\nrun-0,5,1,gpt-4o\nrun-0,2,0,ana\nrun-1,1,1,ana\n"
    _, tables = convert(table, "--outcome", "stars")
    assert tables["log"]["outcome"][:2] == [2.0, 1.0]
    assert tables["log"]["label_thumbs"][:2] == [0.0, 1.0]
    assert (tables["log"]["label_stars_judge"][0], tables["log"]["label_thumbs_judge"][0]) == (5.0, 1.0)


def test_a_column_that_the_user_names_as_outcome_is_no_id(convert):
    """Otherwise its values, which are ids of calls, would make it as good a key as the other column."""
    options = ("--outcome", "winner", "--outcome-values", "run-0=1,run-1=0")
    _, tables = convert("call,winner\nrun-0,run-0\nrun-1,run-1\nrun-2,run-0\n", *options)
    assert tables["log"]["outcome"][:3] == [1.0, 0.0, 1.0]


def test_few_ids_do_not_differ_in_case(convert):
    text, _ = convert("call_id,rating\nrun-0,1\n" + "else,1\n" * 20, code=1)
    assert "no column has ids of the calls" in text


def test_a_comment_beside_a_rating_is_no_score(convert):
    """A free text called feedback would be asked for the meaning of every word."""
    _, tables = convert("call_id,rating,feedback\nrun-0,1,thanks a lot\nrun-1,0,\n")
    assert tables["log"]["outcome"][:2] == [1.0, 0.0]
    assert "label_feedback" not in tables["log"]


def test_scores_of_several_names_in_one_column_can_still_be_chosen_by_name(convert):
    table = "call_id,metric,value\nrun-0,speed,1\nrun-0,tone,0\n"
    _, tables = convert(table, "--outcome", "tone")
    assert tables["log"]["outcome"][0] == 0.0
    assert tables["log"]["label_speed"][0] == 1.0


def test_ids_in_another_case_are_not_joined_and_named(convert):
    text, tables = convert("call_id,rating\nrun-0,1\nRUN-1,1\nelse,1\n")
    assert tables["log"]["outcome"][:2] == [1.0, None]
    assert "2 of ids that are in no trace (1 differ from one only in case)" in text
    text, _ = convert("call_id,rating\nRUN-0,1\nRUN-1,1\n", code=1)
    assert 'the ids in column "call_id" differ from those of calls only in case' in text


def test_a_missing_replay_is_answered_with_its_command(convert):
    text, _ = convert("call_id,rating\nrun-0,1\n")
    assert "Missing for an evaluation: experiment, replay." in text
    assert "`deconfound replay` asks the models for the replay" in text


@pytest.mark.parametrize("shares", ["aspen=1/3,cedar=2/3", "aspen=33.3%,cedar=66.7 %", "aspen=0.333,cedar=2/3"])
def test_probabilities_may_be_fractions_and_percentages(convert, shares):
    _, tables = convert("call_id,rating\nrun-0,1\n", "--propensity", shares, "--experiment-where", "metadata.exp=no")
    assert tables["experiment"]["propensity"] == pytest.approx([1 / 3] * 2, abs=1e-3)


@pytest.mark.parametrize("shares", ["aspen=1/0,cedar=1", "aspen=1/3,cedar=1/3", "aspen=150%,cedar=-50%", "aspen=1/3/1"])
def test_other_probabilities_are_refused(convert, shares):
    text, _ = convert("call_id,rating\nrun-0,1\n", "--propensity", shares, code=2)
    assert "--propensity" in text
