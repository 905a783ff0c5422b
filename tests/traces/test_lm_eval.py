"""lm-evaluation-harness: generated answers are calls, and the model comes from the results file of the same run."""

from __future__ import annotations

import json
import shutil

import pytest

from deconfound.chat.conversation import Message
from deconfound.traces.lm_eval import LmEval
from deconfound.traces.lm_eval_results import Run, run_from
from deconfound.traces.reader import Record
from tests.support.trace_records import SAMPLES, from_document, from_lines, from_values, read

FOLDER = SAMPLES / "lm-eval"
DATE = "2026-11-16T13-44-46.183840"
GENERATED = FOLDER / f"samples_mini_gen_{DATE}.jsonl"
CHOSEN = FOLDER / f"samples_mini_mc_{DATE}.jsonl"
RESULTS = FOLDER / f"results_{DATE}.json"
WITHOUT_RESULTS = "files of samples have no results file beside them; their model is the folder's name"


def row(**changes):
    return {
        "doc_id": 3,
        "doc": {"q": "Where is my parcel?"},
        "target": "Graz",
        "arguments": {"gen_args_0": {"arg_0": "Q: Where is my parcel?\nA:", "arg_1": {"until": ["\n"]}}},
        "resps": [["Graz"]],
        "filtered_resps": ["Graz"],
        "filter": "first",
        "metrics": ["exact_match"],
        "doc_hash": "a8",
        "exact_match": 1.0,
        **changes,
    }


def results(**changes):
    return {"results": {}, "configs": {}, "config": {}, "model_name": "cedar", "date": 1790000000.5, **changes}


def rows(*values, path=f"runs/oak/samples_parcels_{DATE}.jsonl"):
    return from_values(*values, path=path)


def test_the_samples_that_the_harness_wrote():
    calls, scores, remarks = read(LmEval(), from_lines(GENERATED))
    hashes = [
        "a865b46f9236714379b0dabc324de177a416295193ec45ce66459f9b13d0bd84",
        "3c6bc89300bd7ef0008840366709b7d4693c17ea3a481f6cf390b205d8d52853",
    ]
    assert [(call.context_id, call.draw, call.messages[0].text) for call in calls] == [
        (f"mini_gen/{hashes[0]}", 0, "Q: Name a river.\nA:"),
        (f"mini_gen/{hashes[0]}", 1, "Q: Name a river.\nA:"),
        (f"mini_gen/{hashes[1]}", 0, "Q: 2+2?\nA:"),
        (f"mini_gen/{hashes[1]}", 1, "Q: 2+2?\nA:"),
    ]
    assert {(call.model, call.outputs, call.time, call.flags) for call in calls} == {
        ("i82qcls7", ("lol",), 1794836685.3671105, frozenset())
    }
    assert len({call.call_id for call in calls}) == 4
    assert [(score.name, score.value, score.author, score.target_id) for score in scores] == [
        ("exact_match", 0.0, "code", calls[0].call_id),
        ("exact_match", 0.0, "code", calls[2].call_id),
    ]
    assert remarks == {}


def test_rows_of_multiple_choice_have_no_text():
    assert read(LmEval(), from_lines(CHOSEN)) == (
        [],
        [],
        {"rows have log-likelihoods and no text, such as those of multiple choice": 2},
    )


def test_log_likelihoods_of_whole_texts_are_no_answers_although_they_are_text():
    rolling = row(arguments={"gen_args_0": {"arg_0": "A long text."}}, resps=[["-12.5"]], filtered_resps=["-12.5"])
    calls, _, remarks = read(LmEval(), rows(rolling))
    assert calls == []
    assert remarks["rows have log-likelihoods and no text, such as those of multiple choice"] == 1


def test_results_that_come_by_name_the_model_of_their_folder_and_date():
    def record(value, name):
        return from_values(value, path=f"runs/{name}")[0]

    other = "2026-11-17T00-00-00.000001"
    records = [
        record(results(), f"a/results_{DATE}.json"),
        record(results(model_name="elm"), f"a/results_{other}.json"),
        record(results(model_name="oak"), f"b/results_{DATE}.json"),
        record(row(), f"a/samples_parcels_{DATE}.jsonl"),
        record(row(), f"a/samples_parcels_{other}.jsonl"),
        record(row(), f"b/samples_parcels_{DATE}.jsonl.gz"),
        record(row(), f"c/samples_parcels_{DATE}.jsonl"),
    ]
    calls, _, remarks = read(LmEval(), records)
    assert [call.model for call in calls] == ["cedar", "elm", "oak", "c"]
    assert [call.time for call in calls] == [1790000000.5] * 3 + [None]
    assert {call.context_id for call in calls} == {"parcels/a8"}
    assert remarks == {WITHOUT_RESULTS: 1}


def test_a_results_file_in_the_same_folder_is_read_and_a_damaged_one_is_not(tmp_path):
    samples = tmp_path / "oak" / GENERATED.name
    samples.parent.mkdir()
    shutil.copy(GENERATED, samples)
    assert {call.model for call in read(LmEval(), from_lines(samples))[0]} == {"oak"}
    beside = samples.with_name(RESULTS.name)
    for damage in ("{", "[]", "5", '{"results": 1}'):
        beside.write_text(damage)
        calls, _, remarks = read(LmEval(), from_lines(samples))
        assert {call.model for call in calls} == {"oak"}
        assert remarks == {WITHOUT_RESULTS: 1}
    beside.write_text(json.dumps(results()))
    assert {call.model for call in read(LmEval(), from_lines(samples))[0]} == {"cedar"}


def test_a_file_with_another_name_has_the_model_of_its_folder():
    calls, _, remarks = read(LmEval(), rows(row(), path="runs/oak/renamed.jsonl"))
    assert [(call.model, call.context_id) for call in calls] == [("oak", "renamed/a8")]
    assert remarks == {WITHOUT_RESULTS: 1}


@pytest.mark.parametrize(
    ("changes", "model"),
    [
        ({}, "cedar"),
        ({"model_name": "EleutherAI/cedar"}, "EleutherAI/cedar"),
        ({"model_name": "", "config": {"model_args": "dtype=auto,pretrained=org/oak"}}, "org/oak"),
        ({"model_name": None, "config": {"model_args": {"pretrained": "oak", "peft": "elm"}}}, "elm"),
    ],
)
def test_the_model_of_a_run(changes, model):
    assert run_from(results(**changes)) == Run(model, 1790000000.5)
    assert LmEval().recognizes(results(**changes))


def test_a_run_without_model_is_none():
    assert run_from(results(model_name="", config={"model_args": {}})) is None
    assert run_from(results(model_name=5, date="x")) == Run("5", None)
    assert run_from({"results": {}, "model_name": "cedar"}) is None


def test_the_answer_is_what_the_model_said_and_not_what_a_filter_took_of_it():
    long = "It is in Graz. #### Graz"
    calls, scores, _ = read(LmEval(), rows(row(resps=[[long]], filtered_resps=["Graz"])))
    assert [call.outputs for call in calls] == [(long,)]
    assert [score.target_id for score in scores] == [calls[0].call_id]


def test_metrics_judge_the_repetition_that_the_filter_chose():
    calls, scores, remarks = read(LmEval(), rows(row(resps=[["Wien", "Graz"]])))
    assert [(call.outputs, call.draw) for call in calls] == [(("Wien",), 0), (("Graz",), 1)]
    assert [score.target_id for score in scores] == [calls[1].call_id]
    assert remarks == {WITHOUT_RESULTS: 1}
    for together in ["in Graz", ["Wien", "Graz"]]:
        calls, scores, remarks = read(LmEval(), rows(row(resps=[["Wien", "Graz"]], filtered_resps=[together])))
        assert (len(calls), scores) == (2, [])
        assert remarks["rows have metrics of several answers together"] == 1


def test_only_the_first_filter_counts():
    values = [
        row(filter="strict"),
        row(doc_id=4, doc_hash="b", filter="strict"),
        row(filter="flexible", exact_match=0.0),
    ]
    calls, scores, remarks = read(LmEval(), rows(*values))
    assert [call.draw for call in calls] == [0, 0]
    assert [score.value for score in scores] == [1.0, 1.0]
    assert remarks["rows repeat a document with another filter"] == 1


def test_a_document_that_stands_in_a_task_twice_and_a_second_run_are_further_draws():
    first, second = rows(row(), row(doc_id=4)), rows(row(), path=f"again/oak/samples_parcels_{DATE}.jsonl")
    calls, _, _ = read(LmEval(), [*first, *second])
    assert [(call.context_id, call.model, call.draw) for call in calls] == [
        ("parcels/a8", "oak", 0),
        ("parcels/a8", "oak", 1),
        ("parcels/a8", "oak", 2),
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        [["[1]", {"until": []}]],
        {"gen_args_0": {"arg_0": ['[{"role": "user", "content": "Hi"}]'], "arg_1": {}}},
        {"gen_args_0": {"arg_0": '[{"role": "user", "content": "Hi"}]', "arg_1": {}}},
    ],
)
def test_prompts_may_be_in_a_list_or_messages_in_json(arguments):
    (call,) = read(LmEval(), rows(row(arguments=arguments)))[0]
    assert call.messages == (Message("user", "[1]" if isinstance(arguments, list) else "Hi"),)


def test_metrics_that_are_not_single_values_are_counted():
    values = row(metrics=["a", "b", "c", 5, "d"], a=[1, 2], b=float("nan"), d=True)
    _, scores, remarks = read(LmEval(), rows(values))
    assert [(score.name, score.value) for score in scores] == [("d", True)]
    assert remarks["metrics are not single values"] == 4


def test_damaged_rows_are_counted():
    values = [row(resps=[[1, 2]]), row(resps=[], filtered_resps=[]), {"doc_id": 1}]
    calls, _, remarks = read(LmEval(), rows(*values))
    assert calls == []
    assert remarks == {
        WITHOUT_RESULTS: 1,
        "rows have no answers in text": 2,
        "records are not samples of lm-eval": 1,
    }


def test_the_results_file_alone_gives_nothing():
    assert read(LmEval(), from_document(RESULTS)) == ([], [], {})
    assert isinstance(from_document(RESULTS)[0], Record)
