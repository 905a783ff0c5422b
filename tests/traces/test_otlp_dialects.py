"""How each family of instrumentations names the parts of a call."""

from __future__ import annotations

import json

import pytest

from deconfound.traces.call import Message
from deconfound.traces.otlp_reader import Otlp
from tests.support.json_damage import read_all
from tests.support.otlp_documents import SPAN, TRACE, event_of, logs_document, span_of, spans_document

SYSTEM, QUESTION, ANSWER = "Be brief.", "Where is my parcel?", "In Graz."
EXPECTED = (Message("system", SYSTEM), Message("user", QUESTION))
OPENAI = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
PARTS = [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]
SAID = [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}]
MODELS = {"gen_ai.request.model": "cedar-2", "gen_ai.response.model": "cedar-2-0901", "gen_ai.response.id": "r-77"}
GENAI = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    **MODELS,
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": SYSTEM}]),
    "gen_ai.input.messages": json.dumps(PARTS),
    "gen_ai.output.messages": json.dumps(SAID),
}
EVENTS = [
    {"event.name": "gen_ai.system.message", "content": SYSTEM, "role": "system"},
    {"event.name": "gen_ai.user.message", "content": QUESTION, "role": "user"},
    {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": ANSWER}},
]
OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "cedar-2-0901",
    "llm.request.model_name": "cedar-2",
    "llm.provider": "openai",
    "output.value": json.dumps({"id": "r-77", "choices": []}),
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.contents.0.message_content.type": "text",
    "llm.input_messages.0.message.contents.0.message_content.text": SYSTEM,
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.content": QUESTION,
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": ANSWER,
}
DIALECTS = {
    "GenAI": GENAI,
    "GenAI without an operation": {key: one for key, one in GENAI.items() if key != "gen_ai.operation.name"},
    "events in an attribute": {"gen_ai.operation.name": "chat", **MODELS, "events": json.dumps(EVENTS)},
    "OpenInference": OPENINFERENCE,
    "OpenInference, whole request": {
        "openinference.span.kind": "LLM",
        "llm.model_name": "cedar-2-0901",
        "input.value": json.dumps({"model": "cedar-2", "messages": OPENAI}),
        "output.value": json.dumps({"id": "r-77", "choices": [{"message": {"content": ANSWER}}]}),
    },
    "older OpenLLMetry": {
        "llm.request.type": "chat",
        **MODELS,
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": SYSTEM,
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": json.dumps([{"type": "text", "text": QUESTION}]),
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": ANSWER,
        "gen_ai.completion.0.finish_reason": "stop",
    },
    "Langfuse": {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "cedar-2-0901",
        "langfuse.observation.input": json.dumps(OPENAI),
        "langfuse.observation.output": json.dumps({"role": "assistant", "content": ANSWER}),
    },
    "Vercel": {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.id": "cedar-2",
        "ai.model.provider": "openai.chat",
        "ai.response.model": "cedar-2-0901",
        "ai.response.id": "r-77",
        "ai.prompt.messages": json.dumps(
            [{"role": "system", "content": SYSTEM}, {"role": "user", "content": [{"type": "text", "text": QUESTION}]}]
        ),
        "ai.response.text": ANSWER,
        "ai.response.finishReason": "stop",
        "gen_ai.system": "openai.chat",
        **MODELS,
    },
}


def only_call(attributes, *others, **fields):
    calls, _, _ = read_all(Otlp(), [spans_document(span_of(attributes, **fields)), *others])
    assert len(calls) == 1
    return calls[0]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_call_has_the_same_text_in_every_dialect(dialect):
    call = only_call(DIALECTS[dialect])
    assert (call.messages, call.outputs, call.model) == (EXPECTED, (ANSWER,), "cedar-2-0901")
    assert call.flags == frozenset()
    if dialect != "Langfuse":
        assert (call.requested_model, call.response_id) == ("cedar-2", "r-77")


def test_events_inside_a_span_have_its_messages():
    events = [
        {"name": "gen_ai.user.message", "timeUnixNano": "2", **attributes_of({"content": QUESTION})},
        {"name": "gen_ai.system.message", "timeUnixNano": "1", **attributes_of({"content": SYSTEM})},
        {"name": "gen_ai.choice", "timeUnixNano": "3", **attributes_of({"message": {"content": ANSWER}})},
    ]
    call = only_call({"gen_ai.operation.name": "chat", **MODELS}, events=events)
    assert (call.messages, call.outputs) == (EXPECTED, (ANSWER,))


def attributes_of(content):
    return {"attributes": [{"key": "gen_ai.event.content", "value": {"stringValue": json.dumps(content)}}]}


def test_events_of_the_first_conventions_have_whole_conversations():
    events = [
        {
            "name": "gen_ai.content.prompt",
            "attributes": [{"key": "gen_ai.prompt", "value": {"stringValue": json.dumps(OPENAI)}}],
        },
        {
            "name": "gen_ai.content.completion",
            "attributes": [{"key": "gen_ai.completion", "value": {"stringValue": ANSWER}}],
        },
    ]
    call = only_call({"gen_ai.operation.name": "chat", **MODELS}, events=events)
    assert (call.messages, call.outputs) == (EXPECTED, (ANSWER,))


@pytest.mark.parametrize(
    "attributes",
    [
        {**GENAI, "gen_ai.operation.name": "invoke_agent"},
        {**GENAI, "gen_ai.operation.name": "embeddings"},
        {**GENAI, "gen_ai.operation.name": "execute_tool"},
        {**OPENINFERENCE, "openinference.span.kind": "CHAIN"},
        {**OPENINFERENCE, "openinference.span.kind": "EMBEDDING"},
        {**DIALECTS["older OpenLLMetry"], "llm.request.type": "embedding"},
        {**DIALECTS["Vercel"], "ai.operationId": "ai.generateText"},
        {**DIALECTS["Vercel"], "ai.operationId": "ai.embed.doEmbed"},
        {**DIALECTS["Langfuse"], "langfuse.observation.type": "span"},
        {"traceloop.span.kind": "workflow", "traceloop.entity.input": "{}"},
        {"http.method": "POST"},
    ],
)
def test_spans_around_calls_and_steps_are_no_calls(attributes):
    calls, _, remarks = read_all(Otlp(), [spans_document(span_of(attributes))])
    assert calls == []
    assert remarks.counts == {"spans are not calls of a model": 1}


def test_an_agent_and_the_call_inside_it_count_once():
    agent = span_of({**GENAI, "gen_ai.operation.name": "invoke_agent"}, spanId="0a")
    call = span_of(GENAI, parentSpanId="0a")
    assert len(read_all(Otlp(), [spans_document(agent, call)])[0]) == 1


def test_two_instrumentations_of_one_call_count_once():
    """A framework and a client may both record the call; the inner span counts, unless only the outer one has text."""
    outer, inner = span_of(OPENINFERENCE, spanId="0A"), span_of(GENAI, spanId="0b", parentSpanId="0a")
    for order in ([outer, inner], [inner, outer]):
        calls, _, remarks = read_all(Otlp(), [spans_document(*order)])
        assert [call.call_id for call in calls] == ["0b"]
        assert remarks.counts == {"calls are recorded twice, one inside the other": 1}
    empty = span_of({"gen_ai.operation.name": "chat", **MODELS}, spanId="0b", parentSpanId="0a")
    assert [call.call_id for call in read_all(Otlp(), [spans_document(outer, empty)])[0]] == ["0a"]


def test_a_call_inside_a_tool_is_another_call():
    outer = span_of(GENAI, spanId="0a")
    tool = span_of({"gen_ai.operation.name": "execute_tool"}, spanId="0b", parentSpanId="0a")
    inner = span_of(GENAI, spanId="0c", parentSpanId="0b")
    assert len(read_all(Otlp(), [spans_document(outer, tool, inner)])[0]) == 2


def test_a_span_that_is_its_own_parent_ends():
    spans = [span_of(GENAI, spanId="0a", parentSpanId="0b"), span_of(GENAI, spanId="0b", parentSpanId="0a")]
    assert read_all(Otlp(), [spans_document(*spans)])[2].counts


def test_calls_of_a_judge_are_internal():
    judge = span_of({"openinference.span.kind": "EVALUATOR"}, spanId="0a")
    chain = span_of({"openinference.span.kind": "CHAIN"}, spanId="0b", parentSpanId="0a")
    call = span_of(OPENINFERENCE, parentSpanId="0b")
    calls, _, _ = read_all(Otlp(), [spans_document(call, chain, judge)])
    assert calls[0].flags == {"internal"}


@pytest.mark.parametrize(
    ("attributes", "hidden"),
    [
        ({}, "no content"),
        ({"gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text"}]}])}, "no content"),
        ({"gen_ai.input.messages": json.dumps([{"role": "user"}])}, "no content"),
        ({"events": json.dumps([{"event.name": "gen_ai.user.message", "role": "user"}])}, "no content"),
        ({"events": json.dumps([{**EVENTS[1], "content": [{"kind": "text"}]}])}, "no content"),
    ],
)
def test_messages_whose_text_was_not_recorded_are_no_messages(attributes, hidden):
    call = only_call(
        {"gen_ai.operation.name": "chat", **MODELS, **attributes, "gen_ai.output.messages": json.dumps(SAID)}
    )
    assert call.messages == ()
    assert call.flags == {hidden}


def test_events_without_text_are_no_content():
    """The older instrumentation writes an event per message in any case; its switch adds the text."""
    events = [
        event_of("gen_ai.user.message", {}, None),
        event_of("gen_ai.choice", {}, {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}}),
    ]
    call = only_call({"gen_ai.operation.name": "chat", **MODELS}, logs_document(*events))
    assert (call.messages, call.outputs, call.flags) == ((), (), {"no content"})


def test_a_conversation_without_the_text_of_the_user_is_no_content():
    """Calls of tools are recorded in any case, and would look like the whole conversation."""
    events = [
        event_of("gen_ai.user.message", {}, None),
        event_of("gen_ai.assistant.message", {}, {"tool_calls": [{"function": {"name": "find"}}]}),
        event_of("gen_ai.choice", {}, {"message": {"content": ANSWER}}),
    ]
    call = only_call({"gen_ai.operation.name": "chat", **MODELS}, logs_document(*events))
    assert (call.messages, call.flags) == ((), {"no content"})


def test_the_copy_of_a_span_that_has_content_counts():
    bare, complete = span_of({"gen_ai.operation.name": "chat", **MODELS}), span_of(GENAI)
    for spans in ([bare, complete], [complete, bare]):
        calls, _, _ = read_all(Otlp(), [spans_document(*spans)])
        assert [call.messages for call in calls] == [EXPECTED]


def test_redacted_text_is_no_content():
    hidden = {**OPENINFERENCE, "llm.input_messages.1.message.content": "__REDACTED__"}
    assert only_call(hidden).flags == {"no content"}
    assert (
        only_call(
            {"openinference.span.kind": "LLM", "input.value": "__REDACTED__", "output.value": "__REDACTED__"}
        ).outputs
        == ()
    )


def test_messages_that_were_cut_are_no_content_and_remarked():
    cut = {**GENAI, "gen_ai.input.messages": GENAI["gen_ai.input.messages"][:20]}
    calls, _, remarks = read_all(Otlp(), [spans_document(span_of(cut))])
    assert (calls[0].messages, calls[0].flags) == ((), {"no content"})
    assert list(remarks.counts) == ["spans have messages that are not valid JSON, perhaps cut at a limit of length"]


def test_a_failed_call_needs_no_answer():
    asked = {key: one for key, one in GENAI.items() if key != "gen_ai.output.messages"}
    for code in (2, "STATUS_CODE_ERROR"):
        assert only_call(asked, status={"code": code}).flags == {"error"}
    assert only_call({**asked, "error.type": "timeout"}).flags == {"error"}
    assert only_call({**DIALECTS["Langfuse"], "langfuse.observation.level": "ERROR"}).flags == {"error"}


@pytest.mark.parametrize(
    "attributes",
    [
        {**GENAI, "gen_ai.response.finish_reasons": ["length"]},
        {**GENAI, "gen_ai.output.messages": json.dumps([{**SAID[0], "finish_reason": "length"}])},
        {**OPENINFERENCE, "llm.finish_reason": "max_tokens"},
        {**DIALECTS["older OpenLLMetry"], "gen_ai.completion.0.finish_reason": "length"},
        {**DIALECTS["Vercel"], "ai.response.finishReason": "length"},
    ],
)
def test_an_answer_at_the_limit_of_its_length_is_truncated(attributes):
    assert only_call(attributes).flags == {"truncated"}


def test_every_choice_is_an_output():
    two = [SAID[0], {"role": "assistant", "parts": [{"type": "text", "content": "No idea."}]}]
    assert only_call({**GENAI, "gen_ai.output.messages": json.dumps(two)}).outputs == (ANSWER, "No idea.")


@pytest.mark.parametrize(
    "attributes",
    [
        {
            **DIALECTS["older OpenLLMetry"],
            "gen_ai.completion.0.content": None,
            "gen_ai.completion.0.tool_calls.0.name": "find",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"b":1, "a":2}',
        },
        {
            **OPENINFERENCE,
            "llm.output_messages.0.message.content": None,
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "find",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"b":1, "a":2}',
        },
        {
            **DIALECTS["Vercel"],
            "ai.response.text": None,
            "ai.response.toolCalls": json.dumps([{"toolCallId": "1", "toolName": "find", "input": {"b": 1, "a": 2}}]),
        },
    ],
)
def test_calls_of_tools_are_the_same_in_every_dialect(attributes):
    call = only_call(attributes)
    assert (call.outputs, call.flags) == (('find({"a": 2, "b": 1})',), {"tool call"})


def test_results_of_tools_in_the_ai_sdk():
    said = [
        {"role": "assistant", "content": [{"type": "tool-call", "toolName": "find", "args": {"a": 1}}]},
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolName": "find", "output": {"type": "text", "value": "x"}}],
        },
    ]
    call = only_call({**DIALECTS["Vercel"], "ai.prompt.messages": json.dumps(said)})
    assert call.messages == (Message("assistant", 'find({"a": 1})'), Message("tool", "x"))


def test_ten_messages_are_in_the_order_of_their_numbers():
    many = {f"gen_ai.prompt.{at}.content": str(at) for at in reversed(range(12))}
    call = only_call({"llm.request.type": "chat", **MODELS, **many})
    assert [message.text for message in call.messages] == list(map(str, range(12)))


def test_the_provider_is_left_out_of_a_name_only_where_the_span_names_it():
    prefixed = {"gen_ai.request.model": "openai/cedar-2", "gen_ai.response.model": "openai/cedar-2-0901"}
    call = only_call({**GENAI, **prefixed})
    assert (call.model, call.requested_model) == ("cedar-2-0901", "cedar-2")
    assert only_call({**GENAI, **prefixed, "gen_ai.provider.name": "groq"}).model == "openai/cedar-2-0901"


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
    found = read_all(Otlp(), [spans_document(other, call), spans_document(root)])[0][0]
    assert (found.conversation, found.user) == ("s-8", "u-3")
    assert found.attributes == {"tag.exp": "true", "metadata.arm": "b"}


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
        calls, _, _ = read_all(Otlp(), [value])
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
        calls, _, _ = read_all(Otlp(), values)
        assert [(call.messages, call.outputs, call.flags) for call in calls] == [(EXPECTED, (ANSWER,), frozenset())]
        assert calls[0].attributes == {"app.arm": "exp"}


def test_flags_of_details_hold_for_their_span():
    bare = span_of({"gen_ai.operation.name": "chat", **MODELS})
    said = [{"role": "assistant", "parts": [{"type": "tool_call", "name": "find", "arguments": {}}]}]
    details = event_of("gen_ai.client.inference.operation.details", {**GENAI, "gen_ai.output.messages": said})
    calls, _, _ = read_all(Otlp(), [spans_document(bare), logs_document(details)])
    assert (calls[0].outputs, calls[0].flags) == (("find({})",), {"tool call"})


def test_spans_without_ids_and_other_records_are_remarked():
    values = [spans_document(span_of(GENAI, spanId=None)), {"id": 1}, {"resourceSpans": []}]
    calls, _, remarks = read_all(Otlp(), values)
    assert calls == []
    assert remarks.counts == {"spans have no id": 1, "records are not OTLP JSON": 1}
