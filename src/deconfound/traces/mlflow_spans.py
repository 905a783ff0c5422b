"""Spans of MLflow: ids in several encodings, and attributes as JSON in texts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deconfound.chat.answers import answers_from
from deconfound.chat.conversation import messages_from
from deconfound.traces.call import Call
from deconfound.traces.exchange import flags_from
from deconfound.traces.field_values import (
    first_text,
    json_from,
    list_from,
    mapping_from,
    plain_model,
    seconds_from_nanoseconds,
    text_from,
)

CALL_TYPES = ("CHAT_MODEL", "LLM")
ERROR_CODES = ("STATUS_CODE_ERROR", "ERROR", "2")
SPAN_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class MlflowSpan:
    """One span; ``attributes`` are still texts of JSON."""

    span_id: str
    parent_id: str
    time: float | None
    error: bool
    is_call: bool
    attributes: Mapping[str, Any]


def spans_in(value: object) -> Iterator[MlflowSpan]:
    """The spans of a list, in the schema of MLflow 3 or in the older one."""
    for one in list_from(value):
        found = mapping_from(one)
        if not found:
            continue
        attributes, context = mapping_from(found.get("attributes")), mapping_from(found.get("context"))
        code = mapping_from(found.get("status")).get("code", found.get("status_code"))
        yield MlflowSpan(
            span_id=hexadecimal(first_text(found.get("span_id"), context.get("span_id"))),
            parent_id=hexadecimal(first_text(found.get("parent_span_id"), found.get("parent_id"))),
            time=seconds_from_nanoseconds(found.get("start_time_unix_nano", found.get("start_time"))),
            error=text_from(code) in ERROR_CODES,
            is_call=json_from(attributes.get("mlflow.spanType")) in CALL_TYPES,
            attributes=attributes,
        )


def hexadecimal(span_id: str) -> str:
    """The id of a span as assessments write it; traces have it in base 64."""
    plain = span_id.lower().removeprefix("0x")
    if len(plain) == 2 * SPAN_ID_BYTES:
        return plain
    try:
        decoded = base64.b64decode(span_id, validate=True)
    except (binascii.Error, ValueError):
        return span_id
    return decoded.hex() if len(decoded) == SPAN_ID_BYTES else span_id


def call_from_span(span: MlflowSpan, origin: str) -> Call:
    """The call of a span, without what only its trace knows. The model that answered is the one the answer names."""
    asked, said = (json_from(span.attributes.get(f"mlflow.span{key}")) for key in ("Inputs", "Outputs"))
    request, response = mapping_from(asked), mapping_from(said)
    model, provider, argument = (
        text_from(json_from(span.attributes.get(key))) for key in ("mlflow.llm.model", "mlflow.llm.provider", "model")
    )
    messages, answers = messages_from(asked), answers_from(said)
    requested = first_text(request.get("model"), argument)
    return Call(
        origin=origin,
        call_id=span.span_id,
        model=plain_model(first_text(response.get("model"), model, requested), provider),
        messages=messages,
        outputs=tuple(answer.text for answer in answers),
        requested_model=plain_model(requested, provider),
        response_id=text_from(response.get("id")),
        time=span.time,
        flags=flags_from(messages, answers, {"error": span.error}),
    )
