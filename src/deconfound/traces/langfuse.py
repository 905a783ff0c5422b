"""Langfuse: exports to blob storage (enriched and legacy), of the user interface, pages of its API, whole traces."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from tempfile import TemporaryFile
from typing import Any, ClassVar

from deconfound.chat.answers import answers_from
from deconfound.chat.conversation import messages_from
from deconfound.traces.call import Call, Score, Target
from deconfound.traces.exchange import flags_from
from deconfound.traces.field_values import (
    attributes_from,
    mapping_from,
    objects_from,
    seconds_from,
    tags_from,
    text_from,
)
from deconfound.traces.langfuse_records import (
    CALL_TYPES,
    INTERNAL_TYPES,
    STEP_TYPES,
    camel,
    field_of,
    has,
    kind_of,
    text_field,
)
from deconfound.traces.langfuse_scores import column_scores, score_from_record
from deconfound.traces.reader import Record, Remarks, collect
from deconfound.traces.text_store import TextStore

INTERNAL_ENVIRONMENT = "langfuse-"  # reserved for calls of Langfuse itself, such as its judges
API_METADATA_CHARACTERS = 200  # at which the API cuts values, unless it is asked for the whole
PLAIN_ATTRIBUTES = ("name", "trace_name", "environment", "release", "version", "prompt_name", "prompt_version")
INSTRUMENTATION = {"attributes", "resourceAttributes", "scope"}  # of OpenTelemetry: the whole call once more


class Langfuse:
    """Reads observations, traces and scores in every shape in which Langfuse hands them out.

    Scores and the calls of legacy exports come last: traces and newer versions of a score may follow in other files.
    """

    name: ClassVar[str] = "Langfuse"
    content_switch: ClassVar[str] = (
        "Select the field group io (input and output) in Langfuse's blob storage integration, or ask its API for "
        "fields=core,basic,time,io,metadata,model,prompt,trace_context; in the application, do not mask inputs and "
        "outputs."
    )

    def recognizes(self, value: Mapping[str, Any]) -> bool:
        """Whether a record is an observation, a trace, a score, a whole trace or the manifest of an export."""
        return kind_of(value) is not None

    def read(self, records: Iterable[Record], remarks: Remarks) -> Iterator[Call | Score]:
        """Calls of generations, then all scores; what is there twice is read once."""
        with TemporaryFile() as file:
            export = _Export(remarks, TextStore(file))
            for record in records:
                yield from collect(export.calls_in(record.value, record.origin), remarks, record.origin)
            yield from export.waiting_calls()
            yield from export.all_scores()


@dataclass(frozen=True, slots=True)
class _Trace:
    """What calls take from their trace."""

    user: str = ""
    session: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_record(cls, value: Mapping[str, Any]) -> _Trace:
        attributes = _attributes(value)
        if "name" in attributes:
            attributes["trace_name"] = attributes.pop("name")
        return cls(text_field(value, "user_id"), text_field(value, "session_id"), attributes)


@dataclass(slots=True)
class _Export:
    """One pass over all records of an export: what has been read, and what waits for its trace."""

    remarks: Remarks
    texts: TextStore  # of the calls that wait
    observations: dict[str, float] = field(default_factory=dict)  # when each was updated
    around: dict[str, str] = field(default_factory=dict)  # traces of spans that are no calls
    steps: set[str] = field(default_factory=set)  # tools and retrievals
    traces: dict[str, _Trace] = field(default_factory=dict)
    trace_versions: dict[str, float] = field(default_factory=dict)
    waiting: list[Call] = field(default_factory=list)
    scores: dict[str, tuple[float, Score]] = field(default_factory=dict)
    columns: dict[str, list[Score]] = field(default_factory=dict)  # by what they judge

    def calls_in(self, value: Mapping[str, Any], origin: str) -> Iterator[Call]:
        """Calls that need nothing from other records; traces, scores and other calls are stored."""
        kind = kind_of(value)
        if kind == "observation":
            yield from self._observation(value, origin)
        elif kind == "trace":
            self._add_trace(value, origin)
        elif kind == "score":
            self._add_score(value, origin)
        elif kind == "document":
            yield from self._document(value, origin)
        elif kind == "manifest":
            self.remarks.add("records are manifests of an export", origin)
        else:
            self.remarks.add("records are no observation, trace or score of Langfuse", origin)

    def waiting_calls(self) -> Iterator[Call]:
        """Calls that were waiting, with the user, the session and the tags of their traces."""
        for number, waiting in enumerate(self.waiting):
            call = self.texts.get(str(number), waiting)
            if call.trace_id not in self.traces:
                self.remarks.add("calls have no record of their trace, so that user and session may lack", call.origin)
            trace = self.traces.get(call.trace_id, _Trace())
            yield replace(
                call,
                user=call.user or trace.user,
                conversation=call.conversation or trace.session,
                attributes={**trace.attributes, **call.attributes},
            )

    def all_scores(self) -> Iterator[Score]:
        """The newest version of each score, and scores in columns that are in no record of their own."""
        given = [score for _, score in self.scores.values()]
        known = {(score.target_id, score.name) for score in given}
        found = (score for scores in self.columns.values() for score in scores)
        columns = [score for score in found if (score.target_id, score.name) not in known]
        for score in (*given, *columns):
            if score.target == "call" and score.target_id in self.steps:
                self.remarks.add("scores judge a tool or a retrieval, not an answer", score.origin)
            elif score.target == "call" and score.target_id in self.around:
                yield replace(score, target="trace", target_id=self.around[score.target_id])
            else:
                yield score

    def _document(self, value: Mapping[str, Any], origin: str) -> Iterator[Call]:
        trace = value["trace"] if isinstance(value.get("trace"), Mapping) else value
        self._add_trace(trace, origin)
        beside = value.get("scores") if trace is not value else None
        for score in (*objects_from(trace.get("scores")), *objects_from(beside)):
            self._add_score({"traceId": trace.get("id"), **score}, origin)
        for observation in objects_from(value.get("observations")):
            yield from self._observation({"traceId": trace.get("id"), **observation}, origin)

    def _add_trace(self, value: Mapping[str, Any], origin: str) -> None:
        trace_id = text_from(value.get("id"))
        version = _version(value)
        if trace_id in self.traces:
            self.remarks.add("records are repeated", origin)
            if version <= self.trace_versions[trace_id]:
                return
        self.trace_versions[trace_id] = version
        self.traces[trace_id] = _Trace.from_record(value)
        self._add_columns(value, "trace", origin)

    def _add_columns(self, value: Mapping[str, Any], target: Target, origin: str) -> None:
        key = f"{target} {text_from(value.get('id'))}"
        self.columns.pop(key, None)  # of an older version
        found = list(column_scores(value, target, origin))
        if found:
            self.columns[key] = found

    def _add_score(self, value: Mapping[str, Any], origin: str) -> None:
        score = score_from_record(value, origin, self.remarks)
        if score is None:
            return
        key = text_field(value, "id") or f" {len(self.scores)}"
        version = seconds_from(field_of(value, "updated_at")) or score.time or 0.0
        if key in self.scores:
            self.remarks.add("records are repeated", origin)
        if key not in self.scores or version >= self.scores[key][0]:
            self.scores[key] = version, score

    def _observation(self, value: Mapping[str, Any], origin: str) -> Iterator[Call]:
        observation_id, version = text_from(value.get("id")), _version(value)
        is_newer = False
        if observation_id and observation_id in self.observations:
            self.remarks.add("records are repeated", origin)
            is_newer = version > self.observations[observation_id]
            if not is_newer:
                return
        self.observations[observation_id] = version
        if camel("trace_id") in value:
            self._add_columns(value, "call", origin)
        kind = text_from(value.get("type"))
        if kind not in CALL_TYPES | INTERNAL_TYPES:
            self.remarks.add("observations are no calls of a model", origin)
            self.around[observation_id] = text_field(value, "trace_id")
            if kind in STEP_TYPES:
                self.steps.add(observation_id)
            return
        call = replace(_call(value, origin), replaces=is_newer)
        if not call.model:
            self.remarks.add("calls have no name of a model", origin)
            return
        self._remark_on_metadata(value, origin)
        if has(value, "session_id") and has(value, "user_id"):
            yield call
        else:
            self.waiting.append(self.texts.put(str(len(self.waiting)), call))

    def _remark_on_metadata(self, value: Mapping[str, Any], origin: str) -> None:
        texts = mapping_from(value.get("metadata")).values() if "traceId" in value else ()
        if any(isinstance(text, str) and len(text) == API_METADATA_CHARACTERS for text in texts):
            what = (
                "calls have metadata of exactly 200 characters, where the API cuts unless expandMetadata names the key"
            )
            self.remarks.add(what, origin)


def _version(value: Mapping[str, Any]) -> float:
    """When a record was last updated; minus infinity where it does not say."""
    updated = seconds_from(field_of(value, "updated_at"))
    return -math.inf if updated is None else updated


def _call(value: Mapping[str, Any], origin: str) -> Call:
    messages = messages_from(value.get("input"))
    judge = text_from(value.get("environment")).startswith(INTERNAL_ENVIRONMENT)
    internal = judge or text_from(value.get("type")) in INTERNAL_TYPES
    answers = answers_from(value.get("output") or None)
    return Call(
        origin=origin,
        call_id=text_from(value.get("id")),
        model=text_field(value, "provided_model_name", "model"),
        messages=messages,
        outputs=tuple(answer.text for answer in answers),
        trace_id=text_field(value, "trace_id"),
        conversation=text_field(value, "session_id"),
        user=text_field(value, "user_id"),
        time=seconds_from(field_of(value, "start_time")),
        flags=flags_from(messages, answers, {"error": value.get("level") == "ERROR", "internal": internal}),
        attributes=_attributes(value),
    )


def _attributes(value: Mapping[str, Any]) -> dict[str, str]:
    metadata = {key: part for key, part in mapping_from(value.get("metadata")).items() if key not in INSTRUMENTATION}
    plain = {name: text_field(value, name) for name in PLAIN_ATTRIBUTES}
    return {
        **{name: text for name, text in plain.items() if text},
        **attributes_from(metadata, "metadata"),
        **tags_from(value.get("tags")),
        **tags_from(value.get("traceTags")),
    }
