"""The structure of OTLP JSON: spans and log events, with their attributes as plain values.

Keys are in camelCase as in files of the collector, or in snake_case as Phoenix writes them. Whole numbers are texts,
and ids are hexadecimal in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from deconfound.traces.field_values import first_text, number_from, objects_from, seconds_from_nanoseconds, text_from

MAX_VALUE_DEPTH = 24  # of lists and objects inside an attribute
DOCUMENT_KEYS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
ERROR_CODES = (2, "2", "STATUS_CODE_ERROR")
RESOURCE_ATTRIBUTES = ("service.name", "service.version", "deployment.environment", "deployment.environment.name")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened during a span: a log event, or an event inside the span."""

    name: str
    trace_id: str
    span_id: str
    time: float | None
    attributes: Mapping[str, Any]
    body: Any = None


@dataclass(frozen=True, slots=True)
class Span:
    """One operation; ``links`` are traces and spans that it refers to."""

    trace_id: str
    span_id: str
    parent_id: str
    time: float | None
    error: bool
    attributes: Mapping[str, Any]
    events: tuple[Event, ...] = ()
    links: tuple[tuple[str, str], ...] = ()


def is_otlp(value: Mapping[str, Any]) -> bool:
    """Whether an object is a document of OTLP, a page of its spans, or one span."""
    if any(key in value for key in DOCUMENT_KEYS):
        return any(isinstance(value.get(key), list) for key in DOCUMENT_KEYS)
    return is_span(value) or any(isinstance(one, Mapping) and is_span(one) for one in _objects(value, "data"))


def is_span(value: Mapping[str, Any]) -> bool:
    """Whether an object is a span by itself; spans of other formats have their attributes in an object."""
    return bool(_get(value, "traceId") and _get(value, "spanId")) and isinstance(value.get("attributes"), list)


def spans_from(value: Mapping[str, Any]) -> Iterator[Span]:
    """All spans of a document, of a page, or the span itself."""
    for found in _objects(value, "resourceSpans"):
        around = _resource(found)
        for scope in (*_objects(found, "scopeSpans"), *_objects(found, "instrumentationLibrarySpans")):
            for one in _objects(scope, "spans"):
                yield _span(one, around)
    for one in (value, *_objects(value, "data")):
        if is_span(one):
            yield _span(one, {})


def events_from(value: Mapping[str, Any]) -> Iterator[Event]:
    """All log events of a document."""
    for found in _objects(value, "resourceLogs"):
        for scope in _objects(found, "scopeLogs"):
            for one in _objects(scope, "logRecords"):
                yield _event(one, text_id(_get(one, "traceId")), text_id(_get(one, "spanId")))


def plain_value(value: object, depth: int = MAX_VALUE_DEPTH) -> object:
    """The value of an attribute; nothing where it is empty, damaged or nested too deeply."""
    if not isinstance(value, dict) or depth == 0:
        return None
    if len(value) == 1 and isinstance(value.get("stringValue"), str):
        return value["stringValue"]  # nearly always; the rest of this function would return it too
    array, pairs = _get(value, "arrayValue"), _get(value, "kvlistValue")
    if isinstance(array, Mapping):
        return [plain_value(one, depth - 1) for one in _objects(array, "values")]
    if isinstance(pairs, Mapping):
        return _attributes(pairs.get("values"), depth - 1)
    return _scalar(value)


def _scalar(value: Mapping[str, Any]) -> str | bool | int | float | None:
    for key in ("stringValue", "boolValue", "bytesValue"):
        found = _get(value, key)
        if isinstance(found, str | bool):
            return found
    whole, real = _get(value, "intValue"), _get(value, "doubleValue")
    return _whole_number(whole) if whole is not None else number_from(real)


def text_id(value: object) -> str:
    """An id in lower case."""
    return text_from(value).lower()


def _span(value: Mapping[str, Any], around: Mapping[str, Any]) -> Span:
    trace_id, span_id = text_id(_get(value, "traceId")), text_id(_get(value, "spanId"))
    status = value.get("status")
    return Span(
        trace_id,
        span_id,
        text_id(_get(value, "parentSpanId")),
        seconds_from_nanoseconds(_get(value, "startTimeUnixNano")),
        isinstance(status, Mapping) and status.get("code") in ERROR_CODES,
        {**around, **_attributes(value.get("attributes"))},
        tuple(_event(one, trace_id, span_id) for one in _objects(value, "events")),
        tuple((text_id(_get(one, "traceId")), text_id(_get(one, "spanId"))) for one in _objects(value, "links")),
    )


def _event(value: Mapping[str, Any], trace_id: str, span_id: str) -> Event:
    attributes = _attributes(value.get("attributes"))
    name = first_text(_get(value, "eventName"), attributes.get("event.name"), value.get("name"))
    times = (_get(value, "timeUnixNano"), _get(value, "observedTimeUnixNano"))
    time = next((found for found in map(seconds_from_nanoseconds, times) if found is not None), None)
    return Event(name, trace_id, span_id, time, attributes, plain_value(value.get("body")))


def _resource(value: Mapping[str, Any]) -> dict[str, Any]:
    resource = value.get("resource")
    found = _attributes(resource.get("attributes")) if isinstance(resource, Mapping) else {}
    return {key: found[key] for key in RESOURCE_ATTRIBUTES if key in found}


def _attributes(value: object, depth: int = MAX_VALUE_DEPTH) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in value if isinstance(value, list) else ():
        if not isinstance(one, dict):
            continue
        key, plain = text_from(one.get("key")), plain_value(one.get("value"), depth)
        if key and plain is not None:
            found[key] = plain
        else:
            found.pop(key, None)  # the last of several counts
    return found


def _whole_number(value: object) -> int | None:
    try:
        return int(value) if isinstance(value, int | str) else None
    except ValueError:
        return None


def _objects(value: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = _get(value, key)
    return objects_from(found) if found else []


def _get(value: Mapping[str, Any], key: str) -> object:
    """The value of a key in camelCase or in snake_case."""
    return value[key] if key in value else value.get(_snake_case(key))


@cache
def _snake_case(key: str) -> str:
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in key)
