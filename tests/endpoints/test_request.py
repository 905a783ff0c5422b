"""The key of a reply covers everything that can change it, and nothing else; bodies are what the interface expects."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from deconfound.endpoints.chat_body import NotReplayableError, chat_body, fitting_messages
from deconfound.endpoints.chat_model import ChatModel
from deconfound.endpoints.endpoint import Endpoint, Timeouts
from deconfound.endpoints.request import KEY_BYTES, RequestBuilder

ENDPOINT = Endpoint("local", "http://127.0.0.1:1/v1")
CHAT = ChatModel("a", ENDPOINT, "m", parameters={"temperature": 0.5})
ASKED = [{"role": "user", "content": "Zoë {context} 日本"}]
TALK = [{"role": "system", "content": "Be kind."}, *ASKED]


def key(chat=CHAT, messages=ASKED, draw=0):
    return RequestBuilder(chat).request(messages, draw).key


CHANGES = {
    "url": {"chat": replace(CHAT, endpoint=replace(ENDPOINT, url="http://127.0.0.1:2/v1"))},
    "interface": {"chat": replace(CHAT, endpoint=replace(ENDPOINT, api="anthropic"))},
    "headers": {"chat": replace(CHAT, endpoint=replace(ENDPOINT, headers=(("X-Beta", "1"),)))},
    "model": {"chat": replace(CHAT, model="n")},
    "system": {"chat": replace(CHAT, system="s")},
    "parameters": {"chat": replace(CHAT, parameters={"temperature": 0.6})},
    "seed": {"chat": replace(CHAT, seed=0)},
    "messages": {"messages": TALK},
    "role": {"messages": [{"role": "assistant", "content": ASKED[0]["content"]}]},
    "draw": {"draw": 1},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_can_change_the_reply_changes_the_key(change):
    assert key(**change) != key()


@pytest.mark.parametrize(
    "chat",
    [
        replace(CHAT, name="b"),
        replace(CHAT, parameters=dict(CHAT.parameters)),
        replace(
            CHAT, endpoint=replace(ENDPOINT, name="other", key_env="MY_KEY", attempts=9, timeouts=Timeouts(1, 2, 3))
        ),
    ],
)
def test_nothing_else_does(chat, monkeypatch):
    monkeypatch.setenv("MY_KEY", "a key of the endpoint")
    assert key(chat) == key()


def test_the_order_of_parameters_does_not_matter():
    one, other = ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1})
    assert key(replace(CHAT, parameters=one)) == key(replace(CHAT, parameters=other))


def test_a_key_is_the_same_for_ever():
    """If this fails, answers that users have paid for are no longer found; raise ``KEY_VERSION`` only on purpose."""
    assert key().hex() == "6dd8d0cfea36ec417606ac9a199987e9fde0ee9e"
    assert len(key()) == KEY_BYTES


def test_draws_and_bodies_cannot_be_confused():
    builder = RequestBuilder(CHAT)
    assert builder.key(b"1\n2", 3) != builder.key(b"2", 31)


def test_the_body_is_sent_as_it_was_hashed():
    body = json.loads(RequestBuilder(CHAT).request(TALK, 0).body)
    assert body == {"model": "m", "temperature": 0.5, "messages": TALK}


@pytest.mark.parametrize(
    "text", ["", "plain", 'quotes " and \\ and \n', "Zoë 日本 😀", "{context}", "\0text\0", "\ud800"]
)
@pytest.mark.parametrize(
    "change",
    [{}, {"seed": 5}, {"system": "Be brief."}, {"system": "\0text\0"}, {"model": 'odd "name"'}],
)
@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_text_has_the_body_of_its_message(text, change, api):
    """The fast way to make bodies must give the same bytes, or stored answers would not be found."""
    builder = RequestBuilder(replace(CHAT, endpoint=replace(ENDPOINT, api=api), **change))
    for draw in (0, 1):
        assert builder.body(text, draw) == builder.body([{"role": "user", "content": text}], draw)


def test_each_draw_has_its_own_seed():
    assert [chat_body(replace(CHAT, seed=7), ASKED, draw)["seed"] for draw in range(3)] == [7, 8, 9]


def test_the_system_prompt_of_the_settings_replaces_that_of_the_context():
    body = chat_body(replace(CHAT, system="Be brief."), TALK, 0)
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, *ASKED]
    developer = [{"role": "developer", "content": "d"}, *ASKED]
    assert chat_body(replace(CHAT, system="s"), developer, 0)["messages"][0] == {"role": "system", "content": "s"}
    assert chat_body(CHAT, developer, 0)["messages"] == developer


def test_anthropic_has_the_system_prompt_beside_the_messages():
    chat = replace(CHAT, endpoint=replace(ENDPOINT, api="anthropic"))
    assert chat_body(chat, TALK, 0)["system"] == "Be kind."
    assert chat_body(chat, TALK, 0)["messages"] == ASKED
    assert chat_body(replace(chat, system="s"), TALK, 0)["system"] == "s"
    assert "system" not in chat_body(chat, ASKED, 0)


TOOLS = [
    {"role": "user", "content": "weather?"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "w"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "rain"},
]
IMAGE = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]}]
CLAUDE_IMAGE = [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "AA=="}}]}]


@pytest.mark.parametrize("messages", [ASKED, TALK, TOOLS, IMAGE])
def test_messages_in_the_shape_of_openai_are_sent_exactly(messages):
    sent = fitting_messages(messages, "openai")
    assert [{"content": None, **one} for one in sent] == [{"content": None, **one} for one in messages]
    assert fitting_messages({"messages": messages, "model": "x"}, "openai") == sent


def test_messages_in_the_shape_of_anthropic_are_sent_exactly():
    assert fitting_messages(CLAUDE_IMAGE, "anthropic") == CLAUDE_IMAGE
    request = {"system": "Be kind.", "messages": ASKED}
    assert fitting_messages(request, "anthropic") == TALK


@pytest.mark.parametrize(
    "cell",
    [
        [{"role": "user", "parts": [{"text": "hello"}]}],
        [{"type": "human", "content": "hello"}],
        [{"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": {"content": "hello"}}],
        {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]},
        [{"role": "user", "content": [{"type": "input_text", "text": "hello"}]}],
    ],
)
@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_text_in_any_other_shape_says_the_same(cell, api):
    assert fitting_messages(cell, api) == [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize(
    ("cell", "api"),
    [
        (IMAGE, "anthropic"),
        (CLAUDE_IMAGE, "openai"),
        (TOOLS, "anthropic"),
        ([{"role": "user", "parts": [{"inlineData": {"data": "AA=="}}]}], "openai"),
        ([{"role": "user", "content": "a"}, {"role": "tool", "content": "rain"}], "openai"),
    ],
)
def test_what_would_lose_something_is_refused(cell, api):
    with pytest.raises(NotReplayableError):
        fitting_messages(cell, api)
