"""Langfuse: its client and its wrapper of the OpenAI client, with spans exported to a file of OTLP JSON.

python langfuse_client.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import openai
from invented_calls import SERVED, TOOL, Manifest, PlannedCall, planned_calls
from langfuse import Langfuse, propagate_attributes
from langfuse.openai import OpenAI
from mock_server import MockServer
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter


def main(folder: str) -> None:
    """Make every call in a trace of its own; every third one is recorded by hand instead of by the wrapper."""
    server, manifest, thumbs = MockServer(), Manifest(), []
    exporter = FileSpanExporter(f"{folder}/spans.jsonl")
    langfuse = Langfuse(
        public_key="pk-none",
        secret_key="sk-none",  # noqa: S106
        base_url=server.address,
        span_exporter=exporter,
    )
    client = OpenAI(base_url=f"{server.address}/v1", api_key="none", max_retries=0)
    for number, call in enumerate(planned_calls()):
        server.next = call
        names = {"user_id": call.user, "session_id": call.conversation, "tags": ["exp"], "metadata": {"arm": "test"}}
        with langfuse.start_as_current_observation(name="turn", as_type="chain"), propagate_attributes(**names):
            by_hand = number % 3 == 2
            (record if by_hand else ask)(langfuse, client, call)
            manifest.add(
                call, model=call.model + ("" if by_hand or call.kind == "error" else SERVED), flags=flags(call)
            )
            if call.thumb is not None:
                thumbs.append(f"{langfuse.get_current_trace_id()},{call.thumb}")
    langfuse.shutdown()
    manifest.write(folder)
    Path(folder, "feedback.csv").write_text("\n".join(["trace_id,thumbs", *thumbs]) + "\n", encoding="utf-8")


def flags(call: PlannedCall) -> list[str]:
    """Langfuse does not record why an answer ended."""
    return [] if call.kind == "truncated" else call.flags


def ask(_: Langfuse, client: OpenAI, call: PlannedCall) -> None:
    """One call of the model through the wrapper."""
    tools = {"tools": [TOOL]} if call.conversation == "conversation-tool" else {}
    try:
        client.chat.completions.create(model=call.model, messages=list(call.messages), **tools)
    except openai.BadRequestError:
        if call.kind != "error":
            raise


def record(langfuse: Langfuse, _: OpenAI, call: PlannedCall) -> None:
    """A generation that the application records itself."""
    names = {"name": "answer", "as_type": "generation", "model": call.model}
    with langfuse.start_as_current_observation(**names, input=list(call.messages)) as generation:
        failed = call.kind == "error"
        generation.update(output=None if failed else call.reply, level="ERROR" if failed else None)


if __name__ == "__main__":
    main(sys.argv[1])
