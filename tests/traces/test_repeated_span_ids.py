"""The id of a span is unique only within its trace."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from deconfound.cli import main
from tests.support.litellm_calls import write_jsonl, write_table
from tests.support.otlp_documents import SPAN, event_of, logs_document, span_of, spans_document
from tests.support.trace_records import sample_values

TRACES = ("0a" * 16, "0b" * 16)


def text(role, words):
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": words}]}])


def span(trace):
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.response.model": "cedar-2",
        "gen_ai.input.messages": text("user", f"in {trace}"),
        "gen_ai.output.messages": text("assistant", "!"),
    }
    return span_of(attributes, traceId=trace)


def thumb(trace, value):
    attributes = {"gen_ai.evaluation.name": "thumb", "gen_ai.evaluation.score.value": value}
    return event_of("gen_ai.evaluation.result", attributes, traceId=trace)


def converted(folder, *options):
    code = main(["convert", str(folder / "traces.jsonl"), "-o", str(folder / "study"), *map(str, options)])
    assert code == 0
    rows = pq.read_table(folder / "study" / "log.parquet").to_pylist()
    return {row["context"].removeprefix("in "): row["outcome"] for row in rows}


@pytest.fixture
def _spans(tmp_path):
    write_jsonl(tmp_path / "traces.jsonl", [spans_document(*map(span, TRACES))])


def test_scores_of_spans_judge_the_span_of_their_trace(tmp_path):
    events = logs_document(thumb(TRACES[0], 0.0), thumb(TRACES[1], 1.0))
    write_jsonl(tmp_path / "traces.jsonl", [spans_document(*map(span, TRACES)), events])
    assert converted(tmp_path, "--outcome", "thumb") == dict(zip(TRACES, (0.0, 1.0), strict=True))


@pytest.mark.usefixtures("_spans")
def test_feedback_with_both_ids_is_joined_by_both(tmp_path):
    rows = [(SPAN, TRACES[0], 0), (SPAN, TRACES[1], 1)]
    feedback = write_table(tmp_path / "f.csv", "span_id,trace_id,rating", rows)
    assert converted(tmp_path, "--outcomes", feedback) == dict(zip(TRACES, (0.0, 1.0), strict=True))


@pytest.mark.usefixtures("_spans")
def test_feedback_with_the_span_alone_judges_none(tmp_path, capsys):
    feedback = write_table(tmp_path / "f.csv", "span_id,rating", [(SPAN, 1)])
    assert set(converted(tmp_path, "--outcomes", feedback).values()) == {None}
    assert "1 score without a row: calls of several traces" in capsys.readouterr().out


def test_assessments_of_mlflow_judge_the_span_of_their_trace(tmp_path):
    values = []
    for number in range(2):
        value = json.loads(json.dumps(sample_values("mlflow_traces.jsonl")[1]))
        value["info"]["trace_id"] = f"tr-{number}"
        judged = {"span_id": "172ed76fa35c1cf4", "source": {"source_type": "HUMAN", "source_id": "u"}}
        judged |= {"assessment_id": f"a{number}", "assessment_name": "thumb", "feedback": {"value": number}}
        value["info"]["assessments"] = [judged]
        question = {"messages": [{"role": "user", "content": f"in {number}"}]}
        value["data"]["spans"][1]["attributes"]["mlflow.spanInputs"] = json.dumps(question)
        values.append(value)
    write_jsonl(tmp_path / "traces.jsonl", values)
    assert converted(tmp_path) == {"0": 0.0, "1": 1.0}
