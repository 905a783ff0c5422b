"""The reader of MLflow: traces as JSON, and rows of its table of traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from deconfound.traces.call import Call, Score
from deconfound.traces.exchange import repeated_calls
from deconfound.traces.field_values import attributes_from, first_text, list_from, mapping_from
from deconfound.traces.mlflow_assessments import assessments_in
from deconfound.traces.mlflow_spans import MlflowSpan, call_from_span, spans_in
from deconfound.traces.reader import Record, Remarks, collect

ROW_KEYS = ("trace_metadata", "request_metadata", "assessments", "execution_duration", "execution_time_ms")
METADATA_KEPT = ("mlflow.modelId", "mlflow.sourceRun")  # others of MLflow's own names describe the machine


@dataclass(frozen=True, slots=True)
class MlflowTrace:
    """A trace in any of the forms in which MLflow writes it."""

    trace_id: str
    conversation: str
    user: str
    attributes: Mapping[str, str]
    assessments: list[Any]
    spans: tuple[MlflowSpan, ...]


@dataclass(slots=True)
class _Seen:
    """Ids of calls and assessments that were read already: pages of a search may overlap."""

    calls: set[tuple[str, str]] = field(default_factory=set)
    assessments: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Mlflow:
    """MLflow 3, and the older schema whose traces have a ``request_id``."""

    name: ClassVar[str] = "MLflow"
    content_switch: ClassVar[str] = (
        "Record messages with mlflow.openai.autolog() or the autolog of your library, and export whole traces with "
        "mlflow.search_traces(include_spans=True)."
    )

    def recognizes(self, value: Mapping[str, Any]) -> bool:
        """Whether a record is a trace or a row of the table of traces."""
        if isinstance(value.get("info"), Mapping) and "data" in value:
            return _has_id(value["info"])
        is_row = ("spans" in value or "trace" in value) and any(key in value for key in ROW_KEYS)
        return is_row and _has_id(value)

    def read(self, records: Iterable[Record], remarks: Remarks) -> Iterator[Call | Score]:
        """Calls and scores, one trace after the other."""
        seen = _Seen()
        for record in records:
            if not self.recognizes(record.value):
                remarks.add("records are not traces of MLflow", record.origin)
                continue
            yield from collect(_calls_and_scores(record, seen, remarks), remarks, record.origin)


def _has_id(value: Mapping[str, Any]) -> bool:
    return bool(first_text(value.get("trace_id"), value.get("request_id")))


def _trace(value: Mapping[str, Any]) -> MlflowTrace:
    """The trace of a record; in a row, the complete trace goes before the columns."""
    inner = mapping_from(value.get("trace"))
    whole = value if "info" in value else inner
    info = {**{key: one for key, one in value.items() if one is not None}, **mapping_from(whole.get("info"))}
    metadata = mapping_from(info.get("trace_metadata")) or mapping_from(info.get("request_metadata"))
    return MlflowTrace(
        trace_id=first_text(info.get("trace_id"), info.get("request_id")),
        conversation=first_text(metadata.get("mlflow.trace.session")),
        user=first_text(metadata.get("mlflow.trace.user")),
        attributes={**_named("metadata", metadata), **_named("tag", mapping_from(info.get("tags")))},
        assessments=list_from(info.get("assessments")),
        spans=tuple(spans_in(mapping_from(whole.get("data")).get("spans") or value.get("spans"))),
    )


def _named(prefix: str, value: Mapping[str, Any]) -> dict[str, str]:
    own = {key: one for key, one in value.items() if not key.startswith("mlflow.") or key in METADATA_KEPT}
    return attributes_from(own, prefix)


def _calls_and_scores(record: Record, seen: _Seen, remarks: Remarks) -> Iterator[Call | Score]:
    trace, origin = _trace(record.value), record.origin
    calls = _calls(trace, origin, remarks)
    for call in calls.values():
        if (trace.trace_id, call.call_id) in seen.calls:
            remarks.add("calls are in the files more than once", origin)
        else:
            seen.calls.add((trace.trace_id, call.call_id))
            yield call
    for found in assessments_in(trace.assessments, trace.trace_id, calls.keys(), origin, remarks):
        key = f"{found.assessment_id}/{found.score.name}"
        if not found.assessment_id or key not in seen.assessments:
            seen.assessments.add(key)
            yield found.score


def _calls(trace: MlflowTrace, origin: str, remarks: Remarks) -> dict[str, Call]:
    """The calls of a trace; spans around them may name a model too, but are no calls."""
    calls: dict[str, Call] = {}
    for span in trace.spans:
        if not span.span_id:
            remarks.add("spans have no id", origin)
        elif span.is_call:
            calls[span.span_id] = _with_facts(call_from_span(span, origin), trace)
        else:
            remarks.add("spans are not calls of a model", origin)
    repeated = repeated_calls(calls, {span.span_id: span.parent_id for span in trace.spans}, remarks)
    return {span_id: call for span_id, call in calls.items() if span_id not in repeated}


def _with_facts(call: Call, trace: MlflowTrace) -> Call:
    return replace(
        call,
        trace_id=trace.trace_id,
        conversation=trace.conversation,
        user=trace.user,
        attributes=trace.attributes,
    )
