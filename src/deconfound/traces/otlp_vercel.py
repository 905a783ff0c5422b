"""The AI SDK of Vercel: attributes named ``ai.*`` beside those of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from deconfound.chat.answers import Answer, answers_from
from deconfound.chat.conversation import Message, messages_from
from deconfound.traces.field_values import attributes_from, first_text, list_from, text_from
from deconfound.traces.otlp_dialect import Attributes, Exchange, SpanRole, under

CONTEXTS = ("ai.telemetry.metadata", "ai.settings.context")
"""Where the application's own values are: up to version 6, and from version 7."""
PART_TYPES = {"tool-call": "tool_call", "tool-result": "tool_result"}


@dataclass(frozen=True, slots=True)
class Vercel:
    """Only ``doGenerate`` and ``doStream`` are requests to a model; the spans around them repeat their texts."""

    prefixes: ClassVar[tuple[str, ...]] = ("ai.",)

    def role(self, attributes: Attributes) -> SpanRole | None:
        """By the name of the operation, such as ``ai.generateText.doGenerate``."""
        operation = text_from(attributes.get("ai.operationId"))
        if not operation.startswith("ai."):
            return None
        if operation.startswith(("ai.embed", "ai.toolCall")):
            return "step"
        return "call" if operation.endswith((".doGenerate", ".doStream")) else "around"

    def exchange(self, attributes: Attributes) -> Exchange:
        """The call."""
        return Exchange(
            model=first_text(attributes.get("ai.response.model"), attributes.get("ai.model.id")),
            requested_model=text_from(attributes.get("ai.model.id")),
            provider=text_from(attributes.get("ai.model.provider")).partition(".")[0],  # such as "openai.chat"
            response_id=text_from(attributes.get("ai.response.id")),
            messages=_messages(attributes),
            answers=_answers(attributes),
            finish_reasons=(text_from(attributes.get("ai.response.finishReason")),),
            attributes=_own_attributes(attributes),
        )


def _messages(attributes: Attributes) -> tuple[Message, ...]:
    return messages_from([_message(one) for one in list_from(attributes.get("ai.prompt.messages"))])


def _own_attributes(attributes: Attributes) -> dict[str, str]:
    return {
        name: one for start in CONTEXTS for name, one in attributes_from(under(attributes, start), "metadata").items()
    }


def _answers(attributes: Attributes) -> tuple[Answer, ...]:
    """The answer; without any of its attributes, outputs were not recorded."""
    recorded = [attributes[key] for key in ("ai.response.text", "ai.response.object") if key in attributes]
    calls = [_part(one) for one in list_from(attributes.get("ai.response.toolCalls"))]
    said = first_text(*recorded)
    spoken = [{"type": "text", "text": said}] if said or (recorded and not calls) else []
    return answers_from({"role": "assistant", "content": [*spoken, *calls]}) if spoken or calls else ()


def _message(value: object) -> object:
    if not isinstance(value, Mapping) or not isinstance(value.get("content"), list):
        return value
    return {**value, "content": [_part(part) for part in value["content"]]}


def _part(value: object) -> object:
    """A part with the names of other providers; an image is a file with a type of images."""
    if not isinstance(value, Mapping):
        return value
    if "toolName" not in value:
        kind = text_from(value.get("mediaType")).partition("/")[0]
        return {**value, "modality": kind} if value.get("type") == "file" else value
    kind = PART_TYPES.get(text_from(value.get("type")), "tool_call")
    if kind == "tool_call":
        return {"type": kind, "name": value["toolName"], "arguments": _first(value, ("input", "args"))}
    return {"type": kind, "content": _output(_first(value, ("output", "result")))}


def _output(value: object) -> object:
    """The result of a tool, which newer versions wrap with its type."""
    wrapped = isinstance(value, Mapping) and set(value) == {"type", "value"}
    return value["value"] if wrapped and isinstance(value, Mapping) else value


def _first(value: Mapping[str, Any], keys: tuple[str, ...]) -> object:
    return next((value[key] for key in keys if value.get(key) is not None), {})
