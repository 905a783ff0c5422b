"""Files that real instrumentations wrote: the same three calls in every dialect."""

from __future__ import annotations

import json

import pytest

from deconfound.chat.conversation import Message
from deconfound.traces.otlp_reader import Otlp
from tests.support.trace_records import SAMPLES, read_values, sample_values

SYSTEM, QUESTION = Message("system", "Be short."), Message("user", "Name a river.")
TOOL = 'get_weather({"city": "Oslo"})'
MODELS = ["tiny-a-2026-01-01", "tiny-b-2026-01-01", "tiny-b-2026-01-01"]
MESSAGES = [
    (SYSTEM, QUESTION),
    (SYSTEM, QUESTION),
    (SYSTEM, QUESTION, Message("assistant", TOOL), Message("tool", "rainy")),
]
OUTPUTS = [("fake answer 1 from tiny-a",), (TOOL,), ("fake answer 3 from tiny-b",)]
FLAGS = [frozenset(), frozenset({"tool call"}), frozenset()]
DIALECTS = {
    "GenAI spans": (("genai.spans.jsonl",), ["0d65a04a8149864d", "a668c63089999a93", "1e2e5395cbb6505f"]),
    "GenAI events": (("genai.logs.jsonl",), ["0d65a04a8149864d", "a668c63089999a93", "1e2e5395cbb6505f"]),
    "both": (("genai.spans.jsonl", "genai.logs.jsonl"), ["0d65a04a8149864d", "a668c63089999a93", "1e2e5395cbb6505f"]),
    "both, events first": (
        ("genai.logs.jsonl", "genai.spans.jsonl"),
        ["0d65a04a8149864d", "a668c63089999a93", "1e2e5395cbb6505f"],
    ),
    "older events": (
        ("v2old.spans.jsonl", "v2old.logs.jsonl"),
        ["9772c48e00bf786f", "0beb316fdf644d78", "b8a229146b6eb3f2"],
    ),
    "OpenLLMetry": (("trl.spans.jsonl",), ["49736602a9bb17e5", "8b2de6f89d2cdca1", "e0890c58ccdb8382"]),
    "OpenInference": (("oi.spans.jsonl",), ["7acd6fb73ec254ad", "42ccb0caf16e26ee", "cba18f578f4c6c9e"]),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_calls_are_read_from_every_dialect(dialect):
    files, ids = DIALECTS[dialect]
    calls, scores, _ = read_values(Otlp(), sample_values(*files))
    assert [call.call_id for call in calls] == ids
    assert [call.model for call in calls] == MODELS
    assert [call.requested_model for call in calls] == ["tiny-a", "tiny-b", "tiny-b"]
    assert [call.messages for call in calls] == MESSAGES
    assert [call.response_id for call in calls] == ["chatcmpl-1", "chatcmpl-2", "chatcmpl-3"]
    assert not scores
    for at in (0, 2):
        assert (calls[at].outputs, calls[at].flags) == (OUTPUTS[at], FLAGS[at])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_of_a_tool_is_the_same_in_every_dialect(dialect):
    calls, _, _ = read_values(Otlp(), sample_values(*DIALECTS[dialect][0]))
    assert (calls[1].outputs, calls[1].flags) == (OUTPUTS[1], FLAGS[1])


def test_lines_in_any_order_give_the_same_messages():
    values = sample_values("v2old.spans.jsonl", "v2old.logs.jsonl")
    for order in (values[::-1], values[::2] + values[1::2], values[7:] + values[:7]):
        calls, _, _ = read_values(Otlp(), order)
        by_id = {call.call_id: call for call in calls}
        assert [by_id[one].messages for one in DIALECTS["older events"][1]] == MESSAGES


def test_the_same_file_twice_gives_each_call_once():
    for names in (("genai.spans.jsonl",) * 2, ("v2old.spans.jsonl", "v2old.logs.jsonl") * 2):
        calls, _, remarks = read_values(Otlp(), sample_values(*names))
        assert [call.messages for call in calls] == MESSAGES
        assert remarks == {"spans are in the files more than once": 3}


def test_spans_without_their_events_have_no_content():
    calls, _, _ = read_values(Otlp(), sample_values("v2old.spans.jsonl"))
    assert [call.flags for call in calls] == [frozenset({"no content"})] * 3
    assert all(call.messages == () and call.outputs == () for call in calls)
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in Otlp.content_switch


def test_events_without_their_spans_are_remarked():
    calls, _, remarks = read_values(Otlp(), sample_values("v2old.logs.jsonl"))
    assert calls == []
    assert list(remarks.values()) == [3]


def test_times_sessions_users_tags_and_metadata():
    calls, _, _ = read_values(Otlp(), sample_values("oi.spans.jsonl"))
    first = calls[0]
    assert first.time == pytest.approx(1794834813.777857)
    assert (first.trace_id, first.conversation, first.user) == ("b8049c0c4c9f01c1599a5a561e86c94d", "s1", "u1")
    assert first.attributes == {
        "service.name": "shop-bot",
        "metadata.propensity": "0.25",
        "metadata.arm": "exp",
        "tag.experiment": "true",
    }
    users = [call.user for call in read_values(Otlp(), sample_values("trl.spans.jsonl"))[0]]
    assert users == ["u1", "", ""]


def test_a_pretty_printed_document_is_read_like_lines():
    lines = sample_values("genai.spans.jsonl")
    whole = {"resourceSpans": [one for line in lines for one in line["resourceSpans"]]}
    calls, _, _ = read_values(Otlp(), [json.loads(json.dumps(whole, indent=2))])
    assert [call.outputs for call in calls] == OUTPUTS


def test_only_its_own_samples_are_recognized():
    for path in SAMPLES.glob("*.jsonl"):
        value = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
        assert Otlp().recognizes(value) == path.name.endswith((".spans.jsonl", ".logs.jsonl")), path.name
