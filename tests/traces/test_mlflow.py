"""MLflow: traces, rows of the table of traces, and assessments."""

from __future__ import annotations

import copy
import json

import pytest

from deconfound.chat.conversation import Message
from deconfound.traces.call import Call, Score
from deconfound.traces.mlflow_traces import Mlflow
from tests.support.trace_records import SAMPLES, read_values, sample_values

SAMPLE = "mlflow_traces.jsonl"
TRACE, CHAIN, SPAN = "tr-3ebf46598cfa0166038c1bf4171f7ed2", "bee07d91d21a436c", "172ed76fa35c1cf4"


def trace():
    return copy.deepcopy(sample_values(SAMPLE)[1])


def assessment(name="thumbs", value=1, **fields):
    source = {"source_type": "HUMAN", "source_id": "u1"}
    return {"assessment_id": name, "assessment_name": name, "source": source, "feedback": {"value": value}, **fields}


def scores_of(*assessments):
    value = trace()
    value["info"]["assessments"] = list(assessments)
    return read_values(Mlflow(), [value])[1:]


def with_outputs(outputs, **attributes):
    value = trace()
    encoded = {key: json.dumps(one) for key, one in attributes.items()}
    value["data"]["spans"][1]["attributes"] |= {"mlflow.spanOutputs": json.dumps(outputs), **encoded}
    return read_values(Mlflow(), [value])[0][0]


def test_the_sample_has_one_call_per_trace():
    calls, scores, remarks = read_values(Mlflow(), sample_values(SAMPLE))
    assert calls[1] == Call(
        origin="x.jsonl line 2",
        call_id=SPAN,
        model="tiny-a-2026-01-01",
        messages=(Message("user", "Name a river."),),
        outputs=("fake answer 1 from tiny-a",),
        requested_model="tiny-a",
        response_id="chatcmpl-1",
        trace_id=TRACE,
        conversation="s1",
        user="u1",
        time=1794838139436519245 / 1e9,
        attributes={"tag.propensity": "0.5", "tag.arm": "exp"},
    )
    assert [call.model for call in calls] == ["tiny-b-2026-01-01", "tiny-a-2026-01-01"] * 3
    assert [call.messages[0].text for call in calls] == ["2+2?", "Name a river."] * 3
    assert [(one.name, one.value, one.author) for one in scores] == [
        ("judge", 0.3, "judge"),
        ("thumbs", True, "human"),
    ] * 2
    expected = Score("x.jsonl line 2", "thumbs", True, "human", "trace", TRACE, "u1", pytest.approx(1794838140.914))
    assert scores[1] == expected
    assert remarks == {"spans are not calls of a model": 6}


def test_spans_around_a_call_are_no_calls_although_they_name_a_model():
    value = trace()
    assert "mlflow.llm.model" in value["data"]["spans"][0]["attributes"]
    del value["data"]["spans"][1]
    assert read_values(Mlflow(), [value])[0] == []


def row(encoding):
    value = trace()
    info = value["info"]
    return {
        "trace_id": TRACE,
        "state": "OK",
        "request_time": 1794838139256,
        "execution_duration": 226,
        "trace_metadata": info["trace_metadata"],
        "tags": list(info["tags"].items()),
        "spans": encoding(value["data"]["spans"]),
        "assessments": encoding(info["assessments"]),
    }


@pytest.mark.parametrize("encoding", [json.dumps, lambda value: value, lambda value: list(map(json.dumps, value))])
def test_rows_of_the_table_are_the_same_as_traces(encoding):
    assert Mlflow().recognizes(row(encoding))
    expected = read_values(Mlflow(), [trace()])
    assert read_values(Mlflow(), [row(encoding)])[:2] == expected[:2]
    whole = {**row(encoding), "trace": json.dumps(trace()), "spans": None, "assessments": None}
    assert read_values(Mlflow(), [whole])[:2] == expected[:2]


def test_the_older_schema_has_other_names():
    value = trace()
    info, span = value["info"], value["data"]["spans"][1]
    older = {
        "info": {
            "request_id": TRACE,
            "timestamp_ms": 1,
            "status": "OK",
            "request_metadata": info["trace_metadata"],
            "tags": info["tags"],
            "assessments": [{**assessment(), "assessment_name": None, "name": "thumbs", "create_time_ms": 5000}],
        },
        "data": {
            "spans": [
                {
                    "name": "Completions",
                    "context": {"trace_id": "0x01", "span_id": f"0x{SPAN}"},
                    "parent_id": f"0x{CHAIN}",
                    "start_time": 1794838139436519245,
                    "status_code": "OK",
                    "attributes": span["attributes"],
                }
            ],
        },
    }
    assert Mlflow().recognizes(older)
    calls, scores, _ = read_values(Mlflow(), [older])
    assert calls == read_values(Mlflow(), [trace()])[0]
    assert [(one.name, one.target_id, one.time) for one in scores] == [("thumbs", TRACE, 5.0)]


@pytest.mark.parametrize(
    ("kind", "author"),
    [("HUMAN", "human"), ("LLM_JUDGE", "judge"), ("AI_JUDGE", "judge"), ("CODE", "code"), ("X", "unknown")],
)
def test_authors(kind, author):
    assert scores_of(assessment(source={"source_type": kind}))[0][0].author == author


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ({"valid": False}, "assessments were replaced by later ones"),
        ({"feedback": None, "expectation": {"value": "Rhine"}}, "assessments are expectations, not scores"),
        ({"value": [1, 2]}, "assessments have no value that is a number, a truth value or a text"),
        ({"value": None}, "assessments have no value that is a number, a truth value or a text"),
        (
            {"feedback": {"error": {"error_code": "x"}}},
            "assessments have no value that is a number, a truth value or a text",
        ),
    ],
)
def test_what_is_not_a_score_is_skipped(fields, remark):
    scores, remarks = scores_of(assessment(**fields))
    assert scores == []
    assert remarks[remark] == 1


def test_a_later_assessment_replaces_the_one_that_it_overrides():
    """MLflow marks the replaced one as not valid too, but an export may be older than the mark."""
    scores, _ = scores_of(assessment("a", 0), assessment("b", 1, overrides="a"))
    assert [(one.name, one.value) for one in scores] == [("b", 1.0)]


def test_an_object_is_one_score_per_name():
    scores, _ = scores_of(assessment("rubric", {"polite": 0.5, "brief": True, "list": [1]}))
    assert [(one.name, one.value) for one in scores] == [("rubric.polite", 0.5), ("rubric.brief", True)]


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ({"span_id": SPAN}, ("call", SPAN)),
        ({"span_id": "Fy7Xb6NcHPQ="}, ("call", SPAN)),
        ({"span_id": CHAIN}, ("trace", TRACE)),
        ({"metadata": {"mlflow.trace.session": "s1"}}, ("conversation", "s1")),
    ],
)
def test_targets_of_assessments(fields, target):
    scores, _ = scores_of(assessment(**fields))
    assert [(one.target, one.target_id) for one in scores] == [target]


def test_overlapping_pages_give_calls_and_scores_once():
    calls, scores, remarks = read_values(Mlflow(), [trace(), trace()])
    assert (len(calls), len(scores)) == (1, 1)
    assert remarks["calls are in the files more than once"] == 1


def test_two_records_of_one_call_count_once():
    value = trace()
    outer, inner = value["data"]["spans"]
    outer["attributes"] = {**inner["attributes"]}
    assert [call.call_id for call in read_values(Mlflow(), [value])[0]] == [SPAN]


def test_failed_and_empty_calls():
    value = trace()
    span = value["data"]["spans"][1]
    span["status"]["code"] = "STATUS_CODE_ERROR"
    del span["attributes"]["mlflow.spanOutputs"]
    assert read_values(Mlflow(), [value])[0][0].flags == {"error"}
    span["status"]["code"] = "STATUS_CODE_OK"
    call = read_values(Mlflow(), [value])[0][0]
    assert (call.flags, call.outputs, call.model) == ({"no content"}, (), "tiny-a-2026-01-01")


def test_choices_truncation_and_plain_text():
    choices = [{"message": {"content": "a"}, "finish_reason": "length"}, {"message": {"content": "b"}}]
    call = with_outputs({"choices": choices})
    assert (call.outputs, call.flags) == (("a", "b"), {"truncated"})
    assert with_outputs("plain").outputs == ("plain",)


def test_names_of_models():
    call = with_outputs("x", **{"mlflow.llm.model": "openai/cedar-2", "mlflow.llm.provider": "openai"})
    assert call.model == "cedar-2"
    assert with_outputs("x", **{"mlflow.llm.model": "openai/cedar-2"}).model == "openai/cedar-2"


def test_other_records_are_remarked():
    _, _, remarks = read_values(Mlflow(), [{"id": 1}, {"info": {}, "data": {}}, {"info": 1, "data": 2}])
    assert remarks == {"records are not traces of MLflow": 3}


def test_only_its_own_samples_are_recognized():
    for path in SAMPLES.glob("*.jsonl"):
        value = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
        assert Mlflow().recognizes(value) == (path.name == SAMPLE), path.name
