"""promptfoo: every result is a call, and its assertions are scores with their author."""

from __future__ import annotations

import pytest

from deconfound.chat.conversation import Message
from deconfound.traces.promptfoo import Promptfoo
from tests.support.trace_records import SAMPLES, from_document, from_lines, from_values, read

FOLDER = SAMPLES / "promptfoo"
TIME = 1794836169.376  # 2026-11-16T13:36:09.376Z


def result(**changes):
    return {
        "id": "r-1",
        "testIdx": 0,
        "promptIdx": 2,
        "provider": {"id": "openai:chat:cedar-2", "label": "cedar"},
        "prompt": {"raw": "Answer: Where is my parcel?", "label": "Answer: {{q}}"},
        "vars": {"q": "Where is my parcel?"},
        "response": {"output": "In Graz.", "cached": False},
        "success": True,
        "score": 1,
        "namedScores": {},
        "failureReason": 0,
        **changes,
    }


def one(**changes):
    (call,) = read(Promptfoo(), from_values(result(**changes)))[0]
    return call


def graded(*assertions, named=None):
    components = [{"pass": True, "score": 1, "assertion": assertion} for assertion in assertions]
    return {"gradingResult": {"componentResults": components}, "namedScores": named or {}}


def test_the_document_that_promptfoo_wrote():
    calls, scores, remarks = read(Promptfoo(), from_document(FOLDER / "out.json"))
    assert [(call.model, call.messages[0].text, call.outputs) for call in calls] == [
        ("model-a", "Answer: Name a river", ("Answer: Name a river",)),
        ("model-a", "Please answer kindly: Name a river", ("Please answer kindly: Name a river",)),
        ("model-b", "Answer: Name a river", ("ANSWER: NAME A RIVER",)),
        ("model-b", "Please answer kindly: Name a river", ("PLEASE ANSWER KINDLY: NAME A RIVER",)),
        ("model-a", "Answer: 2+2?", ("Answer: 2+2?",)),
        ("model-a", "Please answer kindly: 2+2?", ("Please answer kindly: 2+2?",)),
        ("model-b", "Answer: 2+2?", ("ANSWER: 2+2?",)),
        ("model-b", "Please answer kindly: 2+2?", ("PLEASE ANSWER KINDLY: 2+2?",)),
    ]
    assert {(call.requested_model, call.draw, call.time, call.flags) for call in calls} == {
        ("echo", 0, TIME, frozenset())
    }
    ids = [call.context_id for call in calls]
    assert ids[:2] == ids[2:4]
    assert ids[4:6] == ids[6:8]
    assert len(set(ids)) == 4
    assert calls[0].call_id == "94130f33-ac83-4320-8ea0-323d4557a6a2"
    assert calls[0].attributes == {"prompt.label": "Answer: {{q}}"}
    assert [(score.name, score.value, score.author) for score in scores if score.target_id == calls[0].call_id] == [
        ("score", 0.5, "code"),
        ("success", False, "code"),
        ("on_topic", 1.0, "code"),
        ("brief", 0.0, "code"),
    ]
    assert {score.target_id for score in scores} == {call.call_id for call in calls[:4]}
    assert remarks == {"results have no assertions, so that their score says nothing": 4}


def test_the_lines_that_promptfoo_wrote_are_the_same_results():
    whole, whole_scores, _ = read(Promptfoo(), from_document(FOLDER / "out.json"))
    calls, scores, _ = read(Promptfoo(), from_lines(FOLDER / "out.jsonl"))
    fields = ("call_id", "model", "messages", "outputs", "context_id", "draw", "flags", "attributes")
    assert [[getattr(call, name) for name in fields] for call in calls] == [
        [getattr(call, name) for name in fields] for call in whole
    ]
    assert [(one.name, one.value, one.target_id) for one in scores] == [
        (one.name, one.value, one.target_id) for one in whole_scores
    ]
    assert calls[0].origin == "out.jsonl line 1"


def test_a_result_that_is_in_both_files_counts_once():
    records = from_document(FOLDER / "out.json") + from_lines(FOLDER / "out.jsonl")
    calls, _, remarks = read(Promptfoo(), records)
    assert len(calls) == 8
    assert remarks["results stand in the files twice"] == 8


@pytest.mark.parametrize(
    "document",
    [
        {"results": [result()], "stats": {}, "table": []},
        {"version": 1, "results": [result()], "stats": {}},
        {"results": {"version": 2, "results": [result()], "table": {}}},
        {"evalId": "e", "results": {"version": 3, "results": [result()]}},
    ],
)
def test_all_versions_of_the_document_are_read(document):
    assert Promptfoo().recognizes(document)
    calls, _, _ = read(Promptfoo(), from_values(document))
    assert [call.model for call in calls] == ["cedar"]


def test_a_result_of_the_first_version_has_no_provider_and_no_id():
    first = {"prompt": {"raw": "Hi", "display": "{{x}}"}, "vars": {}, "response": {"output": "Ahoy"}, "success": True}
    calls, scores, remarks = read(Promptfoo(), from_values({"results": [first, first], "stats": {}}))
    assert [(call.call_id, call.model, call.draw) for call in calls] == [
        ("x.jsonl line 1 result 1", "", 0),
        ("x.jsonl line 1 result 2", "", 1),
    ]
    assert calls[0].attributes == {"prompt.label": "{{x}}"}
    assert [(score.name, score.value, score.author) for score in scores] == [("success", True, "unknown")] * 2
    assert remarks == {"results do not name their provider": 2}


def test_the_label_of_a_provider_is_the_model():
    assert (one().model, one().requested_model) == ("cedar", "openai:chat:cedar-2")
    assert one(provider={"id": "openai:chat:cedar-2"}).model == "openai:chat:cedar-2"
    assert one(provider="openai:chat:cedar-2").model == "openai:chat:cedar-2"


def test_a_prompt_may_be_messages_in_json():
    raw = '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]'
    assert one(prompt={"raw": raw}).messages == (Message("system", "Be brief."), Message("user", "Hi"))


def test_repetitions_are_draws_of_the_same_context():
    """Every repetition has a testIdx of its own, and a session of its own."""
    lines = [
        result(id=f"r-{n}", testIdx=n, vars={"q": "x", "sessionId": str(n), "_conversation": [n]}) for n in range(3)
    ]
    calls, _, _ = read(Promptfoo(), from_values(*lines, result(id="r-9", vars={"q": "y"})))
    assert [call.draw for call in calls] == [0, 1, 2, 0]
    assert len({call.context_id for call in calls[:3]}) == 1
    assert calls[3].context_id != calls[0].context_id


def test_contexts_of_two_files_are_equal_if_their_variables_are_and_not_by_number():
    assert one(testIdx=5).context_id == one().context_id
    assert one(vars={"q": "Another"}).context_id != one().context_id
    assert one(prompt={"raw": "x", "label": "other"}).context_id != one().context_id
    assert one(vars=None, testIdx=1).context_id != one(vars=None, testIdx=2).context_id


def test_a_failed_assertion_is_no_error_of_the_call():
    assert one(failureReason=1, error="Expected x", success=False).flags == frozenset()


@pytest.mark.parametrize(
    "changes",
    [
        {"failureReason": 2, "error": "timeout"},
        {"response": {"error": "429"}},
        {"response": None, "error": "timeout", "failureReason": None},
    ],
)
def test_a_call_that_failed_has_no_scores(changes):
    calls, scores, _ = read(Promptfoo(), from_values(result(score=0, success=False, **changes)))
    assert (calls[0].flags, scores) == (frozenset({"error"}), [])


def test_cached_missing_and_structured_outputs():
    assert one(response={"output": "x", "cached": True}).flags == {"cached"}
    assert one(response={}).flags == {"no content"}
    assert one(response={"output": {"b": 1, "a": 2}}).outputs == ('{"a": 2, "b": 1}',)
    assert one(response={"output": ["x", "y"]}).outputs == ('["x", "y"]',)
    tools = [{"function": {"name": "find", "arguments": "{}"}}, {"function": {"name": "end"}}]
    call = one(response={"output": tools})
    assert (call.outputs, call.flags) == (("find({})\nend({})",), {"tool call"})


@pytest.mark.parametrize(
    ("kinds", "author"),
    [
        (["contains"], "code"),
        (["javascript", "not-equals"], "code"),
        (["llm-rubric", "not-llm-rubric"], "judge"),
        (["promptfoo:redteam:harmful"], "judge"),
        (["human"], "human"),
        (["contains", "llm-rubric"], "unknown"),
        ([None], "unknown"),
    ],
)
def test_the_type_of_an_assertion_says_who_judged(kinds, author):
    _, scores, _ = read(Promptfoo(), from_values(result(**graded(*({"type": kind} for kind in kinds)))))
    assert {(score.name, score.author) for score in scores} == {("score", author), ("success", author)}


def test_a_named_score_has_the_author_of_its_own_assertions():
    assertions = [{"type": "contains", "metric": "topic"}, {"type": "llm-rubric", "metric": "tone"}]
    named = {"topic": 1, "tone": 0.5, "sum": 2}
    _, scores, _ = read(Promptfoo(), from_values(result(**graded(*assertions, named=named))))
    assert {score.name: score.author for score in scores} == {
        "score": "unknown",
        "success": "unknown",
        "topic": "code",
        "tone": "judge",
        "sum": "unknown",
    }


def test_the_assertions_of_a_set_count():
    inner = [{"assertion": {"type": "llm-rubric"}}]
    grading = {"componentResults": [{"assertion": {"type": "assert-set"}, "componentResults": inner}]}
    _, scores, _ = read(Promptfoo(), from_values(result(gradingResult=grading)))
    assert {score.author for score in scores} == {"judge"}


def test_damaged_results_and_scores_are_counted():
    document = {"results": {"version": 3, "results": [result(score=[1], namedScores={"x": float("nan")}), 5, {}]}}
    calls, scores, remarks = read(Promptfoo(), from_values(document, {"results": []}))
    assert len(calls) == 1
    assert [score.name for score in scores] == ["success"]
    assert remarks == {
        "scores have no name or no value": 2,
        "results are damaged": 2,
        "documents have no results of promptfoo": 1,
    }


def test_metadata_of_a_test_are_attributes():
    call = one(testCase={"metadata": {"arm": "exp", "nested": {"n": 1.5, "list": [1]}, "none": None}})
    assert call.attributes == {
        "prompt.label": "Answer: {{q}}",
        "metadata.arm": "exp",
        "metadata.nested.n": "1.5",
        "metadata.nested.list": "[1]",
    }
