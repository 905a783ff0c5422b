"""The requests of batch files, stored in little memory until their answers come."""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from deconfound.chat.conversation import Message, messages_from
from deconfound.chat.message_content import REQUEST_KEYS, SYSTEM_KEYS
from deconfound.traces.field_values import text_from
from deconfound.traces.reader import Remarks

NO_ANSWER_ENDPOINTS = ("/embeddings", "/moderations")
ELSEWHERE = ("previous_response_id", "conversation")  # keys of requests that continue a conversation on the server
NO_CONTEXT = -1  # the request does not have all of its messages
DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Request:
    """What is stored of one request: its model, and the number of its messages in the store."""

    model: str
    context: int
    internal: bool
    origin: str


@dataclass(slots=True)
class RequestStore:
    """Requests by custom_id; equal messages are stored once, compressed."""

    by_id: dict[str, tuple[Request, ...]] = field(default_factory=dict)
    _answered: set[Request] = field(default_factory=set)
    _packed: list[bytes] = field(default_factory=list)
    _numbers: dict[bytes, int] = field(default_factory=dict)

    def add(self, custom_id: str, value: Mapping[str, Any], origin: str, remarks: Remarks) -> None:
        """Store the request of one line of an input file."""
        body = request_body(value)
        internal = text_from(value.get("url")).rstrip("/").endswith(NO_ANSWER_ENDPOINTS)
        model = sys.intern(text_from(body.get("model")))
        context = NO_CONTEXT if internal else self._store(_messages(body, origin, remarks))
        others = self.by_id.get(custom_id, ())
        if any(one.model == model and one.context == context for one in others):
            remarks.add("requests stand in the files twice", origin)
            return
        if any(one.model == model for one in others):
            remarks.add("requests have the custom_id and the model of another request, but other messages", origin)
        self.by_id[custom_id] = (*others, Request(model, context, internal, origin))

    def answer(self, custom_id: str, model: str) -> Request | None:
        """The request that a model answered: the only one, the one to this model, or any if all have equal messages."""
        requests = self.by_id.get(custom_id, ())
        if len(requests) > 1:
            named = [one for one in requests if one.model and model.startswith(one.model)]
            longest = max((len(one.model) for one in named), default=0)  # "x-mini-0901" is "x-mini" rather than "x"
            requests = tuple(one for one in named if len(one.model) == longest) or requests
        if len({one.context for one in requests}) != 1:
            return None
        self._answered.update(requests)
        return requests[0] if len(requests) == 1 else replace(requests[0], model="")

    def unanswered(self) -> Iterator[Request]:
        """The requests that no call of ``answer`` has returned."""
        return (one for requests in self.by_id.values() for one in requests if one not in self._answered)

    def messages(self, context: int) -> tuple[Message, ...]:
        """The messages of a request; none where the request does not have them."""
        if context == NO_CONTEXT:
            return ()
        return tuple(Message(role, text) for role, text in json.loads(zlib.decompress(self._packed[context])))

    def _store(self, messages: tuple[Message, ...]) -> int:
        if not messages:
            return NO_CONTEXT
        data = json.dumps([(message.role, message.text) for message in messages]).encode()
        digest = hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()
        number = self._numbers.setdefault(digest, len(self._packed))
        if number == len(self._packed):
            self._packed.append(zlib.compress(data))
        return number


def request_body(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a line of an input file sends to the model; empty where the line is no request."""
    return next((value[key] for key in ("body", "params") if isinstance(value.get(key), Mapping)), {})


def _messages(body: Mapping[str, Any], origin: str, remarks: Remarks) -> tuple[Message, ...]:
    prompt = body.get("prompt")
    if any(body.get(key) for key in ELSEWHERE) or isinstance(prompt, Mapping):
        remarks.add("requests continue a conversation or use a prompt that is stored on the server", origin)
        return ()
    key = next((key for key in (*REQUEST_KEYS, "input") if body.get(key)), None)
    if key is not None:
        system = {name: body[name] for name in SYSTEM_KEYS if name in body}
        return messages_from({"model": "", key: body[key], **system})
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if isinstance(prompt, str) and prompt.strip():
        return (Message("user", prompt),)
    what = "several prompts or tokens instead of text" if isinstance(prompt, list) else "no messages"
    remarks.add(f"requests have {what}", origin)
    return ()
