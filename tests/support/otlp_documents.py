"""Documents of OTLP JSON with invented spans and events."""

from __future__ import annotations

from typing import Any

TRACE, SPAN = "6f0c" * 8, "a1b2" * 4


def attribute_value(value: object) -> dict[str, Any]:
    """A value as OTLP writes it: whole numbers are texts."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int | float):
        return {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [attribute_value(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": attribute_list(value)}}
    return {} if value is None else {"stringValue": str(value)}


def attribute_list(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Attributes as OTLP writes them."""
    return [{"key": key, "value": attribute_value(value)} for key, value in values.items()]


def span_of(attributes: dict[str, Any], **fields: object) -> dict[str, Any]:
    """One span; ``fields`` are its other keys, such as ``spanId``."""
    times = {"startTimeUnixNano": "1790000000000000000", "endTimeUnixNano": "1790000001000000000"}
    return {"traceId": TRACE, "spanId": SPAN, "name": "x", **times, "attributes": attribute_list(attributes), **fields}


def spans_document(*spans: dict[str, Any]) -> dict[str, Any]:
    """A document with spans of one scope."""
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def event_of(name: str, attributes: dict[str, Any], body: object = None, **fields: object) -> dict[str, Any]:
    """One log event of the span above."""
    keys = {"eventName": name, "traceId": TRACE, "spanId": SPAN, "timeUnixNano": "1790000000500000000"}
    return {**keys, "attributes": attribute_list(attributes), "body": attribute_value(body), **fields}


def logs_document(*events: dict[str, Any]) -> dict[str, Any]:
    """A document with log events."""
    return {
        "resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [{"scope": {}, "logRecords": list(events)}]}]
    }
