"""The conventions of OpenTelemetry for generative AI from 1.37: messages are attributes of the span or of one event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from deconfound.chat.answers import answers_from
from deconfound.chat.conversation import messages_from
from deconfound.traces.field_values import first_text, json_from, list_from, text_from
from deconfound.traces.otlp_dialect import Attributes, Exchange, SpanRole

DETAILS_EVENT = "gen_ai.client.inference.operation.details"
CALLS = ("chat", "text_completion", "generate_content")
AROUND = ("invoke_agent", "create_agent", "invoke_workflow", "plan")
SIGNS_OF_A_CALL = ("gen_ai.output.messages", "gen_ai.response.id", "gen_ai.response.finish_reasons")


@dataclass(frozen=True, slots=True)
class GenAi:
    """Attributes named ``gen_ai.*``."""

    prefixes: ClassVar[tuple[str, ...]] = ("gen_ai.",)

    def role(self, attributes: Attributes) -> SpanRole | None:
        """By the operation, which older instrumentations leave out."""
        operation = text_from(attributes.get("gen_ai.operation.name"))
        if operation:
            return "call" if operation in CALLS else "around" if operation in AROUND else "step"
        named = "gen_ai.request.model" in attributes or "gen_ai.response.model" in attributes
        return "call" if named and any(key in attributes for key in SIGNS_OF_A_CALL) else None

    def exchange(self, attributes: Attributes) -> Exchange:
        """The call; messages whose text was not recorded are no messages."""
        asked, asked_damaged = _recorded(attributes.get("gen_ai.input.messages"))
        said, said_damaged = _recorded(attributes.get("gen_ai.output.messages"))
        system, system_damaged = _recorded(attributes.get("gen_ai.system_instructions"))
        requested = text_from(attributes.get("gen_ai.request.model"))
        return Exchange(
            model=first_text(attributes.get("gen_ai.response.model"), requested),
            requested_model=requested,
            provider=first_text(attributes.get("gen_ai.provider.name"), attributes.get("gen_ai.system")),
            response_id=text_from(attributes.get("gen_ai.response.id")),
            messages=messages_from({"messages": asked, "system_instructions": system}) if asked else (),
            answers=answers_from(said) if said else (),
            finish_reasons=tuple(map(text_from, list_from(attributes.get("gen_ai.response.finish_reasons")))),
            failed=bool(attributes.get("error.type")),
            damaged=asked_damaged or said_damaged or system_damaged,
        )


def _recorded(value: object) -> tuple[Any, bool]:
    """Messages or parts with their text, and whether they are damaged; nothing if any text is missing."""
    decoded = json_from(value)
    if isinstance(decoded, str):
        is_cut = decoded.lstrip().startswith(("[", "{"))
        return (None, True) if is_cut else (decoded or None, False)
    if not isinstance(decoded, list) or any(hides_text(one) for one in decoded):
        return None, False
    return decoded, False


def hides_text(value: object) -> bool:
    """Whether a message or a part is there, but its text was not recorded."""
    if not isinstance(value, Mapping):
        return False
    if isinstance(value.get("parts"), list):
        return any(hides_text(part) for part in value["parts"])
    if "role" in value:
        return not any(value.get(key) is not None for key in ("content", "parts", "tool_calls"))
    return bool(value) and set(value) <= {"type", "kind", "name"}
