"""A server that misbehaves on purpose: what is tried again, what is not, and what is recorded."""

from __future__ import annotations

import asyncio
import json
import time
from email.utils import formatdate
from pathlib import Path
from tempfile import mkdtemp

import pytest

from deconfound.endpoints import http_caller
from deconfound.endpoints.endpoint import Timeouts
from deconfound.endpoints.failure import Failure, is_filtered
from deconfound.endpoints.retrying import Gate, call_until_done
from tests.support.replay_files import FakeClock, ask, chat, requests
from tests.support.scripted_server import Answer, Exchange, completion, echo, error, scripted_server

TEXT = "Where is my parcel?"
SHORT = Timeouts(1.0, 0.15, 0.4)


def first(*answers: Answer):
    """These answers to the first requests of a body, then a good one."""

    def script(exchange: Exchange) -> Answer:
        return answers[exchange.number] if exchange.number < len(answers) else echo(exchange)

    return script


def ask_one(script, tmp_path, clock=None, **endpoint):
    folder = Path(mkdtemp(dir=tmp_path))  # nothing is stored yet
    with scripted_server(script) as server:
        outcome, replies = ask(chat(server.url, **endpoint), [TEXT], folder, clock=clock)
    return server, outcome, replies.get(TEXT)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(tmp_path, status):
    server, outcome, reply = ask_one(first(error(status), error(status)), tmp_path)
    assert len(server.requests) == 3
    assert reply is not None
    assert reply.status == "ok"
    assert outcome.failed == 0


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 422, 501])
def test_what_stays_is_not_tried_again(tmp_path, status):
    server, outcome, reply = ask_one(lambda _: error(status, "because"), tmp_path)
    assert len(server.requests) == 1
    assert reply is None
    assert [(one.calls, one.detail) for one in outcome.failures] == [(1, "because")]
    assert outcome.failures[0].cause.startswith(f"HTTP {status}")


def test_waits_double_and_attempts_are_bounded(tmp_path):
    clock = FakeClock()
    server, outcome, reply = ask_one(lambda _: error(500), tmp_path, clock, attempts=5)
    assert len(server.requests) == 5
    assert clock.slept == [0.5, 1.0, 2.0, 4.0]
    assert reply is None
    assert outcome.failures[0].detail == "no (5 attempts)"


def test_the_time_of_one_call_is_bounded(tmp_path):
    clock = FakeClock()
    server, _, _ = ask_one(lambda _: error(500), tmp_path, clock, attempts=100, patience=10.0)
    assert sum(clock.slept) <= 10
    assert len(server.requests) == len(clock.slept) + 1


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"Retry_After": "2.5"}, 2.5),
        ({"retry_after_ms": "1500"}, 1.5),
        ({"Retry_After": formatdate(1_800_000_000 + 1000 + 30, usegmt=True)}, 30.0),
        ({"Retry_After": formatdate(1_800_000_000, usegmt=True)}, 0.5),  # in the past: the ordinary wait
        ({"Retry_After": "soon"}, 0.5),
        ({"Retry_After": "-5"}, 0.5),
        ({"Retry_After": "nan"}, 0.5),
        ({}, 0.5),
    ],
)
def test_retry_after_is_honoured_in_seconds_and_as_a_date(tmp_path, headers, wait):
    clock = FakeClock()
    _, _, reply = ask_one(first(error(429, **headers)), tmp_path, clock)
    assert reply is not None
    assert clock.slept[0] == pytest.approx(wait, abs=0.01)


def test_a_wait_beyond_patience_gives_the_model_up(tmp_path):
    clock = FakeClock()
    with scripted_server(lambda _: error(429, Retry_After="86400")) as server:
        outcome, _ = ask(chat(server.url), [f"text {at}" for at in range(50)], tmp_path, clock=clock, concurrency=1)
    assert clock.slept == []
    assert len(server.requests) == 3
    assert "86,400 s" in str(outcome.stopped["cedar"])


class Scripted:
    """A caller without a network: these results one after the other, with the time of each call."""

    def __init__(self, clock, *results):
        self.clock, self.results, self.times = clock, list(results), []

    async def call(self, _request):
        self.times.append(self.clock.now())
        return self.results.pop(0)


def test_all_calls_of_an_endpoint_wait_when_one_is_asked_to():
    """The other calls would only use up their attempts."""
    clock, gate = FakeClock(), Gate()
    (request,) = requests(chat("http://127.0.0.1:9/v1", attempts=1), ["a"])
    (patient,) = requests(chat("http://127.0.0.1:9/v1", attempts=2), ["b"])
    asked_to_wait = Failure("busy", retry="yes", wait=20.0)
    caller = Scripted(clock, asked_to_wait, asked_to_wait, Failure("no"))
    asyncio.run(call_until_done(patient, caller, gate, clock))
    assert caller.times == [1000.0, 1020.0]
    gate.close(1030.0)
    asyncio.run(call_until_done(request, caller, gate, clock))
    assert caller.times[-1] == 1030.0
    assert Gate().opens == 0
    clock, gate = FakeClock(), Gate()
    asyncio.run(call_until_done(patient, Scripted(clock, asked_to_wait, asked_to_wait), gate, clock))
    assert gate.opens == 1020.0


def test_no_credit_is_not_tried_again_though_it_is_a_429(tmp_path):
    server, outcome, _ = ask_one(lambda _: error(429, "exceeded", "insufficient_quota"), tmp_path)
    assert len(server.requests) == 1
    assert "no credit" in outcome.failures[0].cause


def test_a_server_may_say_not_to_try_again(tmp_path):
    server, _, _ = ask_one(lambda _: error(500, x_should_retry="false"), tmp_path)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (Answer(hang=True), f"no answer in time (read_timeout = {SHORT.read:g})"),
        (
            Answer(completion("x" * 4000).body, trickle=0.01),
            f"no answer in time (total_timeout = {SHORT.total:g})",
        ),
        (Answer(drop=True), "the connection failed"),
        (Answer(completion("x" * 4000).body, cut_after=300), "the connection was cut during the answer"),
    ],
    ids=["hang", "trickle", "drop", "cut"],
)
def test_a_connection_that_fails_is_tried_again_in_bounded_time(tmp_path, answer, cause):
    """A trickle always has a next byte in time, so only the total time ends it."""
    server, outcome, reply = ask_one(first(answer), tmp_path, timeouts=SHORT)
    assert len(server.requests) == 2
    assert reply is not None
    _, outcome, _ = ask_one(lambda _: answer, tmp_path, timeouts=SHORT, attempts=1)
    assert [one.cause for one in outcome.failures] == [cause]


def test_a_server_that_falls_silent_is_left_before_the_total_time(tmp_path):
    begin = time.monotonic()
    _, outcome, _ = ask_one(lambda _: Answer(hang=True), tmp_path, timeouts=Timeouts(1.0, 0.15, 60.0), attempts=1)
    assert outcome.failures[0].cause == "no answer in time (read_timeout = 0.15)"
    silent = Answer(b"{", headers={"Content-Length": "100"})
    _, outcome, _ = ask_one(lambda _: silent, tmp_path, timeouts=Timeouts(1.0, 0.15, 60.0), attempts=1)
    assert outcome.failures[0].cause == "no answer in time (read_timeout = 0.15)"
    assert time.monotonic() - begin < 30


def test_nobody_listens(tmp_path):
    clock = FakeClock()
    outcome, _ = ask(chat("http://127.0.0.1:9/v1"), [TEXT], tmp_path, clock=clock)
    assert outcome.failures[0].cause == "no connection"
    assert len(clock.slept) == 2


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (Answer(b'{"choices": [{"mess'), "the answer is not JSON"),
        (Answer(b"<html>Bad gateway</html>", headers={"Content-Type": "text/html"}), "the answer is not JSON"),
        (Answer(b"[1, 2]"), "the answer is not a JSON object"),
        (Answer(json.dumps({"choices": []}).encode()), "the answer has no choices"),
        (Answer(json.dumps({"choices": [{"index": 0}]}).encode()), "the answer has no message"),
        (
            Answer(json.dumps({"error": {"message": "oops"}}).encode()),
            "the answer is an error with the status of a success",
        ),
        (Answer(b"[" * 100_000), "the answer is not JSON"),
        (Answer(b"\xff\xfe"), "the answer is not JSON"),
        (Answer(b""), "the answer is not JSON"),
    ],
)
def test_a_garbled_answer_is_tried_once_more_as_it_may_have_been_paid(tmp_path, answer, cause):
    server, outcome, reply = ask_one(lambda _: answer, tmp_path, attempts=6)
    assert len(server.requests) == 2
    assert reply is None
    assert outcome.failures[0].cause == cause
    assert ask_one(first(answer), tmp_path)[2] is not None


def test_other_failures_do_not_use_up_the_second_try_of_a_garbled_answer(tmp_path):
    garbled = Answer(b"{not json")
    server, _, reply = ask_one(first(error(500), garbled, error(500)), tmp_path, attempts=6)
    assert reply is not None
    assert len(server.requests) == 4


def test_json_with_another_content_type_is_an_answer(tmp_path):
    answer = Answer(completion("yes").body, headers={"Content-Type": "text/plain"})
    assert ask_one(lambda _: answer, tmp_path)[2].text == "yes"


def test_a_huge_body_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(http_caller, "MAX_REPLY_BYTES", 1_000_000)
    huge = Answer(completion("x" * 2_000_000).body)
    _, outcome, _ = ask_one(lambda _: huge, tmp_path)
    assert outcome.failures[0].cause == "the answer has more than 1 MB"
    announced = Answer(b"{", headers={"Content-Length": "99999999"})  # the rest never comes
    _, outcome, _ = ask_one(lambda _: announced, tmp_path)
    assert outcome.failures[0].cause == "the answer has more than 1 MB"
    unannounced = Answer(huge.body, headers={"Content-Length": "", "Connection": "close"}, cut_after=len(huge.body))
    _, outcome, _ = ask_one(lambda _: unannounced, tmp_path)
    assert outcome.failures[0].cause == "the answer has more than 1 MB"


def test_a_redirect_is_not_followed(tmp_path):
    """It would carry the key to another place."""
    target = Answer(status=307, headers={"Location": "http://127.0.0.1:9/v1"})
    server, outcome, _ = ask_one(lambda _: target, tmp_path)
    assert len(server.requests) == 1
    assert outcome.failures[0].cause == "HTTP 307, a redirect to http://127.0.0.1, which is not followed"


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (completion("fine"), "ok", "fine"),
        (completion(""), "empty", ""),
        (completion("  \n"), "empty", "  \n"),
        (completion(None), "empty", ""),
        (completion("cut o", finish_reason="length"), "truncated", "cut o"),
        (completion("", finish_reason="length"), "truncated", ""),
        (completion("", finish_reason="content_filter"), "refusal", ""),
        (
            completion(None, message={"role": "assistant", "content": None, "refusal": "I will not."}),
            "refusal",
            "I will not.",
        ),
        (completion([{"type": "text", "text": "parts"}]), "ok", "parts"),
        (error(400, "The prompt was filtered", "content_filter"), "refusal", ""),
    ],
)
def test_refusals_and_empty_and_truncated_outputs_are_recorded_as_such(tmp_path, answer, status, text):
    server, outcome, reply = ask_one(lambda _: answer, tmp_path)
    assert (reply.status, reply.text) == (status, text)
    assert (outcome.replies, outcome.failed, len(server.requests)) == (1, 0, 1)


def test_tokens_are_estimated_where_the_server_does_not_count_them(tmp_path):
    _, outcome, reply = ask_one(lambda _: completion("four words of text", usage=False), tmp_path)
    assert reply.tokens_estimated
    assert reply.output_tokens == 5
    assert outcome.models["cedar"].estimated == 1
    counted = ask_one(lambda _: completion("x"), tmp_path)[2]
    assert (counted.input_tokens, counted.output_tokens, counted.tokens_estimated) == (11, 5, False)


@pytest.mark.parametrize("usage", [{"prompt_tokens": "11"}, {"prompt_tokens": -1}, {"prompt_tokens": 1e300}, [], True])
def test_counts_that_are_no_counts_are_estimated(tmp_path, usage):
    body = {**json.loads(completion("x").body), "usage": usage}
    assert ask_one(lambda _: Answer(json.dumps(body).encode()), tmp_path)[2].tokens_estimated


def test_a_wrong_key_ends_the_run_early(tmp_path):
    with scripted_server(lambda _: error(401, "Incorrect key")) as server:
        outcome, _ = ask(chat(server.url), [f"text {at}" for at in range(200)], tmp_path, concurrency=4)
    assert len(server.requests) <= 3 + 4
    said = "HTTP 401, the key is not accepted (no key was sent: key_env is not set): Incorrect key"
    assert said in str(outcome.stopped["cedar"])
    assert outcome.failed == 200


def test_scattered_refusals_do_not_stop_a_model(tmp_path):
    def script(exchange: Exchange) -> Answer:
        return error(403) if int(exchange.text.split()[1]) % 3 else echo(exchange)

    with scripted_server(script) as server:
        outcome, _ = ask(chat(server.url), [f"text {at}" for at in range(60)], tmp_path, concurrency=1)
    assert outcome.stopped == {}
    assert outcome.replies == 20


def test_a_server_that_answers_nothing_is_given_up(tmp_path):
    with scripted_server(lambda _: error(500)) as server:
        outcome, _ = ask(chat(server.url), [f"text {at}" for at in range(100)], tmp_path, concurrency=1)
    assert len(server.requests) == 20 * 3
    assert outcome.stopped
    assert [(one.cause, one.calls) for one in outcome.failures] == [("HTTP 500, error of the server", 20)]
    assert (outcome.models["cedar"].skipped, outcome.failed) == (80, 100)


@pytest.mark.parametrize("status", [400, 401, 200])
def test_a_key_with_escaped_characters_is_not_shown(tmp_path, monkeypatch, status):
    """Some servers write / as \\/ and + as \\u002b; the words are read from JSON, and cleaned after that."""
    key = "sk-Very/Secret+Key1234567890"
    monkeypatch.setenv("MY_KEY", key)
    body = rb'{"error":{"message":"bad key sk-Very\/Secret\u002BKey1234567890"}}'
    with scripted_server(lambda _: Answer(body, status=status)) as server:
        outcome, _ = ask(chat(server.url, key_env="MY_KEY"), ["hello"], tmp_path)
    assert key not in repr(outcome)
    assert "bad key [key]" in repr(outcome)


def test_only_the_code_of_an_error_says_that_a_filter_refused():
    assert is_filtered(400, '{"error":{"code":"content_filter","message":"no"}}')
    assert is_filtered(400, '{"error":{"code":"x","innererror":{"code":"ResponsibleAIPolicyViolation"}}}')
    assert not is_filtered(400, '{"error":{"message":"unknown option","known":["content_filter","n"]}}')
    assert not is_filtered(400, 'the words "content_filter"')
