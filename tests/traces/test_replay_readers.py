"""What holds for every reader of replays and labels: it knows its own records, and no damage breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deconfound.traces.arena import Arena
from deconfound.traces.batch_files import BatchFiles
from deconfound.traces.inspect_log import InspectLog, eval_records
from deconfound.traces.lm_eval import LmEval
from deconfound.traces.promptfoo import Promptfoo
from deconfound.traces.reader import TOO_DEEP, Record, Remarks
from tests.support.json_damage import damaged, require_valid
from tests.support.trace_records import SAMPLES, from_document, from_lines, from_values, read

CHAT = [{"role": "user", "content": "Hi"}]
REPLY = {"id": "c", "model": "m-1", "created": 1, "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
RESPONSES = {"output": [{"type": "message", "content": [{"type": "output_text", "text": "x"}]}], "metadata": {"a": "b"}}
BATCH = [
    {"custom_id": "p|m|0", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": CHAT}},
    {"custom_id": "q", "params": {"model": "m", "system": "s", "messages": CHAT, "max_tokens": 5}},
    {"custom_id": "r", "url": "/v1/completions", "body": {"model": "m", "prompt": ["x"]}},
    {"custom_id": "q", "body": {"model": "n", "input": "x", "instructions": "s"}},
    {"id": "b", "custom_id": "p|m|0", "response": {"status_code": 200, "body": REPLY}, "error": None},
    {"id": "b", "custom_id": "q", "response": {"status_code": 200, "body": RESPONSES}, "error": None},
    {"custom_id": "r", "response": REPLY},
    {"custom_id": "q", "response": None, "error": {"code": "batch_expired", "message": "x"}},
    {
        "custom_id": "q",
        "result": {"type": "succeeded", "message": {"id": "m", "model": "m", "content": [{"text": "x"}]}},
    },
    {"custom_id": "r", "result": {"type": "errored", "error": {"type": "error", "error": {"type": "x"}}}},
]
TURNS = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "text", "text": "x"}]}]
BATTLES = [
    {"id": "1", "model_a": "m", "model_b": "n", "winner": "tie", "conversation_a": TURNS, "conversation_b": TURNS}
    | {"full_conversation": [{"user": TURNS[0]}], "timestamp": "2025-05-01", "category_tag": {"x": {"y": True}}},
    {"id": 2, "model_a": "m", "model_b": "n", "prompt": '["Hi"]', "response_a": '["x"]', "response_b": '["y"]'}
    | {"winner_model_a": 1, "winner_model_b": 0, "winner_tie": 0},
    {"question_id": "3", "model_a": "m", "model_b": "n", "winner": "model_b", "judge": "arena_user_1", "tstamp": 1.5}
    | {"conversation_a": TURNS, "conversation_b": TURNS, "anony": False, "turn": 1},
]
SAMPLE_FILES = {folder: sorted((SAMPLES / folder).iterdir()) for folder in ("promptfoo", "inspect", "lm-eval")}


def records_of(path: Path) -> list[Record]:
    read_file = {".jsonl": from_lines, ".json": from_document, ".eval": lambda path: list(eval_records(path))}
    return read_file[path.suffix](path)


def values_of(folder: str) -> list[dict]:
    return [record.value for path in SAMPLE_FILES[folder] for record in records_of(path)]


OWN = {
    "batch files": BATCH,
    "promptfoo": values_of("promptfoo"),
    "Inspect": values_of("inspect"),
    "lm-evaluation-harness": values_of("lm-eval"),
    "arena battles": BATTLES,
}
READERS = {reader.name: reader for reader in (BatchFiles(), Promptfoo(), InspectLog(), LmEval(), Arena())}
OTHERS = [
    {},
    {"resourceSpans": [{"scopeSpans": [{"spans": []}]}]},
    {"id": "c", "litellm_call_id": "7", "call_type": "acompletion", "model": "m", "messages": CHAT, "response": REPLY}
    | {"model_group": "chat", "status": "success", "error_str": None, "metadata": {}},
    {"id": "o", "trace_id": "t", "type": "GENERATION", "provided_model_name": "m", "input": "[]", "output": "{}"},
    {"id": "s", "trace_id": "t", "name": "feedback", "value": 1, "data_type": "BOOLEAN", "source": "API"},
    {"trace": {"id": "t", "scores": []}, "observations": []},
    {"info": {"trace_id": "tr", "assessments": []}, "data": {"spans": []}},
    {
        "id": "r",
        "run_type": "llm",
        "dotted_order": "x",
        "inputs": {},
        "outputs": {},
        "error": None,
        "status": "success",
    },
    {"context": {"trace_id": "t", "span_id": "s"}, "span_kind": "LLM", "attributes": {}},
    {"trace": {"id": "t", "feedback_scores": []}, "spans": []},
    {"id": "e", "span_attributes": {"type": "llm"}, "root_span_id": "r", "scores": {"x": 1}, "input": "x"},
    {"request_id": "q", "request_body": {}, "response_body": {}, "helicone_user": "u"},
    {"messages": [*CHAT, {"role": "assistant", "content": "x"}]},
    {"context": "Hi", "model": "m", "output": "x", "outcome": 1},
    {"results": {"x": 1}, "stats": {}},
    {"results": [{"name": "x"}], "version": 3},
]


@pytest.mark.parametrize("name", READERS)
def test_a_reader_recognizes_its_own_records_and_no_others(name):
    for owner, values in OWN.items():
        assert [READERS[name].recognizes(value) for value in values] == [owner == name] * len(values)
    assert not any(READERS[name].recognizes(value) for value in OTHERS)


@pytest.mark.parametrize("name", READERS)
def test_records_of_other_formats_are_remarked_and_give_nothing(name):
    foreign = [value for owner, values in OWN.items() if owner != name for value in values] + OTHERS
    calls, scores, remarks = read(READERS[name], from_values(*foreign))
    assert (calls, scores) == ([], [])
    assert sum(remarks.values()) == len(foreign)


def small(value: object) -> object:
    """A record without its longest parts: damage should meet what a reader reads."""
    if isinstance(value, dict):
        skipped = ("events", "events_data", "config", "configs", "model_args", "tokenUsage", "stats", "plan")
        return {key: small(one) for key, one in value.items() if key not in skipped}
    return [small(one) for one in value[:2]] if isinstance(value, list) else value


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_no_damage_breaks_a_reader(name, data):
    values = data.draw(damaged([small(value) for value in OWN[name]]))
    path = SAMPLE_FILES["lm-eval"][1]  # beside a results file
    require_valid(READERS[name], from_values(*values, path=path))


CONTENTS = ("messages", "raw", "input", "arg_0", "conversation_a")


def with_contents(value: object, content: object) -> object:
    """A record whose question is replaced."""
    if isinstance(value, dict):
        return {key: content if key in CONTENTS else with_contents(one, content) for key, one in value.items()}
    return [with_contents(one, content) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", READERS)
def test_deep_nesting_is_remarked(name):
    deep: object = "x"
    for _ in range(970):  # JSON can be read to this depth, but not written from within a program
        deep = {"y": deep}
    own = with_contents(small(OWN[name][0 if name != "lm-evaluation-harness" else 1]), deep)
    remarks = Remarks()
    assert list(READERS[name].read([Record(own, "x line 1", SAMPLE_FILES["lm-eval"][1])], remarks)) == []
    assert list(remarks.counts) == [TOO_DEEP]
