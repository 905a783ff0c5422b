"""The same conversation gives the same text in every shape in which it is recorded."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deconfound.chat.answers import Answer, answers_from
from deconfound.chat.conversation import Message, conversation_text, messages_from

SYSTEM, QUESTION = "Be brief.", "Where is my parcel?"
EXPECTED = (Message("system", SYSTEM), Message("user", QUESTION))
OPENAI = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
TEXT_PARTS = [
    {"role": "system", "content": [{"type": "text", "text": SYSTEM}]},
    {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
]
OTEL = [
    {"role": "system", "parts": [{"type": "text", "content": SYSTEM}]},
    {"role": "user", "parts": [{"type": "text", "content": QUESTION}]},
]
LANGCHAIN = [
    {"lc": 1, "type": "constructor", "id": ["langchain", "messages", "SystemMessage"], "kwargs": {"content": SYSTEM}},
    {"lc": 1, "type": "constructor", "id": ["langchain", "messages", "HumanMessage"], "kwargs": {"content": QUESTION}},
]

REQUESTS = {
    "messages": OPENAI,
    "content parts": TEXT_PARTS,
    "OpenTelemetry parts": OTEL,
    "whole request": {"model": "cedar", "messages": OPENAI, "temperature": 0.5, "tools": [{"name": "find"}]},
    "Anthropic": {"model": "cedar", "system": SYSTEM, "messages": OPENAI[1:], "max_tokens": 5},
    "Anthropic with parts": {"system": [{"type": "text", "text": SYSTEM}], "messages": TEXT_PARTS[1:]},
    "Responses": {"model": "cedar", "instructions": SYSTEM, "input": QUESTION},
    "Responses with items": {
        "model": "cedar",
        "instructions": SYSTEM,
        "input": [{"role": "user", "content": [{"type": "input_text", "text": QUESTION}]}],
    },
    "Gemini": {
        "model": "cedar",
        "systemInstruction": {"parts": [{"text": SYSTEM}]},
        "contents": [{"role": "user", "parts": [{"text": QUESTION}]}],
    },
    "LangChain": {"messages": [LANGCHAIN]},
    "LangChain by type": [{"type": "system", "content": SYSTEM}, {"type": "human", "content": QUESTION}],
    "developer": [{"role": "developer", "content": SYSTEM}, {"role": "human", "content": QUESTION}],
}


@pytest.mark.parametrize("shape", REQUESTS)
@pytest.mark.parametrize("encodings", [0, 1, 2])
def test_requests_of_every_shape_have_the_same_messages(shape, encodings):
    value = REQUESTS[shape]
    for _ in range(encodings):
        value = json.dumps(value)
    assert messages_from(value) == EXPECTED


ANSWER = "It left Graz on Monday."
RESPONSES = {
    "text": ANSWER,
    "message": {"role": "assistant", "content": ANSWER},
    "message with parts": {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
    "chat completion": {"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": ANSWER}}]},
    "completion": {"choices": [{"text": ANSWER, "index": 0}]},
    "Responses": {
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]},
        ]
    },
    "Anthropic": {
        "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": ANSWER}],
        "role": "assistant",
    },
    "Gemini": {"candidates": [{"content": {"parts": [{"text": ANSWER}], "role": "model"}, "finishReason": "STOP"}]},
    "OpenTelemetry": [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}],
    "LangChain": {"lc": 1, "type": "constructor", "id": ["x", "AIMessage"], "kwargs": {"content": ANSWER}},
    "LangSmith": {"generations": [[{"text": ANSWER, "message": {"kwargs": {"content": ANSWER}, "lc": 1}}]]},
    "conversation": {"messages": [*OPENAI, {"role": "assistant", "content": ANSWER}]},
    "spoken beside a tool": {
        "role": "assistant",
        "content": ANSWER,
        "tool_calls": [{"function": {"name": "find", "arguments": "{}"}}],
    },
}


@pytest.mark.parametrize("shape", RESPONSES)
@pytest.mark.parametrize("encodings", [0, 1])
def test_responses_of_every_shape_have_the_same_answer(shape, encodings):
    value = RESPONSES[shape]
    if encodings and not isinstance(value, str):
        value = json.dumps(value)
    assert answers_from(value) == (Answer(ANSWER),)


def test_a_refusal_is_what_the_model_said():
    assert answers_from({"role": "assistant", "content": None, "refusal": "I cannot."}) == (Answer("I cannot."),)


def test_every_choice_is_an_answer():
    choices = [{"message": {"content": "a"}}, {"message": {"content": "b"}, "finish_reason": "length"}]
    assert answers_from({"choices": choices}) == (Answer("a"), Answer("b", truncated=True))


@pytest.mark.parametrize(
    "value",
    [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"type": "function", "function": {"name": "find", "arguments": '{"b":1, "a":2}'}}],
        },
        {"role": "assistant", "parts": [{"type": "tool_call", "name": "find", "arguments": {"b": 1, "a": 2}}]},
        {
            "content": [{"type": "tool_use", "id": "x", "name": "find", "input": {"a": 2, "b": 1}}],
            "stop_reason": "tool_use",
        },
        {"output": [{"type": "function_call", "name": "find", "arguments": '{"a": 2, "b": 1}'}]},
        {
            "candidates": [
                {"content": {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"a": 2, "b": 1}}}]}}
            ]
        },
        {"role": "assistant", "tool_calls": [{"function": "find", "arguments": {"a": 2, "b": 1}}]},
    ],
)
def test_an_answer_that_only_calls_tools_says_so(value):
    assert answers_from(value) == (Answer('find({"a": 2, "b": 1})', tool_call_only=True),)


def test_output_that_is_json_itself_stays_as_it_was_written():
    """A model that was asked for JSON answers with JSON; reformatting it would change what users saw."""
    for text in ('{"city": "Graz",  "day": 1}', "[1, 2]", '{"name": "x", "arguments": {}}', '"quoted"'):
        assert answers_from(text) == (Answer(text),)
        assert messages_from(text) == (Message("user", text),)


def test_images_files_and_results_of_tools_are_marked():
    value = [
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "data:..."}}, {"type": "text", "text": "?"}],
        },
        {"role": "assistant", "tool_calls": [{"function": {"name": "look", "arguments": "{"}}], "content": ""},
        {"role": "tool", "content": "a cat", "tool_call_id": "1"},
    ]
    texts = ["[image]\n?", 'look("{")', "a cat"]
    assert messages_from(value) == tuple(map(Message, ("user", "assistant", "tool"), texts))


def test_a_single_question_is_its_own_text_and_other_conversations_name_the_roles():
    assert conversation_text(messages_from(QUESTION)) == QUESTION
    assert conversation_text(messages_from(OPENAI)) == f"system: {SYSTEM}\n\nuser: {QUESTION}"


def test_arguments_of_a_function_are_what_the_user_asked():
    assert messages_from({"q": QUESTION}) == (Message("user", QUESTION),)
    assert messages_from({"b": 1, "a": [2]}) == (Message("user", '{"a": [2], "b": 1}'),)


@pytest.mark.parametrize("value", [None, "", {}, []])
def test_nothing_is_no_message(value):
    assert messages_from(value) == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "parts",
                    "messages",
                    "choices",
                    "message",
                    "output",
                    "type",
                    "text",
                    "tool_calls",
                    "lc",
                    "kwargs",
                    "input",
                    "model",
                    "function",
                    "id",
                ]
            ),
            inner,
        )
    ),
)


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_any_json_gives_texts(value):
    assert all(isinstance(message.text, str) for message in messages_from(value))
    assert all(isinstance(answer.text, str) for answer in answers_from(value))


def test_deep_nesting_ends():
    value = "x"
    for _ in range(900):
        value = {"role": "user", "content": [value]}
    assert len(messages_from(value)) == 1
    assert len(answers_from(value)) == 1


@pytest.mark.parametrize(
    ("part", "mark"),
    [
        ({"type": "blob", "mime_type": "image/png", "modality": "image", "content": "iVBORw0KGgo="}, "[image]"),
        ({"type": "uri", "modality": "audio", "uri": "https://parcels.example/call.mp3"}, "[audio]"),
        ({"type": "file", "modality": "video", "file_id": "f-1"}, "[file]"),
        ({"type": "blob", "modality": ["image"], "content": ""}, "[file]"),
    ],
)
def test_the_mark_of_a_part_is_its_modality(part, mark):
    assert messages_from([{"role": "user", "parts": [part]}]) == (Message("user", mark),)
