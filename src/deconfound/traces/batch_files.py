"""Batch files of OpenAI and Anthropic: requests in one file, their answers in another, joined on ``custom_id``.

Files of several models may use the same ids for other questions, so the model must agree, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from deconfound.chat.answers import Answer, answers_from
from deconfound.chat.batch_lines import batch_failure, response_body
from deconfound.chat.message_content import CHOICE_KEYS
from deconfound.traces.batch_requests import NO_CONTEXT, Request, RequestStore, request_body
from deconfound.traces.call import Call, Score
from deconfound.traces.exchange import flags_from
from deconfound.traces.field_values import (
    attributes_from,
    mapping_from,
    seconds_from,
    text_from,
)
from deconfound.traces.reader import Record, Remarks, skip_if_too_deep

REPLAY_ID = re.compile(r"(?P<context>.+)\|(?P<model>[^|]+)\|(?P<draw>[0-9]{1,9})", re.DOTALL)
ANSWER_KEYS = (*CHOICE_KEYS, "output", "content")


@dataclass(frozen=True, slots=True)
class _Answered:
    """One line of an output file as a call that is not yet joined with its request, on which its flags depend."""

    custom_id: str
    call: Call
    answers: tuple[Answer, ...]
    error: bool
    internal: bool


class BatchFiles:
    """Input and output files of the batch interfaces of OpenAI, Anthropic and servers that follow them."""

    name: ClassVar[str] = "batch files"
    content_switch: ClassVar[str] = (
        "The output file of a batch has no messages; give the input file of the same batch, too."
    )

    def recognizes(self, value: Mapping[str, Any]) -> bool:
        """Whether a line is a request or an answer of a batch."""
        return "custom_id" in value and any(key in value for key in ("body", "params", "response", "result", "error"))

    def read(self, records: Iterable[Record], remarks: Remarks) -> Iterator[Call | Score]:
        """Calls in the order of the output files, later where their context id depends on the files to come."""
        store, waiting = RequestStore(), list[_Answered]()
        for record in records:
            answered = None
            with skip_if_too_deep(remarks, record.origin):
                answered = _read_line(record, store, remarks)
            if answered is None:
                continue
            if REPLAY_ID.fullmatch(answered.custom_id) and answered.custom_id in store:
                yield _joined(answered, _match(answered, store, remarks), store)
            else:
                waiting.append(answered)
        yield from _join_all(waiting, store, remarks)
        for request in store.unanswered():
            remarks.add("requests have no answer in the files", request.origin)


def _read_line(record: Record, store: RequestStore, remarks: Remarks) -> _Answered | None:
    """Store what the line asks, and return what it answers."""
    value, origin = record.value, record.origin
    custom_id = text_from(value.get("custom_id"))
    is_request = bool(request_body(value))
    is_answer = any(value.get(key) is not None for key in ("response", "result", "error"))
    if not custom_id or not (is_request or is_answer):
        remarks.add("lines are neither a request nor an answer of a batch", origin)
        return None
    if is_request:
        store.add(custom_id, value, origin, remarks)
    return _answered(custom_id, value, origin, remarks) if is_answer else None


def _answered(custom_id: str, value: Mapping[str, Any], origin: str, remarks: Remarks) -> _Answered:
    line = _decoded(value)
    body = response_body(line)
    answers = answers_from(body) if any(isinstance(body.get(key), str | list) for key in ANSWER_KEYS) else ()
    failure = batch_failure(line)
    if failure:
        remarks.add(failure, origin)
    internal = not failure and not answers and isinstance(body.get("data"), list)  # embeddings and moderations
    response_id = text_from(body.get("id"))
    call = Call(
        origin=origin,
        call_id=text_from(value.get("id")) or response_id or custom_id,
        model=text_from(body.get("model")),
        messages=(),
        outputs=tuple(answer.text for answer in answers),
        response_id=response_id,
        time=seconds_from(body.get("created") or body.get("created_at")),
        attributes={"custom_id": custom_id, **attributes_from(body.get("metadata"), "metadata")},
    )
    return _Answered(custom_id, call, answers, error=bool(failure), internal=internal)


def _decoded(value: Mapping[str, Any]) -> dict[str, Any]:
    """What a line answers; some exports have objects as JSON in a text."""
    return {key: mapping_from(value.get(key)) or value.get(key) for key in ("result", "response", "error")}


def _match(answered: _Answered, store: RequestStore, remarks: Remarks) -> Request:
    """The request of an answer; an empty one, and a remark, where the files do not say which."""
    named = _model_in(answered.custom_id)
    names = (answered.call.model, named, "") if named else (answered.call.model,)
    request = next((one for name in names if (one := store.answer(answered.custom_id, name)) is not None), None)
    if request is not None:
        return request
    if answered.custom_id not in store:
        what = "answers have no request in the files"
    elif answered.call.model and not store.was_asked(answered.custom_id, answered.call.model):
        what = "answers have no request to their model in the files"
    else:
        what = "answers fit several requests"
    remarks.add(what, answered.call.origin)
    return Request("", NO_CONTEXT, internal=False, origin="")


def _joined(answered: _Answered, request: Request, store: RequestStore, context_id: str = "") -> Call:
    """The call with what its request and its custom_id say."""
    call, named = answered.call, REPLAY_ID.fullmatch(answered.custom_id)
    messages, internal = store.messages(request.context), answered.internal or request.internal
    flags = flags_from(messages, answered.answers, {"error": answered.error, "internal": internal})
    requested = request.model or _model_in(answered.custom_id)
    return replace(
        call,
        model=call.model or requested,
        messages=messages,
        requested_model=requested,
        context_id=named["context"] if named else context_id,
        draw=int(named["draw"]) if named else None,
        flags=flags - {"no content"} if request.internal else flags,  # its input is no conversation
    )


def _join_all(waiting: Sequence[_Answered], store: RequestStore, remarks: Remarks) -> Iterator[Call]:
    """The calls that had to wait; a custom_id that several models share is the id of their context."""
    requests = [_match(answered, store, remarks) for answered in waiting]
    models: dict[str, set[str]] = {}
    contexts: dict[str, set[int]] = {}
    for answered, request in zip(waiting, requests, strict=True):
        models.setdefault(answered.custom_id, set()).add(request.model or answered.call.model)
        contexts.setdefault(answered.custom_id, set()).add(request.context)
    for answered, request in zip(waiting, requests, strict=True):
        custom_id = answered.custom_id
        shared = len(models[custom_id]) > 1
        if shared and len(contexts[custom_id] - {NO_CONTEXT}) > 1:
            remarks.add(
                "answers share their custom_id with another model that got other messages", answered.call.origin
            )
            shared = False
        yield _joined(answered, request, store, custom_id if shared else "")


def _model_in(custom_id: str) -> str:
    named = REPLAY_ID.fullmatch(custom_id)
    return named["model"] if named else ""
