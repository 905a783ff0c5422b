"""`deconfound doctor` says what every file is, why a similar table is not used, and which attributes there are."""

from __future__ import annotations

import json

import pytest

from deconfound.cli import main
from tests.support.litellm_calls import calls_of_two_models
from tests.support.trace_runs import make_runs, write_lines

FEEDBACK = "call_id,thumb\nrun-0,up\nrun-1,down\n"
EXPOSURES = "user_id,variant,timestamp\nu0,control,2026-04-01T00:00:00Z\nu1,cedar,2026-04-01T00:00:00Z\n"


@pytest.fixture
def doctor(tmp_path, capsys, monkeypatch):
    """Look at eight calls and the tables that are given by name; returns what is printed."""
    monkeypatch.chdir(tmp_path)

    def run(*options, **tables):
        write_lines(tmp_path / "runs.jsonl", make_runs(8))
        for name, text in tables.items():
            (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
        assert main(["doctor", "runs.jsonl", *(f"./{name}.csv" for name in tables), *options]) == 0
        return capsys.readouterr().out

    return run


def test_feedback_and_exposures_are_recognized_and_named_in_the_next_command(doctor):
    text = doctor(feedback=FEEDBACK, exposures=EXPOSURES)
    assert "Exposures: exposures.csv, where 2 of 2 units are users or conversations" in " ".join(text.split())
    assert "in no known format" not in text
    assert text.splitlines()[-1] == (
        "Next: deconfound convert runs.jsonl --outcomes feedback.csv --exposures exposures.csv "
        "--variant control=MODEL -o study"
    )


def test_the_data_say_the_same(doctor):
    found = json.loads(doctor("--json", feedback=FEEDBACK, exposures=EXPOSURES))
    assert found["exposures"]["exposures.csv"] == {"units": 2, "matched": 2, "variants": ["cedar", "control"]}
    assert "files are in no known format" not in found["remarks"]


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("call_id,verdict\nrun-0,up\n", "Name the column with the judgement: --outcome COLUMN"),
        ("call_id,rating\nother-0,1\n", "no column has ids of the calls"),
        ("user_id,variant\nx,cedar\n", "none of its 1 units is a user or a conversation of these calls"),
        ("user_id,variant,experiment_id\nu0,a,one\nu1,b,two\n", "choose one with --exposure-name: one, two"),
    ],
)
def test_a_table_that_looks_like_one_but_cannot_be_used_is_named_with_the_reason(doctor, table, reason):
    text = doctor(table=table)
    assert "Not used: table.csv." in text
    assert reason in " ".join(text.split())
    assert "in no known format" not in text
    assert "convert runs.jsonl --" in text.splitlines()[-1]


def test_a_table_that_may_be_joined_in_two_ways_is_named_with_the_question(doctor):
    text = doctor(table="call,reply_to,rating\nrun-0,run-1,1\nrun-1,run-0,0\n")
    assert "Not used: table.csv." in text
    assert "several columns have ids of the calls: call (2 of 2 rows" in " ".join(text.split())
    assert "--outcomes FILE" in text.splitlines()[-1]


def test_the_next_command_asks_for_the_outcome_where_a_table_has_several_scores(doctor):
    text = doctor(feedback="call_id,stars,thumbs\nrun-0,5,1\nrun-1,2,0\n")
    assert "--outcomes feedback.csv --outcome NAME " in text.splitlines()[-1]
    assert "Say which score is the outcome" in text
    assert "--outcome NAME" not in doctor(feedback=FEEDBACK)


def next_command(folder, capsys, records):
    assert main(["doctor", str(write_lines(folder / "traces.jsonl", records))]) == 0
    return capsys.readouterr().out.splitlines()[-1]


def test_the_next_command_asks_for_the_outcome_where_feedback_of_litellm_has_no_author(tmp_path, capsys):
    calls, feedback = calls_of_two_models(4), {"trace_id": "t0", "score": 1, "name": "thumbs"}
    assert "--outcome NAME" in next_command(tmp_path, capsys, [*calls, feedback])
    assert "--outcome NAME" not in next_command(tmp_path, capsys, calls)


@pytest.mark.parametrize(("source", "asks"), [("API", True), ("ANNOTATION", False), ("EVAL", False)])
def test_the_next_command_asks_for_the_outcome_where_langfuse_names_no_author(tmp_path, capsys, source, asks):
    observation = {
        **{"id": "o1", "trace_id": "t1", "type": "GENERATION", "start_time": "2026-10-02 08:11:04.120000"},
        **{"provided_model_name": "oak", "user_id": "u", "session_id": "s", "input": "q", "output": "a"},
    }
    score = {"id": "s1", "name": "thumbs", "source": source, "data_type": "NUMERIC", "value": 1, "trace_id": "t1"}
    command = next_command(tmp_path, capsys, [observation, {**score, "timestamp": "2026-10-02 08:12:00"}])
    assert ("--outcome NAME" in command) == asks
    assert ("--outcomes FILE" in command) == (source == "EVAL")


def test_other_files_are_still_of_no_known_format(doctor):
    text = doctor(feedback=FEEDBACK, prices="model,price\ncedar,3\n")
    assert "files are in no known format: 1, first in prices.csv" in text


def test_attributes_are_listed_where_the_error_refers_to(doctor, capsys):
    text = doctor()
    assert "  - metadata.exp, in 8 answers: no, yes" in text.splitlines()
    assert "  - metadata.user_id, in 8 answers: " in text
    assert main(["convert", "runs.jsonl", "--experiment-where", "tag.nothing=1", "-o", "out"]) == 2
    assert "`deconfound doctor` lists them" in capsys.readouterr().err


def test_very_many_attributes_are_counted(tmp_path, capsys):
    runs = make_runs(2)
    runs[0]["extra"]["metadata"] |= {f"key{number}": "x" for number in range(30)}
    assert main(["doctor", str(write_lines(tmp_path / "runs.jsonl", runs))]) == 0
    text = capsys.readouterr().out
    assert "more, which --json lists" in text
    assert main(["doctor", str(tmp_path / "runs.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["attribute_counts"]["metadata.key29"] == 1
