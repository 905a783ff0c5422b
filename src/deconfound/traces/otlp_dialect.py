"""The interface of a dialect: how one family of instrumentations names the attributes of its spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from deconfound.chat.answers import Answer
from deconfound.chat.conversation import Message

SpanRole = Literal["call", "around", "evaluator", "step"]
"""What a span is to the calls of models.

call: a request to a model. around: an agent, a chain or a workflow, whose texts are those of the calls inside.
evaluator: a judgement. step: a tool, a retrieval or an embedding, which is not judged with the answer.
"""

Attributes = Mapping[str, Any]
CACHED_NAMES = 10_000  # of attributes about which a question is answered once: spans repeat the same few names


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a dialect says about a call; what it does not say is empty.

    ``damaged`` is true where messages are recorded, but are no valid JSON.
    """

    model: str = ""
    requested_model: str = ""
    provider: str = ""
    response_id: str = ""
    messages: tuple[Message, ...] = ()
    answers: tuple[Answer, ...] = ()
    finish_reasons: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    failed: bool = False
    damaged: bool = False


class Dialect(Protocol):
    """A family of instrumentations."""

    prefixes: ClassVar[tuple[str, ...]]
    """Beginnings of the names of its attributes; a span without any of them is not asked about this dialect."""

    def role(self, attributes: Attributes) -> SpanRole | None:
        """What a span is; nothing if its attributes are of another dialect."""
        ...

    def exchange(self, attributes: Attributes) -> Exchange:
        """What the attributes of a span say, whether or not it is a call."""
        ...


def merged(exchanges: Sequence[Exchange]) -> Exchange:
    """One exchange of several dialects on the same span: texts and names are those of the first one that has them."""
    first, *others = exchanges or [Exchange()]
    found = first
    for one in others:
        found = Exchange(
            model=found.model or one.model,
            requested_model=found.requested_model or one.requested_model,
            provider=found.provider or one.provider,
            response_id=found.response_id or one.response_id,
            messages=found.messages or one.messages,
            answers=found.answers or one.answers,
            finish_reasons=(*found.finish_reasons, *one.finish_reasons),
            attributes={**one.attributes, **found.attributes},
            failed=found.failed or one.failed,
            damaged=found.damaged or one.damaged,
        )
    return found


def under(attributes: Attributes, prefix: str) -> dict[str, Any]:
    """Attributes whose names begin with a prefix and a dot, by the rest of their names."""
    start = f"{prefix}."
    return {key[len(start) :]: value for key, value in attributes.items() if key.startswith(start)}
