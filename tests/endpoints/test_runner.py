"""Many calls at once: bounded, interruptible, and stored as they arrive."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
import time

import pytest

from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.endpoints.runner import RunOptions, run_requests
from deconfound.errors import UsageError
from tests.support.replay_files import FakeClock, ask, chat, requests
from tests.support.scripted_server import Answer, completion, echo, error, scripted_server

TEXTS = [f"text {at}" for at in range(40)]


@pytest.mark.parametrize("concurrency", [1, 5])
def test_no_more_calls_at_once_than_allowed(tmp_path, concurrency):
    with scripted_server(lambda one: Answer(echo(one).body, delay=0.01)) as server:
        outcome, replies = ask(chat(server.url), TEXTS, tmp_path, concurrency=concurrency)
    assert outcome.replies == len(replies) == 40
    assert server.most_at_once == concurrency


def test_an_endpoint_may_have_a_limit_of_its_own(tmp_path):
    with scripted_server(lambda one: Answer(echo(one).body, delay=0.01)) as server:
        ask(chat(server.url, concurrency=2), TEXTS, tmp_path, concurrency=30)
    assert server.most_at_once == 2


def test_a_slow_endpoint_does_not_hold_up_another(tmp_path):
    with (
        scripted_server(lambda one: Answer(echo(one).body, delay=0.2)) as slow,
        scripted_server() as fast,
        ReplyCache(tmp_path / "c") as cache,
    ):
        models = [chat(slow.url), chat(fast.url)]
        work = {one.endpoint: requests(one, TEXTS[:count]) for one, count in zip(models, (4, 40), strict=True)}
        start = time.monotonic()
        run_requests(work, 44, cache, RunOptions(2, FakeClock()))
        assert time.monotonic() - start < 3
        assert len(fast.requests) == 40


def test_cost_and_tokens_are_summed(tmp_path):
    with scripted_server() as server:
        outcome, _ = ask(chat(server.url), TEXTS, tmp_path)
    meter = outcome.models["cedar"]
    assert (meter.input_tokens, meter.output_tokens) == (440, 200)
    assert outcome.cost == pytest.approx((440 * 1 + 200 * 2) / 1e6)


def test_failures_are_found_by_request_also_those_of_calls_that_were_not_made(tmp_path):
    with scripted_server(lambda one: error(400) if one.text.endswith("7") else echo(one)) as server:
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
        first, replies = ask(chat(server.url), TEXTS, tmp_path / "a", concurrency=1)
        server.script = lambda _: error(401)
        second, _ = ask(chat(server.url), TEXTS, tmp_path / "b", concurrency=1)
    failed = {
        one.key for text, one in zip(TEXTS, requests(chat(server.url), TEXTS), strict=True) if text not in replies
    }
    assert first.failed_keys.keys() == failed
    assert {one.status for one in first.failed_keys.values()} == {400}
    assert len(second.failed_keys) == 40
    assert second.models["cedar"].skipped == 37
    both = first.plus(second)
    assert (both.replies, both.failed, both.expected) == (36, 44, 80)
    assert [(one.cause[:8], one.calls) for one in both.failures] == [("HTTP 400", 4), ("HTTP 401", 3)]


def test_the_watch_sees_the_run_from_the_calling_thread(tmp_path):
    seen = []

    def watch(outcome):
        seen.append((threading.current_thread(), outcome.replies, outcome.expected))

    with scripted_server(lambda one: Answer(echo(one).body, delay=0.05)) as server, ReplyCache(tmp_path / "c") as cache:
        model = chat(server.url)
        run_requests({model.endpoint: requests(model, TEXTS)}, 40, cache, RunOptions(4), watch)
    assert {thread for thread, _, _ in seen} == {threading.main_thread()}
    assert seen[-1][1:] == (40, 40)
    assert any(replies < 40 for _, replies, _ in seen)


def test_an_interrupt_ends_the_calls_and_what_was_answered_is_stored(tmp_path):
    def script(one):
        return Answer(echo(one).body, hang=int(one.text.split()[1]) >= 10)

    def watch(outcome):
        if outcome.replies == 10:
            raise KeyboardInterrupt

    with scripted_server(script) as server, ReplyCache(tmp_path / "c") as cache:
        model = chat(server.url)
        with pytest.raises(KeyboardInterrupt):
            run_requests({model.endpoint: requests(model, TEXTS)}, 40, cache, RunOptions(4), watch)
        assert len(cache) == 10
    assert not {"deconfound cache", "deconfound calls"} & {thread.name for thread in threading.enumerate()}


def test_an_interrupt_waits_a_moment_for_calls_under_way_and_starts_no_others(tmp_path):
    def watch(_):
        raise KeyboardInterrupt

    with scripted_server(lambda one: Answer(echo(one).body, delay=0.6)) as server, ReplyCache(tmp_path / "c") as cache:
        model = chat(server.url)
        with pytest.raises(KeyboardInterrupt):
            run_requests({model.endpoint: requests(model, TEXTS)}, 40, cache, RunOptions(4), watch)
        assert len(cache) == len(server.requests) == 4


def test_it_works_inside_a_running_loop_as_of_a_notebook(tmp_path):
    async def cell():
        with scripted_server() as server:
            return ask(chat(server.url), TEXTS, tmp_path)[0].replies

    assert asyncio.run(cell()) == 40


def test_an_error_of_the_cache_ends_the_run(tmp_path, monkeypatch):
    def broken(*_):
        raise sqlite3.OperationalError("unable to open database file")

    with scripted_server() as server:
        monkeypatch.setattr(ReplyCache, "put", broken)
        with pytest.raises(sqlite3.OperationalError):
            ask(chat(server.url), TEXTS, tmp_path)
    assert len(server.requests) < 40 or sys.platform == "win32"


def test_an_error_while_requests_are_made_ends_the_run(tmp_path):
    def broken():
        yield from requests(model, TEXTS[:5])
        raise RuntimeError("a defect")

    with scripted_server() as server, ReplyCache(tmp_path / "c") as cache:
        model = chat(server.url)
        with pytest.raises(RuntimeError, match="a defect"):
            run_requests({model.endpoint: broken()}, 9, cache, RunOptions(2))


def test_a_key_that_is_not_set_ends_it_before_the_first_call(tmp_path, monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    with scripted_server() as server, pytest.raises(UsageError, match="MY_KEY is not set"):
        ask(chat(server.url, key_env="MY_KEY"), TEXTS, tmp_path)
    assert server.requests == []


def test_without_the_library_there_is_one_line_of_advice(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(UsageError, match=r'pip install "deconfound\[run\]"'):
        ask(chat("http://127.0.0.1:9/v1"), TEXTS, tmp_path)


@pytest.mark.parametrize("concurrency", [0, -1, 5000])
def test_concurrency_has_bounds(concurrency):
    with pytest.raises(UsageError, match="--concurrency"):
        RunOptions(concurrency)


def test_what_is_sent(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "a-key-of-some-length")
    with scripted_server() as server:
        ask(chat(server.url, key_env="MY_KEY", headers=(("X-Team", "blue"),)), ["hello"], tmp_path)
    (exchange,) = server.requests
    assert exchange.path == "/v1/chat/completions"
    assert exchange.headers["authorization"] == "Bearer a-key-of-some-length"
    assert exchange.headers["x-team"] == "blue"
    assert exchange.headers["content-type"] == "application/json"
    assert exchange.body == {"model": "small-1", "messages": [{"role": "user", "content": "hello"}]}


def test_anthropic_is_asked_and_answers_in_its_own_way(tmp_path):
    body = b'{"type":"message","model":"small-1","content":[{"type":"text","text":"hi"}],"stop_reason":"max_tokens"'
    body += b',"usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":2}}'
    with scripted_server(lambda _: Answer(body)) as server:
        _, replies = ask(chat(server.url, api="anthropic"), ["hello"], tmp_path)
    reply = replies["hello"]
    assert (reply.text, reply.status, reply.input_tokens, reply.output_tokens) == ("hi", "truncated", 7, 2)
    assert server.requests[0].headers["anthropic-version"] == "2023-06-01"
    assert server.requests[0].path == "/v1/messages"


def test_a_key_in_an_answer_is_not_stored(tmp_path, monkeypatch):
    key = "sk-very-recognisable"
    monkeypatch.setenv("MY_KEY", key)
    with scripted_server(lambda _: completion(f"you sent {key}", model=key, finish_reason=key)) as server:
        _, replies = ask(chat(server.url, key_env="MY_KEY"), ["hello"], tmp_path)
    assert replies["hello"].text == "you sent [key]"
    assert key not in str(replies)
