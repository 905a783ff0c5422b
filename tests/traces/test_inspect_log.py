"""Inspect: the samples of ``.json`` and ``.eval`` logs are calls, and the values of their scorers are scores."""

from __future__ import annotations

import json
import zipfile

import pytest

from deconfound.chat.conversation import Message
from deconfound.errors import DataError
from deconfound.traces.inspect_log import InspectLog, eval_records
from tests.support.trace_records import SAMPLES, from_document, from_values, read

FOLDER = SAMPLES / "inspect"
ARCHIVE = next(FOLDER.glob("*.eval"))
DOCUMENT = next(FOLDER.glob("*.json"))


def sample(**changes):
    return {
        "id": "p1",
        "epoch": 1,
        "uuid": "u-1",
        "input": "Where is my parcel?",
        "target": "Graz",
        "output": {
            "model": "cedar-2",
            "completion": "In Graz.",
            "choices": [{"message": {"role": "assistant", "content": "In Graz."}, "stop_reason": "stop"}],
        },
        "scores": {"match": {"value": "C"}},
        "started_at": "2026-10-02T08:00:01+00:00",
        **changes,
    }


def log(*samples, **changes):
    evaluation = {"eval_id": "e-1", "task": "parcels", "model": "openai/cedar-2", "created": "2026-10-02T08:00:00Z"}
    return {"version": 2, "status": "success", "eval": evaluation, "samples": list(samples), **changes}


def one(**changes):
    (call,) = read(InspectLog(), from_values(log(sample(**changes))))[0]
    return call


def scores_of(scores):
    _, found, remarks = read(InspectLog(), from_values(log(sample(scores=scores))))
    return [(score.name, score.value, score.author) for score in found], remarks


EXPECTED = {
    ("task/q1", 1, "Name a river.", ("4",)),
    ("task/q1", 2, "Name a river.", ("4",)),
    ("task/2", 1, "2+2?", ("4",)),
    ("task/2", 2, "2+2?", ("4",)),
}


@pytest.mark.parametrize("records", [lambda: from_document(DOCUMENT), lambda: eval_records(ARCHIVE)])
def test_the_logs_that_inspect_wrote(records):
    calls, scores, remarks = read(InspectLog(), records())
    assert {(call.context_id, call.draw, call.messages[0].text, call.outputs) for call in calls} == EXPECTED
    assert {(call.model, call.requested_model, call.flags) for call in calls} == {
        ("mockllm/model", "mockllm/model", frozenset())
    }
    right = {call.call_id: float(call.context_id == "task/2") for call in calls}
    found = {(score.target_id, score.name, score.value, score.author) for score in scores}
    assert found == {
        entry
        for call_id, grade in right.items()
        for entry in (
            (call_id, "match", grade, "code"),
            (call_id, "includes", grade, "code"),
            (call_id, "multi_helpful", 0.7, "unknown"),
            (call_id, "multi_brief", 1.0, "unknown"),
        )
    }
    assert len(scores) == 16
    assert {tuple(call.attributes.items()) for call in calls} == {
        (("task", "task"), ("metadata.user", "u1")),
        (("task", "task"),),
    }
    assert remarks == {}


def test_a_record_of_an_archive_has_the_sample_and_little_else():
    records = list(eval_records(ARCHIVE))
    assert [record.origin for record in records] == [
        f"{ARCHIVE.name} samples/{name}.json" for name in ("q1_epoch_1", "2_epoch_1", "q1_epoch_2", "2_epoch_2")
    ]
    assert all(len(json.dumps(record.value)) < 2000 for record in records)
    assert all(InspectLog().recognizes(record.value) for record in records)


def test_times_and_ids_of_the_document():
    call = read(InspectLog(), from_document(DOCUMENT))[0][0]
    assert (call.call_id, call.time) == ("hp3FEwjn5JNMuuVUZKtamz", 1794836104.068464)
    assert call.origin == f"{DOCUMENT.name} sample 1"


def test_the_served_model_answers_and_the_evaluated_one_was_asked_for():
    assert (one().model, one().requested_model) == ("cedar-2", "openai/cedar-2")
    assert one(output={}).model == "openai/cedar-2"


def test_a_sample_that_stands_in_two_files_counts_once():
    calls, _, remarks = read(InspectLog(), [*from_document(DOCUMENT), *from_document(DOCUMENT)])
    assert len(calls) == 4
    assert remarks == {"samples stand in the files twice": 4}


def test_a_second_run_of_a_task_gives_further_draws():
    calls, _, remarks = read(InspectLog(), [*eval_records(ARCHIVE), *from_document(DOCUMENT)])
    assert len(calls) == 8
    assert len({(call.context_id, call.model, call.draw) for call in calls}) == 8
    assert remarks == {"samples repeat the epoch of another run; they are further draws": 4}


@pytest.mark.parametrize(("value", "number"), [("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0)])
def test_grades_are_numbers(value, number):
    assert scores_of({"match": {"value": value}}) == ([("match", number, "code")], {})
    assert scores_of({"x": {"value": {"k": value}}}) == ([("x_k", number, "unknown")], {})


def test_other_values_stay_as_they_were_recorded():
    values = {"a": {"value": True}, "b": {"value": 3}, "c": {"value": "yes"}, "d": {"value": {"k": 0.5, "l": None}}}
    found, remarks = scores_of(values)
    assert found == [("a", True, "unknown"), ("b", 3.0, "unknown"), ("c", "yes", "unknown"), ("d_k", 0.5, "unknown")]
    assert remarks == {"scores have no value": 1}


def test_lists_and_missing_values_are_refused():
    found, remarks = scores_of({"a": {"value": [1, 2]}, "b": {"value": float("nan")}, "c": {}, "d": 5})
    assert found == []
    assert remarks == {"scores are lists": 1, "scores have no value": 2, "scores are damaged": 1}


@pytest.mark.parametrize(
    ("scorer", "metadata", "author"),
    [
        ("model_graded_qa", None, "judge"),
        ("inspect_ai/model_graded_fact", None, "judge"),
        ("model_graded_qa1", None, "judge"),
        ("mine", {"grading": [{"role": "user"}]}, "judge"),
        ("includes", None, "code"),
        ("f1", None, "code"),
        ("mine", None, "unknown"),
    ],
)
def test_the_scorer_says_who_judged(scorer, metadata, author):
    assert scores_of({scorer: {"value": 1, "metadata": metadata}}) == ([(scorer, 1.0, author)], {})


def test_an_edited_score_has_its_editor():
    history = [{"value": "I"}, {"value": "C", "provenance": {"author": "ana", "timestamp": "2026-10-03T00:00:00Z"}}]
    _, scores, remarks = read(
        InspectLog(), from_values(log(sample(scores={"match": {"value": "C", "history": history}})))
    )
    assert [(score.value, score.author, score.author_id) for score in scores] == [(1.0, "unknown", "ana")]
    assert remarks == {"scores were edited after the run": 1}
    comment = [{"value": "I"}, {"value": "UNCHANGED", "explanation": "x", "provenance": {"author": "ana"}}]
    assert scores_of({"match": {"value": "I", "history": comment}}) == ([("match", 0.0, "code")], {})


def test_errors_and_invalid_samples_have_no_scores():
    broken, invalid = sample(error={"message": "x"}), sample(uuid="u-2", epoch=2, invalidation={"author": "ana"})
    calls, scores, remarks = read(InspectLog(), from_values(log(broken, invalid)))
    assert [call.flags for call in calls] == [frozenset({"error"})] * 2
    assert (scores, remarks) == ([], {"samples were marked as invalid": 1})


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({"limit": {"type": "token", "limit": 5}}, {"truncated"}),
        ({"output": {"choices": [{"message": {"content": "x"}, "stop_reason": "max_tokens"}]}}, {"truncated"}),
        ({"output": {"choices": [{"message": {"content": "x"}, "stop_reason": "model_length"}]}}, {"truncated"}),
        ({"output": {"choices": [], "completion": ""}}, {"no content"}),
        ({"output": {"completion": "x"}}, set()),
        ({"input": ""}, {"no content"}),
    ],
)
def test_flags(changes, flags):
    assert one(**changes).flags == flags


def test_messages_attachments_and_choices():
    key = "0123456789abcdef" * 2
    call = one(
        input=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Read attachment://{key}."}],
        output={"choices": [{"message": {"content": f"attachment://{key}"}}, {"message": {"content": "b"}}]},
        attachments={key: "a long text"},
    )
    assert call.messages == (Message("system", "Be brief."), Message("user", "Read a long text."))
    assert call.outputs == ("a long text", "b")
    assert one(input=f"attachment://{key}").messages == (Message("user", f"attachment://{key}"),)


def test_tags_are_attributes():
    (call,) = read(InspectLog(), from_values(log(sample(), tags=["nightly"])))[0]
    assert call.attributes == {"task": "parcels", "tag.nightly": "true"}


def test_turns_of_the_model_in_the_input_are_part_of_the_context():
    history = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    messages = [*history, {"role": "assistant", "content": "d"}]
    (call,), _, remarks = read(InspectLog(), from_values(log(sample(input=history, messages=messages))))
    assert [message.text for message in call.messages] == ["a", "b", "c"]
    assert remarks == {}


def test_what_a_user_should_know_is_remarked():
    turns = [{"role": "user"}, {"role": "assistant"}, {"role": "tool"}, {"role": "assistant"}]
    values = [log(sample(messages=turns), {"id": 1}, 7, status="error"), log(), {"eval": 5}]
    calls, _, remarks = read(InspectLog(), from_values(*values))
    assert len(calls) == 1
    assert remarks == {
        "samples are of a run that did not finish": 1,
        "samples have several turns of the model; their context is the first input": 1,
        "samples are damaged": 2,
        "logs have no samples": 1,
        "documents are not logs of Inspect": 1,
    }


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, value in members.items():
            file.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return path


@pytest.mark.parametrize("header", ["header.json", "_journal/start.json", "start.json"])
def test_an_archive_that_is_not_finished_or_old_has_its_header_elsewhere(tmp_path, header):
    path = archive(tmp_path / "x.eval", **{"samples/p1_epoch_1.json": sample(), header: log()})
    calls, scores, remarks = read(InspectLog(), eval_records(path))
    assert [(call.context_id, call.draw) for call in calls] == [("parcels/p1", 1)]
    assert [score.value for score in scores] == [1.0]
    assert remarks == {}


def test_an_archive_without_samples_is_remarked(tmp_path):
    path = archive(tmp_path / "x.eval", **{"header.json": log()})
    assert read(InspectLog(), eval_records(path)) == ([], [], {"logs have no samples": 1})


@pytest.mark.parametrize(
    ("members", "what"),
    [
        ({"summaries.json": []}, "no header.json"),
        ({"header.json": "[1"}, "header.json"),
        ({"header.json": [1]}, "header.json"),
        ({"header.json": "[" * 5000}, "header.json"),
        (
            {"header.json": {}, "samples/1_epoch_1.json": "\udc80".encode("utf-8", "surrogateescape").decode("latin1")},
            "1_",
        ),
    ],
)
def test_an_archive_of_something_else_is_refused(tmp_path, members, what):
    path = archive(tmp_path / "x.eval", **members)
    with pytest.raises(DataError, match=what):
        list(eval_records(path))


def test_a_path_that_is_no_file_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "missing.eval"):
        with pytest.raises(DataError, match="no such file"):
            list(eval_records(path))
