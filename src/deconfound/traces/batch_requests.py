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
from deconfound.traces.model_versions import split_version
from deconfound.traces.reader import Remarks

NO_ANSWER_ENDPOINTS = ("/embeddings", "/moderations")
ELSEWHERE = ("previous_response_id", "conversation")  # keys of requests that continue a conversation on the server
NO_CONTEXT = -1  # the request does not have all of its messages
DIGEST_BYTES = 16
ModelVersion = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Request:
    """What is stored of one request: its model, and the number of its messages in the store."""

    model: str
    context: int
    internal: bool
    origin: str


@dataclass(slots=True)
class _Shared:
    """The requests of one custom_id by model, each by the number of its messages. Nothing is searched."""

    by_model: dict[ModelVersion, dict[int, Request]] = field(default_factory=dict)
    versions: dict[str, list[str]] = field(default_factory=dict)  # by the name of the model
    contexts: set[int] = field(default_factory=set)
    answered: set[ModelVersion] = field(default_factory=set)
    all_answered: bool = False

    def add(self, request: Request) -> None:
        """Store a request."""
        name, version = key = split_version(request.model)
        if key not in self.by_model:
            self.versions.setdefault(name, []).append(version)
        self.by_model.setdefault(key, {})[request.context] = request
        self.contexts.add(request.context)

    def answer(self, model: str) -> Request | None:
        """The request that a model answered: the one to this model, or any if the answer names none."""
        name, version = split_version(model)
        if not name and len(self.contexts) != 1:
            return None
        keys = list(self.by_model) if not name and not self.all_answered else self._keys(name, version)
        found = [next(iter(self.by_model[key].values())) for key in keys if len(self.by_model[key]) == 1]
        if not keys or len(found) < len(keys) or len({one.context for one in found}) != 1:
            return None
        self.answered.update(keys)
        self.all_answered = self.all_answered or not name
        return found[0] if len(self.by_model) == 1 or (name and len(found) == 1) else replace(found[0], model="")

    def was_asked(self, model: str) -> bool:
        """Whether there is a request that the model may have answered."""
        return bool(self._keys(*split_version(model)))

    def _keys(self, name: str, version: str) -> list[ModelVersion]:
        """The models that an answer's model may have been asked as."""
        if not name:
            return list(self.by_model)[:1]
        if name not in self.versions:
            name, version = "", ""  # requests without a model
        if version:
            return [(name, one) for one in (version, "") if (name, one) in self.by_model][:1]
        return [(name, one) for one in self.versions.get(name, ())]


@dataclass(slots=True)
class RequestStore:
    """Requests by custom_id; equal messages are stored once, compressed."""

    single: dict[str, Request] = field(default_factory=dict)  # most have an id of their own
    shared: dict[str, _Shared] = field(default_factory=dict)
    _answered: set[str] = field(default_factory=set)  # of the single ones
    _packed: list[bytes] = field(default_factory=list)
    _numbers: dict[bytes, int] = field(default_factory=dict)

    def __contains__(self, custom_id: str) -> bool:
        return custom_id in self.single or custom_id in self.shared

    def add(self, custom_id: str, value: Mapping[str, Any], origin: str, remarks: Remarks) -> None:
        """Store the request of one line of an input file."""
        body = request_body(value)
        internal = text_from(value.get("url")).rstrip("/").endswith(NO_ANSWER_ENDPOINTS)
        model = sys.intern(text_from(body.get("model")))
        context = NO_CONTEXT if internal else self._store(_messages(body, origin, remarks))
        request = Request(model, context, internal, origin)
        if custom_id not in self:
            self.single[custom_id] = request
            return
        if custom_id in self.single:
            self.shared[custom_id] = _shared_by(self.single.pop(custom_id), answered=custom_id in self._answered)
        others = self.shared[custom_id].by_model.get(split_version(model), {})
        if context in others:
            remarks.add("requests stand in the files twice", origin)
            return
        if others:
            remarks.add("requests have the custom_id and the model of another request, but other messages", origin)
        self.shared[custom_id].add(request)

    def answer(self, custom_id: str, model: str) -> Request | None:
        """The request that a model answered; None if there is none to this model, or several with other messages."""
        if custom_id not in self.single:
            return self.shared[custom_id].answer(model) if custom_id in self.shared else None
        found = _shared_by(self.single[custom_id]).answer(model)
        if found is not None:
            self._answered.add(custom_id)
        return found

    def was_asked(self, custom_id: str, model: str) -> bool:
        """Whether there is a request that the model may have answered."""
        shared = self.shared[custom_id] if custom_id in self.shared else _shared_by(self.single[custom_id])
        return shared.was_asked(model)

    def unanswered(self) -> Iterator[Request]:
        """The requests that no call of ``answer`` has returned."""
        yield from (one for custom_id, one in self.single.items() if custom_id not in self._answered)
        for shared in self.shared.values():
            for key, requests in shared.by_model.items():
                if key not in shared.answered:
                    yield from requests.values()

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


def _shared_by(request: Request, *, answered: bool = False) -> _Shared:
    shared = _Shared()
    shared.add(request)
    if answered:
        shared.answered.update(shared.by_model)
    return shared


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
