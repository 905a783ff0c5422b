"""Langfuse: the same calls and scores from every shape of its exports, and every trap of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from deconfound.chat.conversation import Message
from deconfound.traces.call import Call, Score
from deconfound.traces.langfuse import Langfuse
from deconfound.traces.reader import Remarks
from deconfound.traces.records import records_of
from deconfound.traces.trace_files import files_of, trace_file
from tests.support.json_damage import damaged, require_valid
from tests.support.trace_records import from_values, read_in_order

SAMPLE = Path(__file__).parent / "samples" / "lf_obs.parquet"
INPUT = [{"role": "user", "content": "Where is my parcel?"}]
OUTPUT = {"role": "assistant", "content": "It left Graz on Monday."}
START = 1790928664.12  # 2026-10-02 08:11:04.12

ENRICHED = {
    "id": "o-17",
    "trace_id": "t-9",
    "project_id": "p",
    "environment": "default",
    "type": "GENERATION",
    "start_time": "2026-10-02 08:11:04.120000",
    "name": "answer",
    "level": "DEFAULT",
    "provided_model_name": "cedar-2",
    "model_id": "internal-id",
    "input": json.dumps(INPUT),
    "output": json.dumps(OUTPUT),
    "metadata": {"arm": "exp", "propensity": "0.25"},
    "user_id": "u-3",
    "session_id": "s-8",
    "trace_name": "support",
    "tags": ["vip"],
    "release": "",
    "prompt_name": "support",
    "prompt_version": 4,
    "is_root_observation": False,
}
TRACE_FIELDS = ("user_id", "session_id", "trace_name", "tags", "release")
LEGACY = {key: part for key, part in ENRICHED.items() if key not in TRACE_FIELDS}
TRACE = {
    "id": "t-9",
    "timestamp": "2026-10-02 08:11:03.000000",
    "name": "support",
    "environment": "default",
    "project_id": "p",
    "metadata": {},
    "user_id": "u-3",
    "session_id": "s-8",
    "release": None,
    "public": False,
    "tags": ["vip"],
    "input": "",
    "output": "",
}
SCORE = {
    "id": "sc-5",
    "timestamp": "2026-10-02 08:12:40.000000",
    "trace_id": "t-9",
    "observation_id": None,
    "session_id": None,
    "dataset_run_id": None,
    "name": "user-feedback",
    "value": 1,
    "source": "API",
    "data_type": "BOOLEAN",
    "string_value": "True",
}


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def api(value):
    """A record as the API spells it."""
    return {camel(key): part for key, part in value.items()}


def v1(value):
    """An observation of the first version of the API, and of the user interface: parsed, with another name of model."""
    row = api(value) | {"model": value["provided_model_name"], "startTime": "2026-10-02T08:11:04.120Z"}
    del row["providedModelName"]
    return row | {"input": INPUT, "output": OUTPUT}


CALL = Call(
    origin="x.jsonl line 1",
    call_id="o-17",
    model="cedar-2",
    messages=(Message("user", "Where is my parcel?"),),
    outputs=("It left Graz on Monday.",),
    trace_id="t-9",
    conversation="s-8",
    user="u-3",
    time=START,
    attributes={
        "name": "answer",
        "trace_name": "support",
        "environment": "default",
        "prompt_name": "support",
        "prompt_version": "4",
        "metadata.arm": "exp",
        "metadata.propensity": "0.25",
        "tag.vip": "true",
    },
)
SHAPES = {
    "enriched": [ENRICHED],
    "API, second version": [api(ENRICHED)],
    "user interface, events": [api(ENRICHED) | {"input": INPUT, "output": OUTPUT, "comments": [], "helpful": None}],
    "user interface, observations": [
        {key: part for key, part in v1(ENRICHED).items() if key != "tags"} | {"traceTags": ["vip"], "comments": []}
    ],
    "legacy": [LEGACY, TRACE],
    "API, first version": [v1(LEGACY), api(TRACE) | {"timestamp": "2026-10-02T08:11:03.000Z"}],
    "document": [{"trace": api(TRACE), "observations": [v1(LEGACY)]}],
    "whole trace of the API": [api(TRACE) | {"observations": [v1(LEGACY)], "scores": []}],
    "CSV": [
        {
            key: part if isinstance(part, str) else json.dumps(part) if isinstance(part, list | dict) else str(part)
            for key, part in ENRICHED.items()
        }
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same_call(shape):
    found, remarks = read_in_order(Langfuse(), SHAPES[shape])
    assert found == [CALL]
    assert remarks.counts == {}
    assert all(Langfuse().recognizes(value) for value in SHAPES[shape])


def test_traces_may_come_before_their_observations():
    (call,), _ = read_in_order(Langfuse(), [TRACE, LEGACY])
    assert (call.user, call.conversation, call.attributes) == ("u-3", "s-8", CALL.attributes)


def test_the_sample_is_one_call():
    remarks = Remarks()
    found = list(Langfuse().read(records_of(trace_file(SAMPLE), remarks), remarks))
    assert found == [
        Call(
            origin=f"{SAMPLE} row 1",
            call_id="obs-1",
            model="gpt-x",
            messages=(Message("user", "hi"),),
            outputs=("hello",),
            trace_id="tr-1",
            time=1793527200.123456,
            attributes={
                "metadata.arm": "exp",
                "metadata.propensity": "0.25",
                "tag.a": "true",
                "tag.b": "true",
            },
        )
    ]
    assert remarks.counts == {"calls have no record of their trace, so that user and session may lack": 1}


def test_a_folder_of_an_export_is_read_as_a_whole(tmp_path):
    """Manifests come first by name, observations before their traces, and both ends of a window are in both files."""
    for name, rows in {
        "manifests/1.json": [{"version": 1, "projectId": "p", "exportSource": "x", "window": {}, "files": []}],
        "observations/1.jsonl": [LEGACY],
        "observations/2.jsonl": [LEGACY, LEGACY | {"id": "o-18"}],
        "traces/1.jsonl": [TRACE],
        "scores/1.jsonl": [SCORE],
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "DEPRECATION_NOTICE.txt").write_text("soon")
    remarks = Remarks()
    records = [record for file in files_of([tmp_path], remarks) for record in records_of(file, remarks)]
    assert Langfuse().recognizes(records[0].value)
    calls = list(Langfuse().read(records, remarks))
    assert [call.call_id for call in calls[:2]] == ["o-17", "o-18"]
    assert [call.user for call in calls[:2]] == ["u-3", "u-3"]
    assert isinstance(calls[2], Score)
    assert remarks.counts == {
        "files have an extension that is not read": 1,
        "records are manifests of an export": 1,
        "records are repeated": 1,
    }


def read_score(**fields):
    found, remarks = read_in_order(Langfuse(), [SCORE | fields])
    return (found[0] if found else None), remarks


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({}, True),
        ({"value": 0, "string_value": "False"}, False),
        ({"value": "1"}, True),
        ({"value": 0.7, "data_type": "NUMERIC", "string_value": None}, 0.7),
        ({"value": "0.7", "data_type": "NUMERIC", "string_value": ""}, 0.7),
        ({"value": 2, "data_type": "CATEGORICAL", "string_value": "warm"}, "warm"),
        ({"value": 0, "data_type": "TEXT", "string_value": "Nice."}, "Nice."),
    ],
)
def test_a_score_has_the_value_of_its_type(fields, value):
    score, _ = read_score(**fields)
    assert score.value == value
    assert type(score.value) is type(value)


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ({"data_type": "CORRECTION", "string_value": "Better."}, "corrections"),
        ({"value": None, "data_type": "NUMERIC"}, "no value"),
        ({"value": float("nan"), "data_type": "NUMERIC"}, "no value"),
        ({"value": 2}, "no value"),
        ({"value": 0, "data_type": "TEXT", "string_value": None}, "no value"),
        ({"name": ""}, "no name"),
        ({"trace_id": None}, "judge no call"),
        ({"trace_id": None, "dataset_run_id": "run"}, "judge no call"),
    ],
)
def test_scores_that_judge_nothing_are_counted(fields, remark):
    score, remarks = read_score(**fields)
    assert score is None
    assert [what for what in remarks.counts if remark in what]


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ({}, ("trace", "t-9")),
        ({"observation_id": "o-17"}, ("call", "o-17")),
        ({"trace_id": None, "session_id": "s-8"}, ("conversation", "s-8")),
        ({"trace_id": "", "observation_id": "", "session_id": "s-8"}, ("conversation", "s-8")),
    ],
)
def test_a_score_judges_the_smallest_thing_it_names(fields, target):
    for spelling in (dict, api):
        (score,), _ = read_in_order(Langfuse(), [spelling(SCORE | fields)])
        assert (score.target, score.target_id) == target


@pytest.mark.parametrize(("source", "author"), [("ANNOTATION", "human"), ("EVAL", "judge"), ("API", "unknown")])
def test_the_source_says_who_gave_a_score(source, author):
    score, _ = read_score(source=source, author_user_id="a-1")
    assert (score.author, score.author_id, score.time) == (author, "a-1", 1790928760.0)


@pytest.mark.parametrize(
    ("kind", "target"), [("observation", "call"), ("trace", "trace"), ("session", "conversation"), ("experiment", None)]
)
@pytest.mark.parametrize(
    ("data_type", "value"), [("BOOLEAN", True), ("NUMERIC", 2.5), ("CATEGORICAL", "warm"), ("TEXT", "x")]
)
def test_scores_of_the_third_version_have_a_subject_and_one_typed_value(kind, target, data_type, value):
    record = {"id": "s", "name": "n", "source": "API", "timestamp": "2026-10-02T08:12:40.000Z", "dataType": data_type}
    found, _ = read_in_order(
        Langfuse(), [record | {"value": value, "subject": {"kind": kind, "id": "i", "traceId": "t"}}]
    )
    assert [(score.value, score.target, score.target_id) for score in found] == (
        [(value, target, "i")] if target else []
    )


def test_the_newest_version_of_a_score_counts():
    """A user who changes a vote changes the score under the same id."""
    old, new = SCORE | {"updated_at": "2026-10-02 08:13:00"}, SCORE | {"value": 0, "updated_at": "2026-10-03 08:13:00"}
    for rows in ([old, new], [new, old]):
        found, remarks = read_in_order(Langfuse(), rows)
        assert [score.value for score in found] == [False]
        assert remarks.counts == {"records are repeated": 1}


def test_columns_of_the_user_interface_are_scores():
    row = v1(ENRICHED) | {"comments": [{"text": "x"}], "helpful": [1, 0], "tone": ["warm"], "none": None, "empty": []}
    trace = api(TRACE) | {"helpful": [0.5], "observations": ["o-17"], "scores": ["sc-5"]}
    found, _ = read_in_order(Langfuse(), [row, trace])
    assert found[1:] == [
        Score("x.jsonl line 1", "helpful", 1.0, "unknown", "call", "o-17", "value 1"),
        Score("x.jsonl line 1", "helpful", 0.0, "unknown", "call", "o-17", "value 2"),
        Score("x.jsonl line 1", "tone", "warm", "unknown", "call", "o-17"),
        Score("x.jsonl line 2", "helpful", 0.5, "unknown", "trace", "t-9"),
    ]
    assert isinstance(found[0], Call)


def test_columns_in_csv_are_lists_as_text():
    row = {
        "id": "t-9",
        "timestamp": "2026-10-02T08:11:03.000Z",
        "userId": "u",
        "sessionId": "s",
        "input": "[1]",
        "x": "[1]",
    }
    found, _ = read_in_order(Langfuse(), [row])
    assert found == [Score("x.jsonl line 1", "x", 1.0, "unknown", "trace", "t-9")]


def test_a_score_with_a_record_of_its_own_is_not_read_from_a_column_again():
    row = api(TRACE) | {"user-feedback": [1], "other": [1]}
    found, _ = read_in_order(Langfuse(), [row, SCORE])
    assert [(score.name, score.value) for score in found] == [("user-feedback", True), ("other", 1.0)]


def test_scores_inside_a_whole_trace_are_read():
    scores = [{key: part for key, part in api(SCORE).items() if key != "traceId"}]
    for document in (
        {"trace": api(TRACE) | {"scores": scores}, "observations": [v1(LEGACY)]},
        {"trace": api(TRACE), "observations": [v1(LEGACY)], "scores": scores},
        api(TRACE) | {"observations": [v1(LEGACY)], "scores": scores},
    ):
        found, _ = read_in_order(Langfuse(), [document])
        assert [type(one) for one in found] == [Call, Score]
        assert (found[1].target, found[1].target_id) == ("trace", "t-9")


@pytest.mark.parametrize("kind", ["SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER"])
def test_other_observations_are_no_calls(kind):
    found, remarks = read_in_order(Langfuse(), [ENRICHED | {"type": kind}])
    assert found == []
    assert remarks.counts == {"observations are no calls of a model": 1}


@pytest.mark.parametrize(
    "fields",
    [{"type": "EMBEDDING"}, {"type": "EVALUATOR"}, {"type": "GUARDRAIL"}, {"environment": "langfuse-llm-as-a-judge"}],
)
def test_judges_and_embeddings_are_internal(fields):
    (call,), _ = read_in_order(Langfuse(), [ENRICHED | fields])
    assert call.flags == {"internal"}


@pytest.mark.parametrize(
    ("fields", "flags"),
    [
        ({"input": ""}, {"no content"}),
        ({"output": ""}, {"no content"}),
        ({"output": None}, {"no content"}),
        ({"level": "ERROR", "output": ""}, {"error"}),
        (
            {"output": json.dumps({"choices": [{"message": {"content": "x"}, "finish_reason": "length"}]})},
            {"truncated"},
        ),
        ({"output": json.dumps({"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]})}, {"tool call"}),
    ],
)
def test_flags(fields, flags):
    (call,), _ = read_in_order(Langfuse(), [ENRICHED | fields])
    assert call.flags == flags


def test_the_internal_id_is_never_the_model():
    found, remarks = read_in_order(Langfuse(), [ENRICHED | {"provided_model_name": ""}])
    assert found == []
    assert remarks.counts == {"calls have no name of a model": 1}


def test_metadata_of_instrumentation_are_left_out():
    metadata = {"attributes": {"gen_ai.prompt": "x" * 99}, "scope": {"name": "y"}, "deep": {"arm": [1, "b"]}}
    (call,), _ = read_in_order(Langfuse(), [ENRICHED | {"metadata": json.dumps(metadata)}])
    assert {name for name in call.attributes if name.startswith("metadata")} == {"metadata.deep.arm"}
    assert call.attributes["metadata.deep.arm"] == '[1, "b"]'


def test_metadata_that_the_api_may_have_cut_are_remarked():
    for record, count in ((api(ENRICHED), 1), (ENRICHED, 0)):
        _, remarks = read_in_order(Langfuse(), [record | {"metadata": {"vector": "x" * 200}}])
        assert sum(remarks.counts.values()) == count


def test_records_of_another_kind_are_counted():
    session = {"id": "s", "userIds": ["u"], "countTraces": 1, "createdAt": "2026"}
    assert not Langfuse().recognizes(session)
    assert read_in_order(Langfuse(), [session])[1].counts == {
        "records are no observation, trace or score of Langfuse": 1
    }


def test_a_column_without_a_name_is_no_score():
    found, _ = read_in_order(Langfuse(), [v1(LEGACY) | {"": [1], "helpful": [True, " "]}])
    assert [(one.name, one.value) for one in found if isinstance(one, Score)] == [("helpful", True)]


VALID = [ENRICHED, LEGACY, TRACE, SCORE, *(rows[0] for rows in SHAPES.values()), v1(LEGACY) | {"helpful": [1]}]


@settings(max_examples=60)
@given(damaged(VALID))
def test_any_damage_is_survived(values):
    require_valid(Langfuse(), from_values(*values))
