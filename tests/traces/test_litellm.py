"""LiteLLM: every rule for a field, every trap of its logs, and records that are damaged in any way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from deconfound.chat.conversation import Message
from deconfound.traces.call import Call, Score
from deconfound.traces.litellm import LiteLlm
from deconfound.traces.reader import TOO_DEEP, Remarks
from deconfound.traces.records import records_of
from deconfound.traces.trace_files import trace_file
from tests.support.json_damage import damaged, require_valid
from tests.support.trace_records import from_values, read_in_order

SAMPLE = Path(__file__).parent / "samples" / "litellm.jsonl"
MINI = "fd64b54cfa854e7de3d478e1bbc30fc76b7328694db490cb5505c1ab2ed0fcb1"
BIG = "16e5e48b97f9dad5359beec1519066758eecf467cd7ff794f0ca56291d759019"

PAYLOAD = {
    "id": "cc-41",
    "trace_id": "t-9",
    "litellm_call_id": "7d",
    "call_type": "acompletion",
    "status": "success",
    "startTime": 1790000000.12,
    "model": "openai/cedar-2",
    "model_group": "chat",
    "model_id": "9fd1",
    "custom_llm_provider": "openai",
    "messages": [{"role": "user", "content": "Where is my parcel?"}],
    "response": {
        "id": "cc-41",
        "model": "cedar-2",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "In Graz."}}],
    },
    "end_user": "u-3",
    "request_tags": ["exp"],
    "cache_hit": False,
    "model_parameters": {},
    "metadata": {"routing_decision": None, "requester_metadata": {"arm": "exp", "n": 1, "x": None}},
    "hidden_params": {"additional_headers": {"x-litellm-attempted-fallbacks": 0, "x-litellm-attempted-retries": 0}},
    "error_str": None,
}
SPEND_LOG = {
    "request_id": "chatcmpl-22",
    "call_type": "acompletion",
    "spend": 0.000225,
    "startTime": "2025-01-24 09:20:46.847371",
    "model": "gpt-4o",
    "model_id": "",
    "model_group": "",
    "custom_llm_provider": "openai",
    "user": "",
    "end_user": "",
    "session_id": "1234",
    "metadata": json.dumps({"attempted_fallbacks": None, "routing_decision": None, "internal_call_origin": None}),
    "request_tags": '["a b"]',
    "messages": "{}",
    "response": "{}",
    "proxy_server_request": "{}",
    "status": "success",
    "cache_hit": "None",
}
REQUEST = {"model": "chat", "messages": [{"role": "system", "content": "Short."}, {"role": "user", "content": "Hi"}]}
RESPONSE = PAYLOAD["response"]


def read_one(value) -> Call:
    found, _ = read_in_order(LiteLlm(), [value])
    (call,) = found
    return call


def changed(**fields):
    return read_one(PAYLOAD | fields)


def test_the_sample_has_its_six_calls():
    """Read by eye: six questions of one user, the third answered by the larger model."""
    remarks = Remarks()
    calls = list(LiteLlm().read(records_of(trace_file(SAMPLE), remarks), remarks))
    assert remarks.counts == {}
    assert [call.model for call in calls] == ["gpt-4o-mini"] * 2 + ["gpt-4o"] + ["gpt-4o-mini"] * 3
    assert [call.outputs for call in calls] == [
        ("hello from big",) if at == 2 else ("hello from mini",) for at in range(6)
    ]
    assert [call.messages for call in calls] == [(Message("user", f"Say hi {at}"),) for at in range(6)]
    assert [call.attributes["model_id"] for call in calls] == [BIG if at == 2 else MINI for at in range(6)]
    assert calls[5] == Call(
        origin=f"{SAMPLE} line 6",
        call_id="8eb5ecb8-fb5d-42ba-bddd-550a922e33a6",
        model="gpt-4o-mini",
        messages=(Message("user", "Say hi 5"),),
        outputs=("hello from mini",),
        requested_model="chat",
        group="chat",
        response_id="chatcmpl-562568c6-0dbe-4b8b-9c41-49b5e8344cbf",
        trace_id="s1",
        turn_id=calls[5].turn_id,
        conversation="s1",
        user="u1",
        time=1794835458.677491,
        attributes={"call_type": "acompletion", "custom_llm_provider": "openai", "model_id": MINI, "tag.exp": "true"},
    )


def test_calls_of_one_session_that_ask_different_questions_are_different_turns():
    other = {**PAYLOAD, "messages": [{"role": "user", "content": "Where is my refund?"}]}
    assert read_one(PAYLOAD).turn_id == read_one(dict(PAYLOAD)).turn_id != read_one(other).turn_id
    assert read_one({**PAYLOAD, "trace_id": ""}).turn_id == ""


def test_a_payload_is_a_call():
    call = read_one(PAYLOAD)
    assert call == Call(
        origin="x.jsonl line 1",
        call_id="7d",
        model="cedar-2",
        messages=(Message("user", "Where is my parcel?"),),
        outputs=("In Graz.",),
        requested_model="chat",
        group="chat",
        response_id="cc-41",
        trace_id="t-9",
        turn_id=call.turn_id,
        conversation="t-9",
        user="u-3",
        time=1790000000.12,
        attributes={
            "call_type": "acompletion",
            "custom_llm_provider": "openai",
            "model_id": "9fd1",
            "metadata.arm": "exp",
            "metadata.n": "1",
            "tag.exp": "true",
        },
    )


@pytest.mark.parametrize("inner", [PAYLOAD, json.dumps(PAYLOAD)])
def test_a_wrapped_payload_is_the_same_call(inner):
    wrapped = {"standard_logging_object": inner, "model": "other"}
    assert read_one(wrapped) == read_one(PAYLOAD)
    assert LiteLlm().recognizes(wrapped)


def test_the_id_of_the_record_and_that_of_the_response_are_both_known():
    """Feedback may have either, and neither is that of LiteLLM's own call."""
    record = {name: value for name, value in PAYLOAD.items() if name != "litellm_call_id"}
    call = read_one({**record, "id": "call-1", "metadata": {}, "response": {**PAYLOAD["response"], "id": "resp-1"}})
    assert (call.call_id, call.response_id) == ("call-1", "resp-1")


def test_spend_logs_without_prompts_say_so():
    call = read_one(SPEND_LOG)
    assert call.flags == {"no content"}
    assert (call.messages, call.outputs) == ((), ())
    assert (call.call_id, call.response_id, call.model, call.group) == ("chatcmpl-22", "chatcmpl-22", "gpt-4o", "")
    assert call.conversation == call.trace_id == "1234"
    assert call.time == pytest.approx(1737710446.847371)  # naive times are UTC
    assert call.attributes["tag.a b"] == "true"
    assert "store_prompts_in_spend_logs" in LiteLlm.content_switch


@pytest.mark.parametrize(
    "stored",
    [
        {"messages": json.dumps(REQUEST["messages"])},
        {"proxy_server_request": json.dumps(REQUEST)},
        {"proxy_server_request": REQUEST, "messages": {}},
        {"proxy_server_request": {"url": "/", "body": REQUEST}, "messages": None},
        {"metadata": json.dumps({"proxy_server_request": json.dumps(REQUEST)})},
    ],
)
def test_spend_logs_store_the_request_in_one_of_several_places(stored):
    call = read_one(SPEND_LOG | {"response": json.dumps(RESPONSE)} | stored)
    assert call.messages == (Message("system", "Short."), Message("user", "Hi"))
    assert call.outputs == ("In Graz.",)
    assert call.flags == frozenset()


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("openai/cedar-2", "openai", "cedar-2"),
        ("cedar-2", "openai", "cedar-2"),
        ("openai/cedar-2", None, "openai/cedar-2"),
        ("openai/cedar-2", "azure", "openai/cedar-2"),
        ("openrouter/openai/cedar-2", "openrouter", "openai/cedar-2"),
    ],
)
def test_only_the_provider_of_the_record_is_removed_from_the_name(model, provider, name):
    assert changed(model=model, custom_llm_provider=provider).model == name


def test_a_direct_call_asked_for_its_model():
    call = changed(model_group=None, model="cedar-2")
    assert (call.requested_model, call.group) == ("cedar-2", "")


def test_the_served_version_is_an_attribute():
    assert changed(response=RESPONSE | {"model": "cedar-2-0401"}).attributes["response.model"] == "cedar-2-0401"


@pytest.mark.parametrize("headers", [1, "2"])
def test_a_fallback_is_flagged(headers):
    assert changed(hidden_params={"additional_headers": {"x-litellm-attempted-fallbacks": headers}}).flags == {
        "fallback"
    }


def test_a_fallback_in_spend_logs_is_flagged_and_names_what_was_asked_for():
    row = SPEND_LOG | {
        "metadata": json.dumps({"attempted_fallbacks": 1, "original_model_group": "chat", "litellm_call_id": "c-1"}),
        "model_group": "spare",
    }
    call = read_one(row)
    assert call.flags == {"fallback", "no content"}
    assert (call.requested_model, call.group, call.call_id) == ("chat", "spare", "c-1")


def test_a_retry_is_an_attribute_and_a_remark():
    """A retry draws again among the models of the group, after the first one failed."""
    headers = {"x-litellm-attempted-retries": 2}
    (call,), remarks = read_in_order(LiteLlm(), [PAYLOAD | {"hidden_params": {"additional_headers": headers}}])
    assert call.flags == frozenset()
    assert call.attributes["attempted_retries"] == "2"
    assert remarks.counts == {"calls were retried, and another model may have been drawn first": 1}


@pytest.mark.parametrize(("hit", "flags"), [(True, {"cached"}), ("True", {"cached"}), ("None", set()), (None, set())])
def test_cache_hits_are_flagged(hit, flags):
    call = changed(cache_hit=hit, id="cc-41_cache_hit1790000001.5")
    assert call.flags == flags
    assert call.response_id == "cc-41"  # feedback on the first answer


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "failure", "response": {}, "error_str": "RateLimitError"},
        {"status": "failure", "response": {"error": {"message": "no"}}},
        {"status": None, "error_str": "RateLimitError", "response": None},
        {"status": None, "metadata": {"status": "failure"}, "response": {}},
    ],
)
def test_a_failed_call_has_no_answer_and_is_flagged(fields):
    call = changed(**fields)
    assert call.flags == {"error"}
    assert call.outputs == ()


@pytest.mark.parametrize(
    "kind",
    ["embedding", "aembedding", "arerank", "moderation", "aimage_generation", "_arealtime", "aspeech", "acreate_batch"],
)
def test_other_types_of_calls_are_internal(kind):
    assert changed(call_type=kind, response={}).flags == {"internal"}


@pytest.mark.parametrize(
    "kind",
    [
        "completion",
        "acompletion",
        "atext_completion",
        "aresponses",
        "responses",
        "anthropic_messages",
        "agenerate_content",
        "",
    ],
)
def test_answers_are_not_internal(kind):
    assert changed(call_type=kind).flags == frozenset()


def test_calls_of_litellm_itself_are_internal():
    call = changed(metadata={"internal_call_origin": "autorouter_classifier"})
    assert call.flags == {"internal"}
    assert call.attributes["internal_call_origin"] == "autorouter_classifier"
    assert changed(request_tags=["litellm-internal-health-check"]).flags == {"internal"}


def test_a_routing_decision_is_attributes():
    decision = {"router_type": "adaptive", "tier": None, "classifier_probabilities": {"hard": 0.25}, "stuck": False}
    call = changed(metadata={"routing_decision": decision})
    assert call.attributes["routing_decision.router_type"] == "adaptive"
    assert call.attributes["routing_decision.classifier_probabilities.hard"] == "0.25"
    assert call.attributes["routing_decision.stuck"] == "false"
    assert "routing_decision.tier" not in call.attributes


@pytest.mark.parametrize(
    ("fields", "user"),
    [
        ({"end_user": None, "metadata": {"user_api_key_end_user_id": "e"}}, "e"),
        ({"end_user": "", "model_parameters": {"user": "u1"}}, "u1"),
        ({"end_user": 17}, "17"),
        ({"end_user": None}, ""),
    ],
)
def test_the_user_is_in_one_of_three_places(fields, user):
    assert changed(**fields).user == user


def test_a_session_is_the_conversation():
    assert changed(session_id="s-1").conversation == "s-1"
    assert changed(metadata={"session_id": "s-2"}).conversation == "s-2"


@pytest.mark.parametrize("messages", ["complete me", [{"role": "user", "content": "complete me"}]])
def test_an_old_completion_has_text(messages):
    call = changed(messages=messages, response={"choices": [{"text": "done", "finish_reason": "length"}]})
    assert call.messages == (Message("user", "complete me"),)
    assert call.outputs == ("done",)
    assert call.flags == {"truncated"}


@pytest.mark.parametrize("key", ["instructions", "system"])
def test_a_system_prompt_in_the_parameters_comes_first(key):
    call = changed(model_parameters={key: "Be brief."}, messages="Hello", call_type="aresponses")
    assert call.messages == (Message("system", "Be brief."), Message("user", "Hello"))


def test_choices_are_several_outputs_and_a_tool_call_is_flagged():
    choices = [{"message": {"content": text}} for text in ("a", "b")]
    assert changed(response={"choices": choices}).outputs == ("a", "b")
    tool = {"function": {"name": "find", "arguments": "{}"}}
    call = changed(response={"choices": [{"message": {"content": None, "tool_calls": [tool]}}]})
    assert (call.outputs, call.flags) == (("find({})",), {"tool call"})


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": [{"role": "user", "content": "redacted-by-litellm"}]},
        {"response": {"choices": [{"message": {"content": "redacted-by-litellm"}}]}},
        {"response": {"text": "redacted-by-litellm"}},
        {"response": {}},
        {"messages": None},
    ],
)
def test_redacted_and_missing_texts_are_no_content(fields):
    assert changed(**fields).flags == {"no content"}


def test_texts_that_were_cut_are_no_content():
    """The table of spend logs has the start and the end of long texts only: such a prompt cannot be replayed."""
    cut = "A long system prompt... (litellm_truncated 12982 chars) ... and its end"
    (call,), remarks = read_in_order(LiteLlm(), [PAYLOAD | {"messages": [{"role": "user", "content": cut}]}])
    assert call.flags == {"no content"}
    assert remarks.counts == {"calls have texts that LiteLLM cut before it stored them": 1}


def test_a_repeated_record_is_read_once_and_attempts_of_one_request_are_not_repeated():
    failed = PAYLOAD | {"id": "7d", "status": "failure", "response": {}, "model": "openai/maple-1"}
    found, remarks = read_in_order(LiteLlm(), [failed, PAYLOAD, PAYLOAD])
    assert [(call.model, call.call_id) for call in found] == [("maple-1", "7d"), ("cedar-2", "7d")]
    assert remarks.counts == {"records are repeated": 1}
    assert remarks.first == {"records are repeated": "x.jsonl line 3"}


def test_feedback_is_a_score():
    rows = [
        {"trace_id": "t-9", "score": 1, "comment": "ok", "user": "u", "created_at": "2026-01-01T00:00:00Z"},
        {"session_id": "s-1", "score": 0.5},
        {"score": 1},
        {"trace_id": "t", "score": "good"},
    ]
    found, remarks = read_in_order(LiteLlm(), rows)
    assert found == [
        Score("x.jsonl line 1", "feedback", 1.0, "unknown", "trace", "t-9", author_id="u", time=1767225600.0),
        Score("x.jsonl line 2", "feedback", 0.5, "unknown", "conversation", "s-1"),
    ]
    assert remarks.counts == {"records are neither calls nor feedback": 2}


def test_a_call_without_model_is_left_out():
    found, remarks = read_in_order(LiteLlm(), [PAYLOAD | {"model": None}])
    assert found == []
    assert remarks.counts == {"calls have no name of a model": 1}


@settings(max_examples=60)
@given(damaged([PAYLOAD, SPEND_LOG, {"standard_logging_object": PAYLOAD}, {"trace_id": "t", "score": 1}]))
def test_any_damage_is_survived(values):
    require_valid(LiteLlm(), from_values(*values))


def test_half_a_surrogate_pair_and_deep_nesting_are_survived():
    assert changed(messages=[{"role": "user", "content": "\ud800"}]).messages[0].text == "\ud800"
    deep: object = "x"
    for _ in range(970):  # JSON can be read to this depth, but not written from within a program
        deep = [deep]
    found, remarks = read_in_order(LiteLlm(), [PAYLOAD | {"metadata": {"requester_metadata": {"a": deep}}}])
    assert (found, list(remarks.counts)) == ([], [TOO_DEEP])


AS_ROW = {
    **{key: SPEND_LOG[key] for key in ("call_type", "custom_llm_provider", "metadata", "status", "cache_hit")},
    "request_id": "cc-41",
    "startTime": "2026-09-21T14:13:20.120Z",
    "model": "cedar-2",
    "model_group": "chat",
    "messages": json.dumps(PAYLOAD["messages"]),
    "response": json.dumps(PAYLOAD["response"]),
}
WITHOUT_TEXTS = AS_ROW | {"messages": "{}", "response": "{}"}


@pytest.mark.parametrize("records", [[PAYLOAD, AS_ROW], [AS_ROW, PAYLOAD], [PAYLOAD, WITHOUT_TEXTS]])
def test_a_callback_and_a_row_of_the_spend_logs_are_one_call(records):
    found, remarks = read_in_order(LiteLlm(), records)
    assert [call.outputs for call in found] == [("In Graz.",)]
    assert remarks.counts == {"records are repeated": 1}


def test_a_row_without_texts_does_not_hide_the_callback():
    found, _ = read_in_order(LiteLlm(), [WITHOUT_TEXTS, PAYLOAD])
    assert [call.outputs for call in found] == [(), ("In Graz.",)]


def test_answers_from_the_cache_are_calls_of_their_own():
    others = [
        PAYLOAD | {"cache_hit": True, "startTime": PAYLOAD["startTime"] + 1, "litellm_call_id": "7e"},
        PAYLOAD | {"cache_hit": True, "litellm_call_id": "7f"},
    ]
    found, remarks = read_in_order(LiteLlm(), [PAYLOAD, *others])
    assert len(found) == 3
    assert remarks.counts == {}
