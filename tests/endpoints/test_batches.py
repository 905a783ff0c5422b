"""Batch files: requests as the services take them, and their results as replies of the same requests."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from deconfound.endpoints import batch_writing
from deconfound.endpoints.batch_reading import BatchReader
from deconfound.endpoints.batch_writing import batch_files, custom_id
from deconfound.endpoints.redaction import Redaction
from deconfound.errors import DataError
from deconfound.traces.batch_files import BatchFiles
from tests.support.replay_files import KEY, chat, requests

MODEL = chat("https://api.example/v1")
CLAUDE = replace(MODEL, endpoint=replace(MODEL.endpoint, api="anthropic"), parameters={"max_tokens": 5})
TEXTS = ["one", "two {context}", "drei äöü"]


def lines(file):
    return [json.loads(line) for line in file.content.splitlines()]


def write(tmp_path, *found):
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in found), encoding="utf-8")
    return path


def openai_result(request, **line):
    body = {
        "model": "small-1",
        "choices": [{"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}],
    }
    response = {"status_code": 200, "body": {**body, "usage": {"prompt_tokens": 3, "completion_tokens": 1}}}
    return {"id": "b", "custom_id": custom_id(request.key), "response": response, "error": None, **line}


def anthropic_result(request, **result):
    message = {"type": "message", "model": "c", "content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn"}
    return {"custom_id": custom_id(request.key), "result": {"type": "succeeded", "message": message, **result}}


def read(path, redaction=None):
    reader = BatchReader(redaction or Redaction())
    return list(reader.read(path)), reader


def test_a_file_for_openai():
    asked = requests(MODEL, TEXTS, draws=2)
    (file,) = batch_files(MODEL, asked)
    assert (file.name, file.requests, file.api) == ("openai-cedar-001.jsonl", 6, "openai")
    found = lines(file)
    assert {one["url"] for one in found} == {"/v1/chat/completions"}
    assert {one["method"] for one in found} == {"POST"}
    assert [one["body"]["messages"][0]["content"] for one in found] == [text for text in TEXTS for _ in range(2)]
    assert len({one["custom_id"] for one in found}) == 6


def test_a_file_for_anthropic():
    (file,) = batch_files(CLAUDE, requests(CLAUDE, TEXTS))
    found = lines(file)
    assert set(found[0]) == {"custom_id", "params"}
    assert found[0]["params"]["max_tokens"] == 5
    assert all(len(one["custom_id"]) <= 64 and one["custom_id"].replace("-", "").isalnum() for one in found)


def test_our_own_reader_of_batches_recognizes_the_files():
    for model in (MODEL, CLAUDE):
        (file,) = batch_files(model, requests(model, TEXTS))
        assert all(BatchFiles().recognizes(line) for line in lines(file))


def test_files_stay_within_the_limits_of_the_service(monkeypatch):
    monkeypatch.setitem(batch_writing.MAX_REQUESTS, "openai", 2)
    files = batch_files(MODEL, requests(MODEL, ["a", "b", "c", "d", "e"]))
    assert [file.requests for file in files] == [2, 2, 1]
    assert len({file.name for file in files}) == 3
    monkeypatch.setitem(batch_writing.MAX_REQUESTS, "openai", 1000)
    monkeypatch.setitem(batch_writing.MAX_FILE_BYTES, "openai", 1000)
    files = batch_files(MODEL, requests(MODEL, ["x" * 400] * 1 + ["y" * 400, "z" * 400]))
    assert all(len(file.content) <= 1000 for file in files)
    assert sum(file.requests for file in files) == 3


def test_names_of_files_are_safe():
    odd = replace(MODEL, name="../../etc/passwd\n😀")
    assert batch_files(odd, requests(odd, ["a"]))[0].name == "openai-etc_passwd-001.jsonl"


@pytest.mark.parametrize(("model", "result"), [(MODEL, openai_result), (CLAUDE, anthropic_result)])
def test_results_are_replies_of_the_same_requests(tmp_path, model, result):
    asked = requests(model, TEXTS)
    answers, _ = read(write(tmp_path, *map(result, reversed(asked))))
    assert [one.key for one in answers] == [request.key for request in reversed(asked)]
    assert {(one.reply.text, one.reply.status) for one in answers} == {("yes", "ok")}


def test_lines_without_an_answer_say_why(tmp_path):
    (request,) = requests(MODEL, ["a"])
    failed = {"status_code": 400, "body": {"error": {"message": f"bad key {KEY}"}}}
    found = [
        openai_result(request, response=failed),
        openai_result(request, response=None, error={"code": "batch_expired", "message": "too late"}),
        anthropic_result(request, type="errored", message=None, error={"error": {"message": "overloaded"}}),
        anthropic_result(request, type="canceled", message=None),
        openai_result(request, response={"status_code": 200, "body": {"choices": []}}),
    ]
    answers, _ = read(write(tmp_path, *found), Redaction.of_keys([KEY]))
    assert [one.reply for one in answers] == [None] * 5
    assert [one.failure for one in answers] == [
        "requests failed",
        "requests expired before they were answered",
        "requests failed",
        "requests were canceled",
        "answers cannot be read",
    ]
    assert answers[0].detail == "bad key [key]"
    assert answers[2].detail == "overloaded"


def test_lines_of_others_are_counted(tmp_path):
    others = [{"custom_id": "task-1", "response": {}}, {"custom_id": "dc-xyz"}, {"custom_id": 5}, {"no": "id"}]
    answers, reader = read(write(tmp_path, *others))
    assert answers == []
    assert reader.foreign == 4


@pytest.mark.parametrize("content", [b"hello\n", b"[1]\n", b"{\n", b"\xff\n", b"[" * 5000 + b"\n"])
def test_files_that_are_no_results(tmp_path, content):
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"custom_id": "x"}\n\n' + content)
    with pytest.raises(DataError, match=r"results\.jsonl line 3: this is not a line of a batch's results"):
        read(path)


def test_a_file_that_is_missing(tmp_path):
    with pytest.raises(DataError, match="cannot be opened"):
        read(tmp_path / "absent.jsonl")
