"""Where scores are in OTLP, and what they judge."""

from __future__ import annotations

import json

import pytest

from deconfound.traces.call import Score
from deconfound.traces.otlp_reader import Otlp
from tests.support.otlp_documents import SPAN, TRACE, attribute_list, event_of, logs_document, span_of, spans_document
from tests.support.trace_records import read_values

CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.response.model": "cedar-2",
    "gen_ai.response.id": "r-77",
    "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "?"}]}]),
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "!"}]}]),
}
THUMB = {"gen_ai.evaluation.name": "thumb", "gen_ai.evaluation.score.value": 1.0}
RESULT = "gen_ai.evaluation.result"
AGENT, TOOL = "0a" * 8, "0b" * 8
CHAT = spans_document(
    span_of({"gen_ai.operation.name": "invoke_agent"}, spanId=AGENT),
    span_of({"gen_ai.operation.name": "execute_tool"}, spanId=TOOL, parentSpanId=AGENT),
    span_of(CALL, parentSpanId=AGENT),
)


def scores_of(*values):
    return read_values(Otlp(), values)[1]


def annotation(**fields):
    return {f"annotations.0.annotation.{key}": value for key, value in fields.items()}


def test_an_event_of_an_evaluation_judges_its_span():
    event = {"name": RESULT, "timeUnixNano": "1790000002000000000", "attributes": attribute_list(THUMB)}
    expected = Score("x.jsonl line 1", "thumb", 1.0, "unknown", "call", SPAN, "", 1790000002.0, trace_id=TRACE)
    assert scores_of(spans_document(span_of(CALL, events=[event]))) == [expected]
    log = logs_document(event_of(RESULT, THUMB, timeUnixNano="1790000002000000000"))
    for values in ((log, CHAT), (CHAT, log)):
        assert [(one.target, one.target_id, one.value) for one in scores_of(*values)] == [("call", SPAN, 1.0)]


def test_a_label_is_the_value_where_there_is_no_number():
    labelled = {"gen_ai.evaluation.name": "tone", "gen_ai.evaluation.score.label": "warm"}
    assert [one.value for one in scores_of(CHAT, logs_document(event_of(RESULT, labelled)))] == ["warm"]
    empty = logs_document(event_of(RESULT, {"gen_ai.evaluation.name": "tone"}))
    assert scores_of(CHAT, empty) == []


@pytest.mark.parametrize(
    ("event", "target"),
    [
        ({"spanId": AGENT}, ("trace", TRACE)),
        ({"spanId": AGENT, "attributes": {**THUMB, "gen_ai.response.id": "r-77"}}, ("response", "r-77")),
        ({"spanId": "", "traceId": "", "attributes": {**THUMB, "gen_ai.response.id": "r-77"}}, ("response", "r-77")),
        ({"spanId": SPAN, "attributes": {**THUMB, "gen_ai.response.id": "r-77"}}, ("call", SPAN)),
        ({"spanId": "ee" * 8, "traceId": "ff" * 16}, ("call", "ee" * 8)),
    ],
)
def test_scores_are_joined_by_span_then_by_response_then_by_trace(event, target):
    fields = {key: value for key, value in event.items() if key != "attributes"}
    log = logs_document(event_of(RESULT, event.get("attributes", THUMB), **fields))
    assert [(one.target, one.target_id) for one in scores_of(CHAT, log)] == [target]


def test_scores_of_tools_and_scores_of_nothing_are_remarked():
    tool = logs_document(event_of(RESULT, THUMB, spanId=TOOL))
    nothing = logs_document(event_of(RESULT, THUMB, spanId="", traceId=""))
    _, scores, remarks = read_values(Otlp(), [CHAT, tool, nothing])
    assert scores == []
    assert remarks["scores judge a tool or a retrieval, not an answer"] == 1
    assert remarks["scores do not say what they judge"] == 1


@pytest.mark.parametrize(
    ("kind", "author"),
    [("HUMAN", "human"), ("LLM", "judge"), ("CODE", "code"), ("OTHER", "unknown"), (None, "unknown")],
)
def test_annotations_on_a_span_say_who_gave_them(kind, author):
    note = annotation(name="helpful", score=0.5, label="so-so", annotator_kind=kind, identifier="j-2")
    expected = Score("x.jsonl line 1", "helpful", 0.5, author, "call", SPAN, "j-2", trace_id=TRACE)
    assert scores_of(spans_document(span_of({**CALL, **note}))) == [expected]


def test_the_same_result_as_annotation_and_as_evaluation_counts_once():
    note = annotation(name="helpful", label="yes")
    again = {key.replace("annotation", "evaluation"): value for key, value in note.items()}
    other = {"evaluations.1.evaluation.name": "polite", "evaluations.1.evaluation.score": 1}
    found = scores_of(spans_document(span_of({**CALL, **note, **again, **other})))
    assert [(one.name, one.value) for one in found] == [("helpful", "yes"), ("polite", 1.0)]


def test_a_note_without_a_score_is_no_score():
    assert scores_of(spans_document(span_of({**CALL, **annotation(name="note", explanation="hm")}))) == []


def test_annotations_of_traces_and_sessions():
    attributes = {
        **CALL,
        "session.id": "s-8",
        "trace.annotations.0.annotation.name": "solved",
        "trace.annotations.0.annotation.score": 1,
        "session.evaluations.0.evaluation.name": "happy",
        "session.evaluations.0.evaluation.score": 0,
    }
    found = scores_of(spans_document(span_of(attributes)))
    assert [(one.name, one.target, one.target_id) for one in found] == [
        ("solved", "trace", TRACE),
        ("happy", "conversation", "s-8"),
    ]


def test_an_evaluator_judges_the_spans_that_it_links_to_and_not_its_parent():
    judged = {"openinference.span.kind": "EVALUATOR", **annotation(name="right", score=1, annotator_kind="LLM")}
    link = {"traceId": TRACE.upper(), "spanId": SPAN.upper()}
    judge = span_of(judged, traceId="ff" * 16, spanId="0c", parentSpanId="0d", links=[link])
    found = scores_of(CHAT, spans_document(judge))
    assert [(one.target, one.target_id, one.author, one.time) for one in found] == [
        ("call", SPAN, "judge", 1790000000.0)
    ]
    _, scores, remarks = read_values(Otlp(), [CHAT, spans_document(span_of(judged, spanId="0c", parentSpanId=SPAN))])
    assert scores == []
    assert remarks["evaluations do not say which span they judge"] == 1


@pytest.mark.parametrize(
    ("attributes", "value"),
    [
        ({"logfire.feedback.name": "thumb", "thumb": True}, True),
        ({"logfire.feedback.name": "thumb", "thumb": "good"}, "good"),
        ({"feedback.name": "thumb", "feedback.score": 3}, 3.0),
        ({"feedback.name": "thumb", "feedback.assertion": False}, False),
    ],
)
def test_feedback_in_logfire_judges_the_span_above(attributes, value):
    feedback = span_of({"logfire.span_type": "annotation", **attributes}, spanId="0c", parentSpanId=SPAN)
    found = scores_of(spans_document(feedback), CHAT)
    assert [(one.name, one.value, one.target, one.target_id) for one in found] == [("thumb", value, "call", SPAN)]
    assert found[0].value is value or isinstance(value, float | str)
    above = span_of({"logfire.span_type": "annotation", **attributes}, spanId="0c", parentSpanId=AGENT)
    assert [(one.target, one.target_id) for one in scores_of(CHAT, spans_document(above))] == [("trace", TRACE)]


def test_a_span_that_is_exported_twice_gives_its_scores_once():
    span = spans_document(span_of({**CALL, **annotation(name="helpful", score=1)}))
    assert len(scores_of(span, span)) == 1
    event = logs_document(event_of(RESULT, THUMB))
    assert len(scores_of(CHAT, event, event)) == 1


def test_a_score_of_a_repeated_call_judges_the_trace():
    outer = span_of({**CALL, **annotation(name="helpful", score=1)}, spanId=AGENT)
    found = scores_of(spans_document(outer, span_of(CALL, parentSpanId=AGENT)))
    assert [(one.target, one.target_id) for one in found] == [("trace", TRACE)]
