"""OpenLLMetry (Traceloop): attributes of its versions before the conventions of OpenTelemetry, and its associations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from deconfound.chat.answers import Answer, answers_from
from deconfound.chat.conversation import Message, messages_from
from deconfound.chat.message_content import decode
from deconfound.traces.field_values import attributes_from, first_text, text_from
from deconfound.traces.otlp_dialect import Attributes, Exchange, SpanRole, under
from deconfound.traces.otlp_lists import listed, listed_in

ASSOCIATIONS = "traceloop.association.properties"
ROLES_OF_REQUESTS: Mapping[str, SpanRole] = {"chat": "call", "completion": "call"}
ROLES_OF_KINDS: Mapping[str, SpanRole] = {"workflow": "around", "task": "around", "agent": "around", "tool": "step"}


@dataclass(frozen=True, slots=True)
class OpenLlmetry:
    """Attributes named ``gen_ai.prompt.0.content``, ``llm.request.type`` and ``traceloop.*``."""

    prefixes: ClassVar[tuple[str, ...]] = ("traceloop.", "llm.", "gen_ai.prompt.", "gen_ai.completion.")

    def role(self, attributes: Attributes) -> SpanRole | None:
        """By the type of the request; the spans of Traceloop's decorators are around calls."""
        request, kind = text_from(attributes.get("llm.request.type")), text_from(attributes.get("traceloop.span.kind"))
        if request:
            return ROLES_OF_REQUESTS.get(request, "step")
        return ROLES_OF_KINDS.get(kind)

    def exchange(self, attributes: Attributes) -> Exchange:
        """The call; the names of its model are those of OpenTelemetry."""
        return Exchange(
            messages=_messages(attributes),
            answers=_answers(attributes, recorded=bool(_messages(attributes))),
            attributes=attributes_from(under(attributes, ASSOCIATIONS), "metadata"),
        )


def _messages(attributes: Attributes) -> tuple[Message, ...]:
    found = listed(attributes, "gen_ai.prompt") or listed(attributes, "llm.prompts")
    messages = [_message(one) for one in found]
    return messages_from(messages) if any(_has_content(one) for one in messages) else ()


def _answers(attributes: Attributes, *, recorded: bool) -> tuple[Answer, ...]:
    """The answers; one without a text is empty if the texts of the call are ``recorded``."""
    found = listed(attributes, "gen_ai.completion") or listed(attributes, "llm.completions")
    messages = [{**_message(one), "role": "assistant"} for one in found]
    return answers_from(messages) if recorded or any(_has_content(one) for one in messages) else ()


def _message(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "role": first_text(value.get("role")) or "user",
        "content": decode(value.get("content", value.get("refusal"))),  # parts are JSON in a text
        "tool_calls": listed_in(value, "tool_calls"),
        "finish_reason": value.get("finish_reason"),
    }


def _has_content(message: Mapping[str, Any]) -> bool:
    return message["content"] is not None or bool(message["tool_calls"])
