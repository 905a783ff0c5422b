"""A record is recognized by the reader of its format and by no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from deconfound.traces.reader import Remarks
from deconfound.traces.records import records_of
from deconfound.traces.trace_files import files_of
from deconfound.traces.trace_readers import READERS, recognize

SAMPLES = Path(__file__).parent / "samples"
OWN_SAMPLES = {"litellm.jsonl": "LiteLLM", "lf_obs.parquet": "Langfuse"}
OTHERS = {
    "OTLP": {"resourceSpans": [{"resource": {}, "scopeSpans": []}]},
    "MLflow": {"info": {"trace_id": "t", "assessments": []}, "data": {"spans": []}},
    "promptfoo": {"evalId": "e", "results": {"version": 3, "results": []}},
    "Inspect": {"version": 2, "eval": {"model": "m"}, "samples": []},
    "lm-eval": {"doc_id": 0, "doc": {}, "target": "a", "filtered_resps": ["b"]},
    "batch": {"custom_id": "1", "response": {"body": {"choices": []}}},
    "Phoenix": {
        "id": "x",
        "name": "n",
        "context": {"trace_id": "t", "span_id": "s"},
        "span_kind": "LLM",
        "attributes": {},
    },
    "Phoenix annotation": {"id": "x", "name": "n", "annotator_kind": "HUMAN", "result": {"score": 1}, "source": "API"},
    "LangSmith": {
        "id": "r",
        "run_type": "llm",
        "dotted_order": "1",
        "trace_id": "t",
        "session_id": "p",
        "start_time": "2026",
    },
    "Opik": {"id": "s", "trace_id": "t", "type": "llm", "start_time": "2026", "input": {}, "feedback_scores": []},
    "Opik file": {"trace": {"id": "t"}, "spans": []},
    "Braintrust": {"id": "b", "span_attributes": {}, "root_span_id": "r", "scores": {}, "input": "x"},
    "Helicone": {"request_id": "h", "request_body": {}, "response_body": {}, "helicone_user": "u"},
    "arena": {"conversation_a": [], "conversation_b": [], "winner": "model_a"},
    "a table": {"context": "x", "model": "m", "outcome": 1},
    "another gateway": {"call_type": "completion", "model": "m", "startTime": 1},
    "other scores": {"id": "s", "name": "n", "data_type": "NUMERIC", "source": "spreadsheet", "trace_id": "t"},
    "nothing": {},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_formats_are_not_taken_for_ours(name):
    assert not [
        reader.name for reader in READERS if reader.name in OWN_SAMPLES.values() and reader.recognizes(OTHERS[name])
    ]


def test_the_samples_of_all_formats_are_recognized_by_one_reader_at_most():
    remarks = Remarks()
    for file in files_of([SAMPLES], remarks):
        for record in records_of(file, remarks):
            names = [reader.name for reader in READERS if reader.recognizes(record.value)]
            assert len(names) <= 1, record.origin
            if file.path.name in OWN_SAMPLES:
                assert names == [OWN_SAMPLES[file.path.name]]
            else:
                assert not set(names) & set(OWN_SAMPLES.values())


def test_recognize_finds_the_reader():
    for record in {"call_type": "completion", "model": "m", "startTime": 1, "model_group": "g"}, OTHERS["nothing"]:
        reader = recognize(record)
        assert (reader.name if reader else None) == ("LiteLLM" if record else None)


def test_every_reader_says_its_name_and_how_to_record_content():
    assert len({reader.name for reader in READERS}) == len(READERS)
    assert all(not reader.content_switch or reader.content_switch.endswith(".") for reader in READERS)
