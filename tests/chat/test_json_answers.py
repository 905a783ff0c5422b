"""Answers in JSON stay as they are: only messages and responses of providers are unwrapped."""

from __future__ import annotations

import json

import pytest

from deconfound.chat.answers import answers_from
from deconfound.chat.conversation import messages_from
from deconfound.chat.message_content import canonical_json

JSON_ANSWERS = [
    {"type": "approve", "content": "Yes"},
    {"type": "reject", "content": "Yes"},
    {"choices": ["red", "blue"]},
    {"choices": [{"color": "red"}, {"color": "blue"}]},
    {"candidates": ["Ana", "Ben"]},
    {"text": "Hallo", "language": "de"},
    {"content": "Hello", "confidence": 0.5},
    {"output": "A", "confidence": 0.5},
    {"output": ["a", "b"]},
    {"parts": ["wheel", "door"]},
    {"messages": ["one", "two"]},
    {"message": {"greeting": "hi"}},
]


@pytest.mark.parametrize("value", JSON_ANSWERS)
def test_an_answer_in_json_is_one_answer_with_all_of_its_keys(value):
    assert [answer.text for answer in answers_from(value)] == [canonical_json(value)]
    text = json.dumps(value)
    assert [answer.text for answer in answers_from(text)] == [text]


@pytest.mark.parametrize(
    "value",
    [
        {"role": "assistant", "content": "Yes"},
        {"type": "message", "content": [{"type": "output_text", "text": "Yes"}]},
        {"type": "ai", "content": "Yes"},
        {"content": "Yes"},
        {"text": "Yes"},
        {"output": "Yes"},
        {"choices": [{"text": "Yes", "index": 0, "logprobs": None}]},
        {"choices": [{"message": {"content": "Yes", "vendor": 1}, "vendor": 2}]},
        {"candidates": [{"content": {"parts": [{"text": "Yes"}]}}]},
        {"generations": [[{"text": "Yes", "generation_info": {}}]]},
        {"parts": [{"text": "Yes"}]},
    ],
)
def test_messages_and_responses_are_unwrapped(value):
    assert [answer.text for answer in answers_from(value)] == ["Yes"]


def test_a_question_in_json_stays_as_it_is():
    question = {"type": "approve", "content": "Yes"}
    for value in (question, json.dumps(question)):
        (message,) = messages_from(value)
        assert (message.role, json.loads(message.text)) == ("user", question)
