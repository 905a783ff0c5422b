"""Langfuse: the spans that its own client writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from deconfound.chat.answers import answers_from
from deconfound.chat.conversation import messages_from
from deconfound.traces.field_values import attributes_from, first_text, json_from, tags_from, text_from
from deconfound.traces.otlp_dialect import Attributes, Exchange, SpanRole, under

ROLES_OF_TYPES: Mapping[str, SpanRole] = {
    "generation": "call",
    "span": "around",
    "agent": "around",
    "chain": "around",
    "evaluator": "evaluator",
    "tool": "step",
    "retriever": "step",
    "embedding": "step",
    "guardrail": "step",
    "event": "step",
}
NAMED = {
    "prompt.name": "langfuse.observation.prompt.name",
    "prompt.version": "langfuse.observation.prompt.version",
    "environment": "langfuse.environment",
    "release": "langfuse.release",
}


@dataclass(frozen=True, slots=True)
class Langfuse:
    """Attributes named ``langfuse.*``."""

    prefixes: ClassVar[tuple[str, ...]] = ("langfuse.",)

    def role(self, attributes: Attributes) -> SpanRole | None:
        """By the type of the observation."""
        return ROLES_OF_TYPES.get(text_from(attributes.get("langfuse.observation.type")).lower())

    def exchange(self, attributes: Attributes) -> Exchange:
        """The call; Langfuse has one name of the model, which may be the requested or the served one."""
        return Exchange(
            model=text_from(attributes.get("langfuse.observation.model.name")),
            messages=messages_from(attributes.get("langfuse.observation.input")),
            answers=answers_from(attributes.get("langfuse.observation.output")),
            attributes=trace_attributes(attributes) | _own_attributes(attributes),
            failed=attributes.get("langfuse.observation.level") == "ERROR",
        )


def trace_attributes(attributes: Attributes) -> dict[str, str]:
    """Tags and metadata that a span states for its whole trace."""
    if not any(key.startswith("langfuse.trace.") for key in attributes):
        return {}
    return {**_metadata(attributes, "langfuse.trace.metadata"), **tags_from(attributes.get("langfuse.trace.tags"))}


def _own_attributes(attributes: Attributes) -> dict[str, str]:
    named = {name: first_text(attributes.get(key)) for name, key in NAMED.items()}
    present = {name: value for name, value in named.items() if value}
    return {**_metadata(attributes, "langfuse.observation.metadata"), **present}


def _metadata(attributes: Attributes, prefix: str) -> dict[str, str]:
    decoded = {key: json_from(value) for key, value in under(attributes, prefix).items()}
    return {**attributes_from(json_from(attributes.get(prefix)), "metadata"), **attributes_from(decoded, "metadata")}
