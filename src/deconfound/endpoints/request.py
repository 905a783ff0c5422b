"""One call of a model, and the key under which its reply is stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deconfound.endpoints.chat_body import chat_body
from deconfound.endpoints.chat_model import ChatModel

KEY_VERSION = "deconfound reply 1"
"""Part of every key; another one makes all stored replies unknown."""
KEY_BYTES = 20
ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True)
class Request:
    """A call that can be sent: the model, the body as it goes over the wire, the draw, and the key of its reply."""

    chat: ChatModel
    body: bytes
    draw: int
    key: bytes


def canonical_body(body: Mapping[str, Any]) -> bytes:
    """JSON in which equal bodies are equal bytes."""
    return ENCODER.encode(body).encode("ascii")


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """Makes the requests of one model.

    The key covers everything that can change the reply: the URL, the headers, the whole body and the number of the
    draw. It does not cover the endpoint's key, nor names that only our own files have.
    """

    chat: ChatModel
    _start: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        endpoint = self.chat.endpoint
        identity = json.dumps([KEY_VERSION, endpoint.call_url, endpoint.sent_headers], separators=(",", ":"))
        object.__setattr__(self, "_start", hashlib.blake2b(identity.encode(), digest_size=KEY_BYTES))

    def body(self, messages: Sequence[Mapping[str, Any]], draw: int) -> bytes:
        """What is sent for these messages; the same for all draws unless the model has a seed."""
        return canonical_body(chat_body(self.chat, messages, draw))

    def key(self, body: bytes, draw: int) -> bytes:
        """The key of a reply."""
        digest = self._start.copy()
        digest.update(b"\n%d\n" % draw)
        digest.update(body)
        found: bytes = digest.digest()
        return found

    def request(self, messages: Sequence[Mapping[str, Any]], draw: int) -> Request:
        """The call of one draw."""
        body = self.body(messages, draw)
        return Request(self.chat, body, draw, self.key(body, draw))
