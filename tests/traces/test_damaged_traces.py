"""Readers of OpenTelemetry, MLflow and LangSmith never fail, whatever is in the records."""

from __future__ import annotations

import json
from functools import cache, partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deconfound.traces.langsmith import LangSmith
from deconfound.traces.mlflow_traces import Mlflow
from deconfound.traces.otlp_reader import Otlp
from tests.support.json_damage import damaged, json_values, keys_in, objects, require_valid
from tests.support.otlp_documents import event_of, logs_document, span_of, spans_document
from tests.support.trace_records import from_values, sample_values

EXAMPLES = 25
FLAT = {
    "openinference.span.kind": "LLM",
    "llm.input_messages.0.message.content": "a",
    "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "f",
    "annotations.0.annotation.name": "n",
    "annotations.0.annotation.score": 1,
    "gen_ai.prompt.0.content": "a",
    "langfuse.observation.input": "[]",
    "ai.prompt.messages": "[]",
    "ai.response.toolCalls": '[{"toolName": "f"}]',
    "events": '[{"event.name": "gen_ai.choice", "message": {"content": "x"}}]',
    "metadata": '{"a": {"b": 1}}',
    "tag.tags": ["a"],
}
SPAN = span_of(FLAT, events=[{"name": "gen_ai.choice", "attributes": []}], links=[{"traceId": "a", "spanId": "b"}])
SCORE = event_of("gen_ai.evaluation.result", {"gen_ai.evaluation.name": "n", "gen_ai.evaluation.score.value": 1})
RUN = {
    "id": "r",
    "run_type": "llm",
    "trace_id": "t",
    "parent_run_id": "t",
    "start_time": "2026-10-02T08:11:04",
    "inputs": {"messages": [[{"lc": 1, "id": ["HumanMessage"], "kwargs": {"content": "a"}}]], "prompts": ["a"]},
    "outputs": {"generations": [[{"text": "a", "generation_info": {}, "message": {"kwargs": {"content": "a"}}}]]},
    "extra": {"metadata": {"thread_id": "c"}, "invocation_params": {"model": "m"}},
    "tags": ["a"],
    "feedback_stats": {"a": {"n": 1}},
    "child_runs": [{"id": "s", "run_type": "tool", "inputs": {}}],
}
FEEDBACK = {
    "id": "f",
    "run_id": "r",
    "key": "k",
    "score": 1,
    "created_at": "2026-10-02",
    "feedback_source": {"type": "app"},
}


@cache
def examples(name):
    if name == "otlp":
        files = ("genai.spans.jsonl", "genai.logs.jsonl", "v2old.spans.jsonl", "v2old.logs.jsonl", "oi.spans.jsonl")
        return Otlp(), [*sample_values(*files), spans_document(SPAN), logs_document(SCORE)]
    if name == "mlflow":
        traces = sample_values("mlflow_traces.jsonl")[:2]
        spans = traces[0]["data"]["spans"]
        row = {"trace_id": "t", "spans": spans, "assessments": traces[0]["info"]["assessments"], "trace_metadata": {}}
        return Mlflow(), [*traces, row]
    return LangSmith(), [RUN, FEEDBACK, {"runs": [RUN]}]


@pytest.mark.parametrize("name", ["otlp", "mlflow", "langsmith"])
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damaged_records_never_fail(name, data):
    reader, values = examples(name)
    require_valid(reader, from_values(*data.draw(damaged(values)), *values[-2:]))


@pytest.mark.parametrize("name", ["otlp", "mlflow", "langsmith"])
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_objects_never_fail(name, data):
    reader, values = examples(name)
    keys = keys_in(values)
    require_valid(reader, from_values(*data.draw(st.lists(objects(keys, json_values(keys)), max_size=4))))


@pytest.mark.parametrize("name", ["otlp", "mlflow", "langsmith"])
def test_deep_nesting_and_huge_numbers_never_fail(name):
    reader, values = examples(name)
    deep: object = "x"
    nested: object = "x"
    for _ in range(900):
        deep, nested = {"role": "user", "content": [deep]}, {"a": nested}
    for junk in (deep, nested, 10**400, float("inf"), "9" * 5000, "\ud800", "[" * 3000):
        for value in values:
            everywhere = json.loads(json.dumps(value), object_hook=partial(with_junk, junk))
            require_valid(reader, from_values(everywhere, *({**value, key: junk} for key in value)))


def with_junk(junk, value):
    return {key: junk if isinstance(one, str) else one for key, one in value.items()}
