"""How each family of instrumentations names the parts of a call."""

from __future__ import annotations

import json

import pytest

from deconfound.chat.conversation import Message
from deconfound.traces.otlp_reader import Otlp
from tests.support.otlp_dialects import (
    ANSWER,
    DIALECTS,
    EVENTS,
    EXPECTED,
    GENAI,
    MODELS,
    OPENAI,
    OPENINFERENCE,
    QUESTION,
    SAID,
    SYSTEM,
    only_call,
)
from tests.support.otlp_documents import event_of, logs_document, span_of, spans_document
from tests.support.trace_records import read_values


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
    calls, _, remarks = read_values(Otlp(), [spans_document(span_of(attributes))])
    assert calls == []
    assert remarks == {"spans are not calls of a model": 1}


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


def test_an_empty_answer_of_the_older_instrumentation_is_an_answer():
    """It leaves an empty text out, as it does with every text if its switch is off; the user's text tells which."""
    events = [
        event_of("gen_ai.user.message", {"gen_ai.system": "openai"}, {"content": QUESTION}, timeUnixNano="1"),
        event_of("gen_ai.assistant.message", {"gen_ai.system": "openai"}, None, timeUnixNano="2"),
        event_of("gen_ai.user.message", {"gen_ai.system": "openai"}, {"content": "Hello?"}, timeUnixNano="3"),
        event_of("gen_ai.choice", {}, {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"}}),
    ]
    call = only_call({"gen_ai.operation.name": "chat", **MODELS}, logs_document(*events))
    assert call.messages == (Message("user", QUESTION), Message("assistant", ""), Message("user", "Hello?"))
    assert (call.outputs, call.flags) == (("",), frozenset())


def test_choices_without_text_and_without_messages_are_no_content():
    events = [event_of("gen_ai.choice", {}, {"index": 0, "message": {"role": "assistant"}})]
    call = only_call({"gen_ai.operation.name": "chat", **MODELS}, logs_document(*events))
    assert (call.messages, call.outputs, call.flags) == ((), (), {"no content"})


def test_older_openllmetry_leaves_empty_texts_out():
    attributes = {
        "llm.request.type": "chat",
        **MODELS,
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": QUESTION,
        "gen_ai.prompt.1.role": "assistant",
        "gen_ai.prompt.2.role": "user",
        "gen_ai.prompt.2.content": "Hello?",
        "gen_ai.completion.0.finish_reason": "stop",
        "gen_ai.completion.0.role": "assistant",
    }
    call = only_call(attributes)
    assert call.messages == (Message("user", QUESTION), Message("assistant", ""), Message("user", "Hello?"))
    assert (call.outputs, call.flags) == (("",), frozenset())
    refused = only_call({**attributes, "gen_ai.completion.0.refusal": "No."})
    assert refused.outputs == ("No.",)


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
    calls, _, remarks = read_values(Otlp(), [spans_document(span_of(cut))])
    assert (calls[0].messages, calls[0].flags) == ((), {"no content"})
    assert list(remarks) == ["spans have messages that are not valid JSON, perhaps cut at a limit of length"]


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


def test_vercel_marks_images_and_records_empty_answers():
    """As version 5 writes an image, and version 7 an empty answer and the context of the application."""
    picture = {"type": "file", "mediaType": "image/*", "data": "https://parcels.example/box.png"}
    asked = [{"role": "user", "content": [{"type": "text", "text": QUESTION}, picture]}]
    attributes = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.id": "cedar-2",
        "ai.prompt.messages": json.dumps(asked),
        "ai.settings.context.userId": "u-3",
        "ai.settings.context.sessionId": "s-8",
        "ai.settings.context.arm": "test",
    }
    call = only_call({**attributes, "ai.response.text": ""})
    assert call.messages == (Message("user", f"{QUESTION}\n[image]"),)
    assert (call.outputs, call.flags) == (("",), frozenset())
    assert (call.user, call.conversation, call.attributes["metadata.arm"]) == ("u-3", "s-8", "test")
    assert only_call(attributes).flags == {"no content"}
