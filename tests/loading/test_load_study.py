"""The public readers: all problems in one error, replays by themselves, contexts by themselves."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from deconfound.errors import DataError, UsageError
from deconfound.loading import load, load_contexts, load_log_and_replay, load_replay
from tests.support.studies import Good, refused, tables, write_study


def test_ten_thousand_faults_of_a_kind_are_one_line(tmp_path):
    good = Good()
    good.log = [good.log[0] | {"outcome": 7}] * 10_000
    message = refused(**write_study(tmp_path, good, "jsonl"))
    assert message.count("\n") == 0
    assert "10,000 lines: 1, 2, 3, …" in message


def test_a_message_shows_up_to_three_different_values():
    good = Good()
    for row, value in zip(good.log, ("a", "b", "a", "c"), strict=False):
        row["outcome"] = value
    for row in good.log[4:]:
        row["outcome"] = "1"
    assert 'outcome "a" is not a number (4 rows: 1, 2, 3, …; also "b")' in refused(**tables(good))


def test_the_problems_of_all_files_are_in_one_error(tmp_path):
    paths = write_study(tmp_path, Good(), "csv")
    Path(paths["log"]).write_bytes(b"")
    good = Good()
    good.experiment[0]["outcome"], good.experiment[1]["model"] = 9, " "
    good.replay[2]["output"] = None
    paths |= {role: tables(good)[role] for role in ("experiment", "replay")}
    with pytest.raises(DataError) as caught:
        load(**paths)
    places = [problem.where for problem in caught.value.problems]
    assert places == ["log.csv", "experiment (Table) row 2", "experiment (Table) row 1", "replay (Table) row 3"]


def test_a_bad_outcome_does_not_hide_a_model_without_replay():
    good = Good()
    good.experiment[0]["outcome"], good.experiment[1]["model"] = 9, "wasp"
    message = refused(**tables(good))
    assert "--outcome-range" in message
    assert '"wasp" has no replay' in message


def test_control_characters_in_values_do_not_reach_the_terminal():
    good = Good()
    good.log[0]["outcome"] = "\x1b[2J" + "x" * 500
    for row in good.log[1:]:
        row["outcome"] = "1"
    message = refused(**tables(good))
    assert "\x1b" not in message
    assert len(message) < 300


def test_a_replay_by_itself_must_cover_the_requested_models():
    table = tables(Good())["replay"]
    replay = load_replay(table, models=["ant", "bee"])
    assert replay.unique_values("model") == {"ant", "bee"}
    assert [finding.check for finding in replay.findings] == ["models"]
    assert len(load_replay(table)) == 18
    with pytest.raises(DataError, match='row 1: context "question 0" has no output of dog'):
        load_replay(table, models=["ant", "dog"])


def test_a_log_and_a_replay_are_read_as_in_a_whole_study():
    sources = tables(Good())
    both = load_log_and_replay(log=sources["log"], replay=sources["replay"], models=["bee", "ant"])
    study = load(**sources)
    assert both.models == ("ant", "bee")
    assert both.log.arrow.equals(study.log.arrow)
    assert both.replay.unique_values("model") == {"ant", "bee"}
    with pytest.raises(UsageError, match="--models"):
        load_log_and_replay(log=sources["log"], replay=sources["replay"], models=["dog"])


def test_contexts_are_read_by_text_id_or_features():
    assert load_contexts(pa.table({"prompt": ["a", "b"]})).column_names == ["context"]
    assert load_contexts(pa.table({"id": [1, 2]}))["context_id"].to_pylist() == ["1", "2"]
    table = load_contexts(pa.table({"context_id": ["a"], "feature_x": [1]}))
    assert table.schema.types == [pa.string(), pa.float64()]
    mapped = load_contexts(pa.table({"text": ["a"]}), columns={"context": "text", "outcome": "stars"})
    assert mapped.column_names == ["context"]


@pytest.mark.parametrize(
    ("table", "where", "what"),
    [
        ({"model": ["ant"]}, "target (Table)", "context"),
        ({"context": ["a", None]}, "target (Table) row 2", "no value"),
        ({"context": ["a", " "]}, "target (Table) row 2", "blank"),
        ({"context_id": ["a"], "feature_x": [float("nan")]}, "target (Table) row 1", "feature_x"),
    ],
)
def test_faulty_contexts_are_refused(table, where, what):
    with pytest.raises(DataError) as caught:
        load_contexts(pa.table(table))
    (problem,) = caught.value.problems
    assert problem.where == where
    assert what in problem.what
