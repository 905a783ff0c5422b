"""What a record of Langfuse is, and its fields under either spelling: snake_case in files, camelCase elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from deconfound.traces.field_values import first_text, objects_from

Kind = Literal["observation", "trace", "score", "document", "manifest"]

CALL_TYPES = {"GENERATION"}
INTERNAL_TYPES = {"EMBEDDING", "EVALUATOR", "GUARDRAIL"}
STEP_TYPES = {"TOOL", "RETRIEVER"}
OTHER_TYPES = {"SPAN", "EVENT", "AGENT", "CHAIN"} | STEP_TYPES
SOURCES = {"API", "ANNOTATION", "EVAL"}
TRACE_KEYS = {"input", "tags", "bookmarked", "public", "release"}


@cache
def camel(name: str) -> str:
    """A field's name as the API spells it: ``trace_id`` is ``traceId``."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def has(record: Mapping[str, Any], name: str) -> bool:
    """Whether a record has a field, which may be null."""
    return name in record or camel(name) in record


def field_of(record: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401  (whatever the record has)
    """A field under the spelling that the record uses; None where it has none."""
    value = record.get(name)
    return record.get(camel(name)) if value is None else value


def text_field(record: Mapping[str, Any], *names: str) -> str:
    """The first of several fields that is not empty, as text."""
    return first_text(*(record.get(spelling) for name in names for spelling in (name, camel(name))))


def kind_of(record: Mapping[str, Any]) -> Kind | None:
    """What a record is; None if it is none of Langfuse's."""
    if isinstance(record.get("trace"), Mapping) and isinstance(record.get("observations"), list):
        return "document"
    if has(record, "export_source") and isinstance(record.get("files"), list):
        return "manifest"
    if _is_score(record):
        return "score"
    if has(record, "trace_id") and has(record, "start_time") and "id" in record and _has_known_type(record):
        return "observation"
    is_trace = "id" in record and "timestamp" in record and has(record, "user_id") and has(record, "session_id")
    if is_trace and not TRACE_KEYS.isdisjoint(record):
        return "document" if objects_from(record.get("observations")) else "trace"
    return None


def _is_score(record: Mapping[str, Any]) -> bool:
    source = record.get("source")
    return "name" in record and has(record, "data_type") and isinstance(source, str) and source in SOURCES


def _has_known_type(record: Mapping[str, Any]) -> bool:
    kind = record.get("type")
    return isinstance(kind, str) and kind in CALL_TYPES | INTERNAL_TYPES | OTHER_TYPES
