"""LangSmith's wrapper of the OpenAI client, as its client posts runs and feedback: every call once, with its thumb."""

from __future__ import annotations

import pytest

from tests.producers.environments import Producer
from tests.producers.manifests import (
    assert_same,
    converted_rows,
    expected_calls,
    expected_rows,
    load_manifest,
    read_files,
)

pytestmark = pytest.mark.slow

LANGSMITH = Producer(
    "langsmith",
    ("langsmith==0.14.17", "openai==3.49.0", "httpx==0.28.1"),
    variables={"LANGSMITH_TRACING": "true"},
)


def test_every_call_is_read_once(installed, tmp_path):
    output = installed(LANGSMITH).run_script("langsmith_client.py", tmp_path / "output")
    manifest, files = load_manifest(output), [output / "runs.jsonl", output / "feedback.jsonl"]
    traces, calls = read_files(files)
    assert len(manifest) == 29
    assert_same(calls, expected_calls(manifest))
    assert traces.remarks.counts == {"runs are not calls of a model": 29}  # the application's own runs
    assert all({("metadata.arm", "test"), ("tag.exp", "true")} <= set(call.attributes) for call in traces.table.calls)
    rows = converted_rows(files, tmp_path, "--outcome", "thumbs")  # its client does not say who gave it
    assert_same(rows, expected_rows(manifest))
