"""OpenInference (Arize, Phoenix): messages are one attribute per value, and spans may have annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from deconfound.chat.answers import Answer, answers_from
from deconfound.chat.conversation import Message, messages_from
from deconfound.traces.field_values import attributes_from, first_text, json_from, mapping_from, tags_from, text_from
from deconfound.traces.otlp_dialect import Attributes, Exchange, SpanRole
from deconfound.traces.otlp_lists import listed, listed_in

REDACTED = "__REDACTED__"  # instead of a text that a switch hides
ROLES_OF_KINDS: Mapping[str, SpanRole] = {
    "LLM": "call",
    "AGENT": "around",
    "CHAIN": "around",
    "EVALUATOR": "evaluator",
    "TOOL": "step",
    "RETRIEVER": "step",
    "RERANKER": "step",
    "EMBEDDING": "step",
    "GUARDRAIL": "step",
    "PROMPT": "step",
}


@dataclass(frozen=True, slots=True)
class OpenInference:
    """Attributes named ``openinference.span.kind`` and ``llm.*``."""

    prefixes: ClassVar[tuple[str, ...]] = ("openinference.", "llm.", "input.", "output.", "metadata", "tag.")

    def role(self, attributes: Attributes) -> SpanRole | None:
        """By the kind of the span."""
        return ROLES_OF_KINDS.get(text_from(attributes.get("openinference.span.kind")).upper())

    def exchange(self, attributes: Attributes) -> Exchange:
        """The call; texts that a switch hides are no messages."""
        parameters = mapping_from(attributes.get("llm.invocation_parameters"))
        response = mapping_from(attributes.get("output.value"))
        requested = first_text(attributes.get("llm.request.model_name"), parameters.get("model"))
        return Exchange(
            model=first_text(attributes.get("llm.response.model_name"), attributes.get("llm.model_name")),
            requested_model=requested or text_from(mapping_from(attributes.get("input.value")).get("model")),
            provider=first_text(attributes.get("llm.provider"), attributes.get("llm.system")),
            response_id=text_from(response.get("id")),
            messages=_messages(attributes),
            answers=_answers(attributes),
            finish_reasons=(text_from(attributes.get("llm.finish_reason")),),
            attributes=_metadata(attributes),
        )


def _metadata(attributes: Attributes) -> dict[str, str]:
    decoded = json_from(attributes.get("metadata"))
    return {**attributes_from(decoded, "metadata"), **tags_from(attributes.get("tag.tags"))}


def _messages(attributes: Attributes) -> tuple[Message, ...]:
    spoken = [_message(one) for one in listed(attributes, "llm.input_messages")]
    found = messages_from(spoken or _texts(attributes, "llm.prompts", "prompt") or attributes.get("input.value"))
    return () if any(REDACTED in message.text for message in found) else found


def _answers(attributes: Attributes) -> tuple[Answer, ...]:
    spoken = [{**_message(one), "role": "assistant"} for one in listed(attributes, "llm.output_messages")]
    found = answers_from(spoken or _texts(attributes, "llm.choices", "completion") or attributes.get("output.value"))
    return () if any(REDACTED in answer.text for answer in found) else found


def _texts(attributes: Attributes, prefix: str, key: str) -> list[object]:
    """Of the older completions, which have no messages."""
    return [mapping_from(one.get(key)).get("text") for one in listed(attributes, prefix)]


def _message(value: Mapping[str, Any]) -> dict[str, Any]:
    message = mapping_from(value.get("message"))
    parts = [_part(mapping_from(one.get("message_content"))) for one in listed_in(message, "contents")]
    return {
        "role": first_text(message.get("role")) or "user",
        "content": parts or message.get("content"),
        "tool_calls": [mapping_from(one.get("tool_call")) for one in listed_in(message, "tool_calls")],
    }


def _part(content: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": first_text(content.get("type")) or "text", "text": text_from(content.get("text"))}
