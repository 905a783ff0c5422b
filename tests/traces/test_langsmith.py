"""LangSmith: runs as objects, as pages and as rows of its export, and rows of feedback."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from deconfound.chat.conversation import Message
from deconfound.traces.call import Call, Score
from deconfound.traces.langsmith import LangSmith
from tests.support.trace_records import SAMPLES, read_values

ROOT, RUN, PROJECT = (str(UUID(int=at)) for at in (1, 2, 3))


def message(kind, content, **fields):
    return {"lc": 1, "type": "constructor", "id": ["langchain", kind], "kwargs": {"content": content, **fields}}


def run(**fields):
    said = message("AIMessage", "In Graz.", response_metadata={"model_name": "cedar-2-0901", "id": "r-77"})
    return {
        "id": RUN,
        "name": "ChatOpenAI",
        "run_type": "llm",
        "start_time": "2026-10-02T08:11:04.120000",
        "extra": {
            "metadata": {"ls_model_name": "cedar-2", "ls_provider": "openai", "thread_id": "c-5", "arm": "exp"},
            "invocation_params": {"model": "cedar"},
        },
        "inputs": {
            "messages": [[message("SystemMessage", "Be brief."), message("HumanMessage", "Where is my parcel?")]]
        },
        "outputs": {
            "generations": [[{"text": "In Graz.", "generation_info": {"finish_reason": "stop"}, "message": said}]]
        },
        "tags": ["blue"],
        "trace_id": ROOT,
        "parent_run_id": ROOT,
        "dotted_order": "x",
        "status": "success",
        "session_id": PROJECT,
        **fields,
    }


def root(**fields):
    return run(id=ROOT, run_type="chain", parent_run_id=None, extra={}, **fields)


def feedback(**fields):
    return {
        "id": "f-1",
        "run_id": RUN,
        "trace_id": ROOT,
        "key": "thumb",
        "score": 1,
        "value": None,
        "feedback_source": {"type": "app", "user_id": "u-9"},
        "session_id": PROJECT,
        "created_at": "2026-10-02T08:12:00+00:00",
        **fields,
    }


CALL = Call(
    origin="x.jsonl line 1",
    call_id=RUN,
    model="cedar-2-0901",
    messages=(Message("system", "Be brief."), Message("user", "Where is my parcel?")),
    outputs=("In Graz.",),
    requested_model="cedar-2",
    response_id="r-77",
    trace_id=ROOT,
    conversation="c-5",
    time=datetime(2026, 10, 2, 8, 11, 4, 120000, tzinfo=UTC).timestamp(),
    attributes={"metadata.thread_id": "c-5", "metadata.arm": "exp", "tag.blue": "true"},
)


def only_call(**fields):
    calls, _, _ = read_values(LangSmith(), [run(**fields)])
    assert len(calls) == 1
    return calls[0]


def scores_of(*values):
    return read_values(LangSmith(), values)[1]


def parquet_row():
    nested = {key: json.dumps(value) for key, value in run().items() if isinstance(value, dict | list)}
    return {**run(), **nested, "id": UUID(RUN), "start_time": datetime(2026, 10, 2, 8, 11, 4, 120000, tzinfo=UTC)}


@pytest.mark.parametrize("value", [run(), {"runs": [run()], "cursors": {}}, parquet_row()])
def test_a_run_is_the_same_call_from_every_source(value):
    assert LangSmith().recognizes(value)
    calls, scores, remarks = read_values(LangSmith(), [value])
    assert (calls, scores, remarks) == ([CALL], [], {})


def test_runs_inside_runs_are_read():
    calls, _, _ = read_values(LangSmith(), [root(child_runs=[run()])])
    assert calls == [CALL]


def test_the_session_of_a_run_is_its_project_and_no_conversation():
    assert only_call(extra={}).conversation == ""


@pytest.mark.parametrize("key", ["thread_id", "session_id", "conversation_id"])
def test_conversations_are_in_the_metadata(key):
    assert only_call(extra={"metadata": {key: "c-6"}}).conversation == "c-6"


def test_the_conversation_and_the_user_of_the_root_hold_for_its_calls():
    top = {**root(), "extra": {"metadata": {"session_id": "c-7", "user_id": "u-7"}}}
    for values in ([top, run(extra={})], [run(extra={}), top]):
        calls, _, _ = read_values(LangSmith(), values)
        assert [(call.conversation, call.user) for call in calls] == [("c-7", "u-7")]


@pytest.mark.parametrize(
    ("fields", "model", "requested"),
    [
        ({}, "cedar-2-0901", "cedar-2"),
        ({"outputs": {"messages": [{"role": "assistant", "content": "x"}]}}, "cedar-2", "cedar-2"),
        ({"outputs": {"choices": [{"message": {"content": "x"}}], "model": "oak"}}, "oak", "cedar-2"),
        ({"outputs": {"output": "x", "llm_output": {"model_name": "elm"}}}, "elm", "cedar-2"),
        ({"outputs": {"output": "x"}, "extra": {"invocation_params": {"model_name": "fir"}}}, "fir", "fir"),
        (
            {
                "outputs": {"output": "x"},
                "extra": {"metadata": {"ls_model_name": "openai/fir", "ls_provider": "openai"}},
            },
            "fir",
            "fir",
        ),
        (
            {"outputs": {"output": "x"}, "extra": {"metadata": {"ls_model_name": "openai/fir"}}},
            "openai/fir",
            "openai/fir",
        ),
    ],
)
def test_names_of_models(fields, model, requested):
    call = only_call(**fields)
    assert (call.model, call.requested_model) == (model, requested)


@pytest.mark.parametrize(
    "inputs",
    [
        {"messages": [{"role": "user", "content": "Hi"}], "model": "cedar"},
        {"messages": [{"type": "human", "content": "Hi"}]},
        {"prompts": ["Hi"]},
        {"prompt": "Hi"},
        {"input": "Hi"},
    ],
)
def test_shapes_of_inputs(inputs):
    assert only_call(inputs=inputs).messages == (Message("user", "Hi"),)


@pytest.mark.parametrize(
    ("outputs", "texts", "flags"),
    [
        ({"output": {"role": "assistant", "content": "a"}}, ("a",), set()),
        ({"role": "assistant", "content": "a"}, ("a",), set()),
        ({"generations": [[{"text": one, "generation_info": None} for one in "ab"]]}, ("a", "b"), set()),
        ({"generations": [[{"text": "a", "generation_info": {"finish_reason": "length"}}]]}, ("a",), {"truncated"}),
        (
            {
                "generations": [
                    [
                        {
                            "text": "a",
                            "message": message("AIMessage", "a", response_metadata={"stop_reason": "max_tokens"}),
                        }
                    ]
                ]
            },
            ("a",),
            {"truncated"},
        ),
        (
            {"content": [{"type": "tool_use", "name": "find", "input": {}}], "role": "assistant"},
            ("find({})",),
            {"tool call"},
        ),
        (None, (), {"no content"}),
        ({}, (), {"no content"}),
    ],
)
def test_shapes_of_outputs(outputs, texts, flags):
    call = only_call(outputs=outputs)
    assert (call.outputs, call.flags) == (texts, flags)


def test_runs_whose_texts_are_elsewhere_have_no_content():
    call = only_call(inputs=None, outputs=None, inputs_s3_urls={"ROOT": {"presigned_url": "https://x"}})
    assert (call.messages, call.flags) == ((), {"no content"})


def test_failed_and_unfinished_runs():
    assert only_call(error="timeout", outputs=None).flags == {"error"}
    assert only_call(status="error", outputs=None).flags == {"error"}
    failed = only_call(error="BadRequestError: refused", outputs={"output": None})  # as the client posts it
    assert (failed.outputs, failed.flags) == ((), {"error"})
    calls, _, remarks = read_values(LangSmith(), [run(status="pending", outputs=None)])
    assert calls == []
    assert remarks == {"runs have not ended": 1}


def test_chains_tools_and_embeddings_are_no_calls():
    calls, _, remarks = read_values(LangSmith(), [root(), run(run_type="tool"), run(run_type="embedding")])
    assert calls == []
    assert remarks == {"runs are not calls of a model": 3}


def test_repeated_runs_count_once():
    calls, _, remarks = read_values(LangSmith(), [run(outputs=None), run(), run()])
    assert [call.outputs for call in calls] == [("In Graz.",)]
    assert remarks == {"runs are in the files more than once": 2}
    inner = run(id="inner", parent_run_id=RUN)
    assert [call.call_id for call in read_values(LangSmith(), [run(), inner])[0]] == ["inner"]


def test_feedback_of_a_call():
    expected = Score("x.jsonl line 1", "thumb", 1.0, "human", "call", RUN, "u-9", 1790928720.0)
    for values in ((feedback(), run()), ({"data": [feedback()]}, run())):
        assert LangSmith().recognizes(values[0])
        assert scores_of(*values) == [expected]


@pytest.mark.parametrize(
    ("kind", "author"),
    [("app", "human"), ("model", "judge"), ("auto_eval", "judge"), ("api", "unknown"), (None, "unknown")],
)
def test_authors_of_feedback(kind, author):
    assert scores_of(run(), feedback(feedback_source={"type": kind}))[0].author == author
    assert scores_of(run(), feedback(feedback_source=json.dumps({"type": kind})))[0].author == author


@pytest.mark.parametrize(
    ("fields", "value"),
    [({"score": True}, True), ({"score": None, "value": "good"}, "good"), ({"score": 0, "value": "bad"}, 0.0)],
)
def test_values_of_feedback(fields, value):
    assert scores_of(run(), feedback(**fields))[0].value == value


@pytest.mark.parametrize(
    "fields",
    [
        {"score": None},
        {"score": None, "value": {"a": 1}},
        {"score": float("nan")},
        {"key": None},
        {"error": True},
        {"comparative_experiment_id": "e-1"},
        {"run_id": None, "trace_id": None},
    ],
)
def test_feedback_that_is_no_score_is_remarked(fields):
    _, scores, remarks = read_values(LangSmith(), [run(), feedback(**fields)])
    assert scores == []
    assert list(remarks.values()) == [1]


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ({"run_id": ROOT, "trace_id": None}, ("trace", ROOT)),
        ({"run_id": None}, ("trace", ROOT)),
        ({"run_id": "elsewhere"}, ("call", "elsewhere")),
        ({"run_id": "chain"}, ("trace", ROOT)),
        ({"run_id": "other", "trace_id": "other"}, ("trace", "other")),
    ],
)
def test_feedback_of_a_run_around_the_calls_judges_the_trace(fields, target):
    values = (root(), run(id="chain", run_type="chain"), run(), feedback(**fields))
    assert [(one.target, one.target_id) for one in scores_of(*values)] == [target]


def test_feedback_of_a_tool_is_remarked():
    _, scores, remarks = read_values(LangSmith(), [run(), run(id="t", run_type="tool"), feedback(run_id="t")])
    assert scores == []
    assert remarks["scores judge a tool or a retrieval, not an answer"] == 1


def test_the_same_row_of_feedback_counts_once_and_the_last_one_is_valid():
    found = scores_of(run(), feedback(score=0), feedback(score=1), feedback(id="f-2", score=0))
    assert [one.value for one in found] == [1.0, 0.0]


def test_averages_of_feedback_are_no_scores():
    averages = run(feedback_stats={"thumb": {"n": 3, "avg": 0.7}})
    _, scores, remarks = read_values(LangSmith(), [averages])
    assert scores == []
    assert remarks == {"runs have averages of their feedback only; add the rows of feedback to use it": 1}
    assert read_values(LangSmith(), [averages, feedback()])[2] == {}


def test_other_records_are_remarked_and_not_recognized():
    _, _, remarks = read_values(LangSmith(), [{"id": 1}, {"runs": [{"a": 1}]}])
    assert remarks == {"records are neither runs nor feedback of LangSmith": 2}
    for path in SAMPLES.glob("*.jsonl"):
        assert not LangSmith().recognizes(json.loads(path.read_text(encoding="utf-8").splitlines()[0])), path.name
