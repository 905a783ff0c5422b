"""Batch files: requests and answers are joined on custom_id, whatever their order and provider."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from time import process_time

import pytest

from deconfound.chat.conversation import Message
from deconfound.traces.batch_files import BatchFiles
from deconfound.traces.batch_requests import RequestStore
from deconfound.traces.reader import Remarks
from tests.support.trace_records import from_values, read

QUESTION, ANSWER = "Where is my parcel?", "In Graz."
ASKED = (Message("system", "Be brief."), Message("user", QUESTION))
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
CHAT = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ANSWER}}]}


def asked(custom_id="p1", model="cedar", url="/v1/chat/completions", **body):
    return {
        "custom_id": custom_id,
        "method": "POST",
        "url": url,
        "body": {"model": model, **(body or {"messages": MESSAGES})},
    }


def answered(custom_id="p1", model="cedar-0901", body=None, **line):
    completion = {"id": f"c-{custom_id}", "created": 1790000000, "model": model, **(body or CHAT)}
    response = {"status_code": 200, "request_id": "r", "body": completion}
    return {"id": f"b-{custom_id}-{model}", "custom_id": custom_id, "response": response, "error": None, **line}


ENDPOINTS = {
    "chat": (asked(), answered()),
    "responses": (
        asked(url="/v1/responses", instructions="Be brief.", input=QUESTION),
        answered(body={"output": [{"type": "message", "content": [{"type": "output_text", "text": ANSWER}]}]}),
    ),
    "Anthropic": (
        {"custom_id": "p1", "params": {"model": "cedar", "system": "Be brief.", "messages": MESSAGES[1:]}},
        {
            "custom_id": "p1",
            "result": {
                "type": "succeeded",
                "message": {"id": "c-p1", "model": "cedar-0901", "content": [{"type": "text", "text": ANSWER}]},
            },
        },
    ),
    "no body": (
        asked(),
        {"custom_id": "p1", "response": {"id": "c-p1", "model": "cedar-0901", **CHAT}, "error": None},
    ),
}


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("order", [1, -1])
def test_requests_and_answers_are_joined_in_any_order(endpoint, order):
    calls, scores, remarks = read(BatchFiles(), from_values(*ENDPOINTS[endpoint][::order]))
    (call,) = calls
    assert (call.messages, call.outputs) == (ASKED, (ANSWER,))
    assert (call.model, call.requested_model, call.response_id) == ("cedar-0901", "cedar", "c-p1")
    assert (call.flags, call.context_id, call.draw) == (frozenset(), "", None)
    assert call.attributes["custom_id"] == "p1"
    assert (scores, remarks) == ([], {})


def test_the_old_completions_have_a_prompt():
    request = asked(url="/v1/completions", prompt=QUESTION)
    calls, _, remarks = read(BatchFiles(), from_values(request, answered(body={"choices": [{"text": ANSWER}]})))
    assert (calls[0].messages, calls[0].outputs, remarks) == ((Message("user", QUESTION),), (ANSWER,), {})


@pytest.mark.parametrize(
    ("body", "remark"),
    [
        ({"prompt": ["a", "b"]}, "requests have several prompts or tokens instead of text"),
        ({"prompt": [15, 16, 17]}, "requests have several prompts or tokens instead of text"),
        ({"messages": []}, "requests have no messages"),
        (
            {"input": "And now?", "previous_response_id": "r-1"},
            "requests continue a conversation or use a prompt that is stored on the server",
        ),
        (
            {"input": "x", "prompt": {"id": "p-1"}},
            "requests continue a conversation or use a prompt that is stored on the server",
        ),
    ],
)
def test_a_request_without_all_of_its_messages_has_no_content(body, remark):
    calls, _, remarks = read(BatchFiles(), from_values(asked(**body), answered()))
    assert (calls[0].messages, calls[0].flags) == ((), frozenset({"no content"}))
    assert remarks == {remark: 1}


def test_an_output_file_alone_has_no_content_and_an_input_file_alone_no_answers():
    calls, _, remarks = read(BatchFiles(), from_values(answered("p1"), answered("p2")))
    assert [call.flags for call in calls] == [frozenset({"no content"})] * 2
    assert [call.outputs for call in calls] == [(ANSWER,)] * 2
    assert remarks == {"answers have no request in the files": 2}
    assert read(BatchFiles(), from_values(asked("p1"), asked("p2"))) == (
        [],
        [],
        {"requests have no answer in the files": 2},
    )


@pytest.mark.parametrize(
    ("line", "remark"),
    [
        ({"response": None, "error": {"code": "batch_expired"}}, "requests expired before they were answered"),
        ({"response": None, "error": {"code": "batch_cancelled"}}, "requests were canceled"),
        ({"response": {"status_code": 429, "body": {"error": {"message": "x"}}}, "error": None}, "requests failed"),
        ({"response": {"status_code": 500, "body": CHAT}, "error": {"code": "x"}}, "requests failed"),
        ({"response": "x"}, "requests failed"),
        ({"result": {"type": "expired"}}, "requests expired before they were answered"),
        ({"result": {"type": "canceled"}}, "requests were canceled"),
        ({"result": {"type": "errored", "error": {"type": "error"}}}, "requests failed"),
    ],
)
def test_a_request_without_answer_is_an_error_of_the_model_that_was_asked(line, remark):
    calls, _, remarks = read(BatchFiles(), from_values(asked(), {"custom_id": "p1", **line}))
    assert [(call.model, call.flags, call.messages) for call in calls] == [("cedar", frozenset({"error"}), ASKED)]
    assert remarks == {remark: 1}


@pytest.mark.parametrize(
    ("custom_id", "context", "model", "draw"),
    [
        ("p1|cedar|0", "p1", "cedar", 0),
        ("a|b|cedar|12", "a|b", "cedar", 12),
        ("line\nbreak|cedar|1", "line\nbreak", "cedar", 1),
        ("p1|cedar|x", "", "", None),
        ("p1|cedar|-1", "", "", None),
        ("p1|cedar|1.5", "", "", None),
        ("|cedar|1", "", "", None),
        ("p1||1", "", "", None),
        ("p1|1", "", "", None),
        ("p1|cedar|٣", "", "", None),
    ],
)
@pytest.mark.parametrize("with_request", [True, False])
def test_custom_ids_of_a_replay_say_context_model_and_draw(custom_id, context, model, draw, with_request):
    request = "elm" if model else "cedar"  # an id that names the model may have been asked for by another name
    lines = [*([asked(custom_id, request)] if with_request else []), answered(custom_id)]
    (call,) = read(BatchFiles(), from_values(*lines))[0]
    assert (call.context_id, call.draw) == (context, draw)
    assert call.requested_model == (request if with_request else model)


def test_calls_of_a_replay_are_not_collected_when_their_requests_come_first():
    """A large output file must not have to fit into memory."""
    requests = [asked(f"p{n}|cedar|0") for n in range(3)]
    answers = [answered(f"p{n}|cedar|0") for n in range(3)]
    found = BatchFiles().read(iter(from_values(*requests, answers[0], {"no": "line"})), Remarks())
    assert next(found).context_id == "p0"


def test_a_custom_id_that_several_models_share_is_the_context():
    lines = [asked("p1", "cedar"), asked("p1", "oak"), asked("p2", "oak")]
    lines += [answered("p1", "cedar-0901"), answered("p1", "oak"), answered("p2", "oak")]
    for order in itertools.islice(itertools.permutations(lines), 0, None, 29):
        calls, _, remarks = read(BatchFiles(), from_values(*order))
        found = {(call.requested_model, call.model, call.context_id, call.messages) for call in calls}
        assert found == {
            ("cedar", "cedar-0901", "p1", ASKED),
            ("oak", "oak", "p1", ASKED),
            ("oak", "oak", "", ASKED),
        }
        assert remarks == {}


def test_batches_that_number_their_requests_alike_do_not_share_contexts():
    other = [{"role": "user", "content": "Another question"}]
    lines = [asked("request-1", "cedar"), asked("request-1", "oak", messages=other)]
    calls, _, remarks = read(
        BatchFiles(), from_values(*lines, answered("request-1", "cedar"), answered("request-1", "oak"))
    )
    assert [call.context_id for call in calls] == ["", ""]
    assert [call.messages for call in calls] == [ASKED, (Message("user", "Another question"),)]
    assert remarks == {"answers share their custom_id with another model that got other messages": 2}


def test_an_answer_that_fits_several_requests_gets_none_of_them():
    other = [{"role": "user", "content": "Another question"}]
    lines = [asked("request-1"), asked("request-1", messages=other), answered("request-1")]
    calls, _, remarks = read(BatchFiles(), from_values(*lines))
    assert (calls[0].messages, calls[0].flags) == ((), frozenset({"no content"}))
    assert remarks == {
        "requests have the custom_id and the model of another request, but other messages": 1,
        "answers fit several requests": 1,
        "requests have no answer in the files": 2,
    }


def test_the_longest_name_that_begins_the_served_name_was_asked():
    lines = [asked("p1", "cedar"), asked("p1", "cedar-mini"), answered("p1", "cedar-mini-0901")]
    calls, _, remarks = read(BatchFiles(), from_values(*lines))
    assert calls[0].requested_model == "cedar-mini"
    assert remarks == {"requests have no answer in the files": 1}


def test_every_choice_is_an_output_and_flags_come_from_the_choices():
    body = {"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}, "finish_reason": "length"}]}
    tool = {"choices": [{"message": {"content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}}]}
    lines = [asked("p1"), asked("p2"), answered("p1", body=body), answered("p2", body=tool)]
    calls, _, _ = read(BatchFiles(), from_values(*lines))
    assert [(call.outputs, call.flags) for call in calls] == [
        (("a", "b"), {"truncated"}),
        (("f({})",), {"tool call"}),
    ]


def test_embeddings_are_internal():
    request = asked(url="/v1/embeddings", input=QUESTION)
    answer = answered(body={"object": "list", "data": [{"embedding": [0.1]}]})
    for lines in ([request, answer], [answer]):
        (call,) = read(BatchFiles(), from_values(*lines))[0]
        assert "internal" in call.flags
        assert (call.outputs, call.messages) == ((), ())


def test_lines_of_another_kind_are_counted():
    lines = [
        {"custom_id": "p1"},
        {"custom_id": None, "body": {"model": "x"}},
        {},
        {"custom_id": "p1", "response": None},
    ]
    calls, _, remarks = read(BatchFiles(), from_values(*lines))
    assert (calls, remarks) == ([], {"lines are neither a request nor an answer of a batch": 4})


def test_equal_messages_of_many_models_and_draws_are_stored_once():
    """400 requests of 10 contexts of 4 kB each would need 1.6 MB as they are."""
    bodies = [asked(f"p{n}|cedar|{n}", messages=[{"role": "user", "content": f"{n % 10} " * 2000}]) for n in range(400)]
    lines = [json.dumps(body) for body in bodies]
    store, remarks = RequestStore(), Remarks()
    tracemalloc.start()
    for number, line in enumerate(lines):
        store.add(f"p{number}|cedar|{number}", json.loads(line), f"x.jsonl line {number}", remarks)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(store._packed) == 10
    assert used < 400_000


@pytest.mark.parametrize(
    ("requested", "answering"),
    [
        ("cedar", "cedar"),
        ("cedar", "cedar-2026-09-01"),
        ("cedar-latest", "cedar-20260901"),
        ("acme/cedar", "Cedar-0901"),
        ("us.acme.cedar-20260901-v1:0", "cedar-20260901-v1:0"),
        ("", "cedar"),
        ("cedar", ""),
    ],
)
def test_an_answer_belongs_to_a_request_to_its_model(requested, answering):
    calls, _, remarks = read(BatchFiles(), from_values(asked(model=requested), answered(model=answering)))
    assert (calls[0].messages, remarks) == (ASKED, {})


@pytest.mark.parametrize(
    ("requested", "answering"),
    [("cedar", "elm"), ("cedar", "cedar-mini"), ("cedar-mini", "cedar"), ("cedar-2026-05-01", "cedar-2026-09-01")],
)
def test_an_answer_of_another_model_has_no_request(requested, answering):
    """Files of several models may use the same ids for other questions."""
    lines = [asked(model=requested), answered(model=requested), answered(model=answering)]
    calls, _, remarks = read(BatchFiles(), from_values(*lines))
    assert [call.messages for call in calls] == [ASKED, ()]
    assert calls[1].flags == {"no content"}
    assert remarks == {"answers have no request to their model in the files": 1}


def test_many_requests_of_one_custom_id_take_linear_time():
    store, remarks = RequestStore(), Remarks()
    start = process_time()
    for number in range(20_000):
        value = asked(model=f"m{number}x", messages=[{"role": "user", "content": f"q{number}"}])
        store.add("p1", value, f"line {number}", remarks)
    found = [store.answer("p1", f"m{number}x") for number in range(20_000)]
    assert process_time() - start < 10.0  # it took minutes when each one was compared with all others
    assert [one.origin for one in found if one is not None] == [f"line {number}" for number in range(20_000)]
