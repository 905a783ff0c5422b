"""One invented call in every dialect of OTLP, as attributes of its span."""

from __future__ import annotations

import json
from typing import Any

from deconfound.chat.conversation import Message
from deconfound.traces.call import Call
from deconfound.traces.otlp_reader import Otlp
from tests.support.otlp_documents import span_of, spans_document
from tests.support.trace_records import read_values

SYSTEM, QUESTION, ANSWER = "Be brief.", "Where is my parcel?", "In Graz."
EXPECTED = (Message("system", SYSTEM), Message("user", QUESTION))
OPENAI = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
PARTS = [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]
SAID = [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}]
MODELS = {"gen_ai.request.model": "cedar-2", "gen_ai.response.model": "cedar-2-0901", "gen_ai.response.id": "r-77"}
GENAI = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    **MODELS,
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": SYSTEM}]),
    "gen_ai.input.messages": json.dumps(PARTS),
    "gen_ai.output.messages": json.dumps(SAID),
}
EVENTS = [
    {"event.name": "gen_ai.system.message", "content": SYSTEM, "role": "system"},
    {"event.name": "gen_ai.user.message", "content": QUESTION, "role": "user"},
    {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": ANSWER}},
]
OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "cedar-2-0901",
    "llm.request.model_name": "cedar-2",
    "llm.provider": "openai",
    "output.value": json.dumps({"id": "r-77", "choices": []}),
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.contents.0.message_content.type": "text",
    "llm.input_messages.0.message.contents.0.message_content.text": SYSTEM,
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.content": QUESTION,
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": ANSWER,
}
DIALECTS = {
    "GenAI": GENAI,
    "GenAI without an operation": {key: one for key, one in GENAI.items() if key != "gen_ai.operation.name"},
    "events in an attribute": {"gen_ai.operation.name": "chat", **MODELS, "events": json.dumps(EVENTS)},
    "OpenInference": OPENINFERENCE,
    "OpenInference, whole request": {
        "openinference.span.kind": "LLM",
        "llm.model_name": "cedar-2-0901",
        "input.value": json.dumps({"model": "cedar-2", "messages": OPENAI}),
        "output.value": json.dumps({"id": "r-77", "choices": [{"message": {"content": ANSWER}}]}),
    },
    "older OpenLLMetry": {
        "llm.request.type": "chat",
        **MODELS,
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": SYSTEM,
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": json.dumps([{"type": "text", "text": QUESTION}]),
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": ANSWER,
        "gen_ai.completion.0.finish_reason": "stop",
    },
    "Langfuse": {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "cedar-2-0901",
        "langfuse.observation.input": json.dumps(OPENAI),
        "langfuse.observation.output": json.dumps({"role": "assistant", "content": ANSWER}),
    },
    "Vercel": {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.id": "cedar-2",
        "ai.model.provider": "openai.chat",
        "ai.response.model": "cedar-2-0901",
        "ai.response.id": "r-77",
        "ai.prompt.messages": json.dumps(
            [{"role": "system", "content": SYSTEM}, {"role": "user", "content": [{"type": "text", "text": QUESTION}]}]
        ),
        "ai.response.text": ANSWER,
        "ai.response.finishReason": "stop",
        "gen_ai.system": "openai.chat",
        **MODELS,
    },
}


def only_call(attributes: dict[str, Any], *others: dict[str, Any], **fields: object) -> Call:
    """The call of a span with these attributes, which is the only one."""
    calls, _, _ = read_values(Otlp(), [spans_document(span_of(attributes, **fields)), *others])
    assert len(calls) == 1
    return calls[0]
