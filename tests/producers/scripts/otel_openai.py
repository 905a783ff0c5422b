"""OpenTelemetry: one of four instrumentations of the OpenAI client, and the exporter that writes OTLP JSON to files.

python otel_openai.py FOLDER {genai,openai_v2,openllmetry,openinference}
"""

from __future__ import annotations

import importlib
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import openai
from invented_calls import SERVED, TOOL, Manifest, PlannedCall, planned_calls
from mock_server import MockServer
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.json.file._log_exporter import FileLogExporter
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

INSTRUMENTATIONS = {
    "genai": "opentelemetry.instrumentation.genai.openai",
    "openai_v2": "opentelemetry.instrumentation.openai_v2",
    "openllmetry": "opentelemetry.instrumentation.openai",
    "openinference": "openinference.instrumentation.openai",
}


def main(folder: str, dialect: str) -> None:
    """Make every call in a trace of its own, and write spans and log events."""
    resource = Resource.create({"service.name": "parcel-bot"})
    spans, logs = TracerProvider(resource=resource), LoggerProvider(resource=resource)
    spans.add_span_processor(SimpleSpanProcessor(FileSpanExporter(f"{folder}/spans.jsonl")))
    logs.add_log_record_processor(SimpleLogRecordProcessor(FileLogExporter(f"{folder}/logs.jsonl")))
    providers = {"tracer_provider": spans}
    if dialect in ("genai", "openai_v2"):
        providers["logger_provider"] = logs
    importlib.import_module(INSTRUMENTATIONS[dialect]).OpenAIInstrumentor().instrument(**providers)
    server, manifest = MockServer(), Manifest()
    client = openai.OpenAI(base_url=f"{server.address}/v1", api_key="none", max_retries=0)
    tracer, logger = spans.get_tracer("parcel-bot"), logs.get_logger("parcel-bot")
    for call in planned_calls():
        server.next = call
        with attributes_of(dialect, call), tracer.start_as_current_span("turn", attributes=turn(dialect, call)):
            ask(client, call)
            if call.thumb is not None and dialect != "openinference":
                logger.emit(thumb_event(call.thumb))
        manifest.add(call, model=call.model + ("" if call.kind == "error" else SERVED))
    spans.shutdown()
    logs.shutdown()
    manifest.write(folder)


def attributes_of(dialect: str, call: PlannedCall) -> AbstractContextManager[Any]:
    """OpenInference puts session and user on every span by itself."""
    if dialect != "openinference":
        return nullcontext()
    from openinference.instrumentation import using_attributes

    return using_attributes(session_id=call.conversation, user_id=call.user, tags=["exp"], metadata={"arm": "test"})


def turn(dialect: str, call: PlannedCall) -> dict[str, Any]:
    """The attributes of the application's own span around the call."""
    if dialect != "openinference":
        return {"session.id": call.conversation, "user.id": call.user}
    attributes: dict[str, Any] = {"openinference.span.kind": "CHAIN"}
    if call.thumb is not None:
        start = "annotations.0.annotation"
        named = {f"{start}.name": "thumbs", f"{start}.annotator_kind": "HUMAN"}
        attributes |= {**named, f"{start}.score": float(call.thumb)}
    return attributes


def ask(client: openai.OpenAI, call: PlannedCall) -> None:
    """One call of the model, with tools where the plan has some."""
    tools: dict[str, Any] = {"tools": [TOOL]} if call.conversation == "conversation-tool" else {}
    try:
        client.chat.completions.create(model=call.model, messages=list(call.messages), user=call.user, **tools)
    except openai.BadRequestError:
        if call.kind != "error":
            raise


def thumb_event(thumb: int) -> LogRecord:
    """The event of an evaluation, on the span of the turn."""
    attributes = {"gen_ai.evaluation.name": "thumbs", "gen_ai.evaluation.score.value": float(thumb)}
    return LogRecord(event_name="gen_ai.evaluation.result", attributes=attributes)


if __name__ == "__main__":
    main(*sys.argv[1:])
