"""Which spans of OTLP are calls, and what their events and the other spans of the trace add to them."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from deconfound.chat.conversation import Message
from deconfound.traces.otlp_reader import Otlp
from deconfound.traces.reader import Record, Remarks
from tests.support.otlp_dialects import (
    ANSWER,
    DIALECTS,
    EXPECTED,
    GENAI,
    MODELS,
    OPENINFERENCE,
    PARTS,
    QUESTION,
    only_call,
)
from tests.support.otlp_documents import SPAN, TRACE, event_of, logs_document, span_of, spans_document
from tests.support.trace_records import read_values


def test_an_agent_and_the_call_inside_it_count_once():
    agent = span_of({**GENAI, "gen_ai.operation.name": "invoke_agent"}, spanId="0a")
    call = span_of(GENAI, parentSpanId="0a")
    assert len(read_values(Otlp(), [spans_document(agent, call)])[0]) == 1


def test_two_instrumentations_of_one_call_count_once():
    """A framework and a client may both record the call; the inner span counts, unless only the outer one has text."""
    outer, inner = span_of(OPENINFERENCE, spanId="0A"), span_of(GENAI, spanId="0b", parentSpanId="0a")
    for order in ([outer, inner], [inner, outer]):
        calls, _, remarks = read_values(Otlp(), [spans_document(*order)])
        assert [call.call_id for call in calls] == ["0b"]
        assert remarks == {"calls are recorded twice, one inside the other": 1}
    empty = span_of({"gen_ai.operation.name": "chat", **MODELS}, spanId="0b", parentSpanId="0a")
    assert [call.call_id for call in read_values(Otlp(), [spans_document(outer, empty)])[0]] == ["0a"]


def test_a_call_inside_a_tool_is_another_call():
    outer = span_of(GENAI, spanId="0a")
    tool = span_of({"gen_ai.operation.name": "execute_tool"}, spanId="0b", parentSpanId="0a")
    inner = span_of(GENAI, spanId="0c", parentSpanId="0b")
    assert len(read_values(Otlp(), [spans_document(outer, tool, inner)])[0]) == 2


def test_a_span_that_is_its_own_parent_ends():
    spans = [span_of(GENAI, spanId="0a", parentSpanId="0b"), span_of(GENAI, spanId="0b", parentSpanId="0a")]
    assert read_values(Otlp(), [spans_document(*spans)])[2]


def test_calls_of_a_judge_are_internal():
    judge = span_of({"openinference.span.kind": "EVALUATOR"}, spanId="0a")
    chain = span_of({"openinference.span.kind": "CHAIN"}, spanId="0b", parentSpanId="0a")
    call = span_of(OPENINFERENCE, parentSpanId="0b")
    calls, _, _ = read_values(Otlp(), [spans_document(call, chain, judge)])
    assert calls[0].flags == {"internal"}


def test_the_copy_of_a_span_that_has_content_counts():
    bare, complete = span_of({"gen_ai.operation.name": "chat", **MODELS}), span_of(GENAI)
    for spans in ([bare, complete], [complete, bare]):
        calls, _, _ = read_values(Otlp(), [spans_document(*spans)])
        assert [call.messages for call in calls] == [EXPECTED]


def test_attributes_of_the_user_tags_and_metadata():
    call = only_call(
        {**GENAI, "app.propensity": 0.25, "feature_flag.key": "model-test", "user.plan": "pro", "retry": False}
    )
    assert call.attributes == {
        "app.propensity": "0.25",
        "feature_flag.key": "model-test",
        "user.plan": "pro",
        "retry": "false",
    }
    nested = only_call({**OPENINFERENCE, "metadata": json.dumps({"arm": {"name": "exp"}}), "tag.tags": ["a", "b"]})
    assert nested.attributes == {"metadata.arm.name": "exp", "tag.a": "true", "tag.b": "true"}
    associated = only_call({**GENAI, "traceloop.association.properties.session_id": "s-1"})
    assert (associated.conversation, associated.attributes) == ("s-1", {"metadata.session_id": "s-1"})
    told = only_call({**DIALECTS["Vercel"], "ai.telemetry.metadata.userId": "u-1", "ai.telemetry.metadata.arm": "b"})
    assert (told.user, told.attributes["metadata.arm"]) == ("u-1", "b")


@pytest.mark.parametrize("key", ["gen_ai.conversation.id", "session.id", "langfuse.session.id"])
def test_conversations_of_a_span(key):
    assert only_call({**GENAI, key: "c-5"}).conversation == "c-5"


@pytest.mark.parametrize("key", ["user.id", "enduser.id", "gen_ai.user"])
def test_users_of_a_span(key):
    assert only_call({**GENAI, key: "u-3"}).user == "u-3"


def test_what_another_span_says_about_the_trace_holds_for_its_calls():
    """Langfuse writes the session, the user and the tags of a trace to any one of its spans."""
    root = span_of(
        {
            "langfuse.observation.type": "span",
            "session.id": "s-8",
            "user.id": "u-3",
            "langfuse.trace.tags": ["exp"],
            "langfuse.trace.metadata.arm": "b",
        },
        spanId="0a",
    )
    other = span_of({"session.id": "s-9"}, traceId="ff" * 16, spanId="0c")
    call = span_of(DIALECTS["Langfuse"], parentSpanId="0a")
    found = read_values(Otlp(), [spans_document(other, call), spans_document(root)])[0][0]
    assert (found.conversation, found.user) == ("s-8", "u-3")
    assert found.attributes == {"tag.exp": "true", "metadata.arm": "b"}


def test_tags_alone_that_another_span_states_hold_for_the_calls_of_its_trace():
    root = span_of({"langfuse.observation.type": "span", "langfuse.trace.metadata": '{"arm": "test"}'}, spanId="0a")
    calls, _, _ = read_values(Otlp(), [spans_document(root, span_of(GENAI))])
    assert calls[0].attributes["metadata.arm"] == "test"


def test_names_of_prompts_in_langfuse_are_attributes():
    call = only_call(
        {
            **DIALECTS["Langfuse"],
            "langfuse.observation.prompt.name": "support",
            "langfuse.observation.prompt.version": 4,
            "langfuse.observation.metadata.arm": json.dumps({"p": 0.5}),
        }
    )
    assert call.attributes == {"prompt.name": "support", "prompt.version": "4", "metadata.arm.p": "0.5"}


def snake(value):
    if isinstance(value, list):
        return [snake(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        "".join(f"_{one.lower()}" if one.isupper() else one for one in key): snake(one) for key, one in value.items()
    }


def test_snake_case_pages_and_single_spans_are_read_too():
    document = spans_document(span_of(GENAI, spanId="A1B2"))
    page = {"data": [snake(span_of(GENAI, spanId="A1B2"))], "next_cursor": None}
    for value in (document, snake(document), page, page["data"][0]):
        assert Otlp().recognizes(value)
        calls, _, _ = read_values(Otlp(), [value])
        assert [(call.call_id, call.trace_id, call.messages, call.time) for call in calls] == [
            ("a1b2", TRACE, EXPECTED, 1790000000.0)
        ]


def test_ids_join_in_any_case_and_events_name_themselves_in_an_attribute():
    bare = {"gen_ai.operation.name": "chat", **MODELS}
    older = event_of("", {"event.name": "gen_ai.user.message"}, {"content": QUESTION}, spanId=SPAN.upper())
    choice = event_of("gen_ai.choice", {}, {"message": {"content": ANSWER}}, traceId=TRACE.upper())
    call = only_call(bare, logs_document(older, choice))
    assert (call.messages, call.outputs) == ((Message("user", QUESTION),), (ANSWER,))


def test_a_span_without_content_takes_that_of_its_details():
    bare = span_of({"gen_ai.operation.name": "chat", **MODELS, "app.arm": "exp"})
    details = event_of("gen_ai.client.inference.operation.details", {**GENAI, "gen_ai.input.messages": PARTS})
    for values in ([spans_document(bare), logs_document(details)], [logs_document(details), spans_document(bare)]):
        calls, _, _ = read_values(Otlp(), values)
        assert [(call.messages, call.outputs, call.flags) for call in calls] == [(EXPECTED, (ANSWER,), frozenset())]
        assert calls[0].attributes == {"app.arm": "exp"}


def test_flags_of_details_hold_for_their_span():
    bare = span_of({"gen_ai.operation.name": "chat", **MODELS})
    said = [{"role": "assistant", "parts": [{"type": "tool_call", "name": "find", "arguments": {}}]}]
    details = event_of("gen_ai.client.inference.operation.details", {**GENAI, "gen_ai.output.messages": said})
    calls, _, _ = read_values(Otlp(), [spans_document(bare), logs_document(details)])
    assert (calls[0].outputs, calls[0].flags) == (("find({})",), {"tool call"})


def test_spans_without_ids_and_other_records_are_remarked():
    values = [spans_document(span_of(GENAI, spanId=None)), {"id": 1}, {"resourceSpans": []}]
    calls, _, remarks = read_values(Otlp(), values)
    assert calls == []
    assert remarks == {"spans have no id": 1, "records are not OTLP JSON": 1}


def arm_of(*values):
    """The attribute "arm" of a call that has these values for it."""
    span = span_of(GENAI)
    pairs = [{"key": "arm", "value": value} for value in values]
    calls, _, _ = read_values(Otlp(), [spans_document({**span, "attributes": [*span["attributes"], *pairs]})])
    return calls[0].attributes.get("arm")


@pytest.mark.parametrize(
    ("last", "expected"), [({"stringValue": "b"}, "b"), ({"intValue": "7"}, "7"), ({}, None), (None, None)]
)
def test_of_a_repeated_attribute_the_last_counts_even_if_it_is_empty(last, expected):
    assert arm_of({"stringValue": "a"}, last) == expected


def test_a_value_of_two_types_is_a_list_before_it_is_a_text():
    assert arm_of({"stringValue": "a", "arrayValue": {"values": [{"stringValue": "b"}]}}) == '["b"]'


def test_texts_of_calls_are_not_held_in_memory():
    """200 calls of 100 kB each would need 20 MB."""

    def records():
        for number in range(200):
            messages = json.dumps([{"role": "user", "parts": [{"type": "text", "content": f"{number} " * 25_000}]}])
            attributes = {
                "gen_ai.operation.name": "chat",
                "gen_ai.response.model": "oak",
                "gen_ai.input.messages": messages,
                "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "x"}]),
            }
            value = spans_document(span_of(attributes, spanId=f"{number:016x}"))
            yield Record(value, f"line {number}", Path("x.jsonl"))

    tracemalloc.start()
    lengths = [len(call.messages[0].text) for call in Otlp().read(records(), Remarks())]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(lengths) == 200
    assert min(lengths) >= 50_000
    assert peak < 5_000_000
