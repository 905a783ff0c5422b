"""One call of a model, and the key under which its reply is stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import Any, TypeAlias, final

from deconfound.endpoints.chat_body import chat_body, text_messages
from deconfound.endpoints.chat_model import ChatModel

KEY_VERSION = "deconfound reply 1"
"""Part of every key; another one makes all stored replies unknown."""
KEY_BYTES = 20
MARK = "\0text\0"  # stands for a text in a body that is made in advance
ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


Asked: TypeAlias = Sequence[Mapping[str, Any]] | str
"""Messages, or a text that is what the user says."""


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


@final
class RequestBuilder:
    """Makes the requests of one model.

    The key covers everything that can change the reply: the URL, the headers, the whole body and the number of the
    draw. It does not cover the endpoint's key, nor names that only our own files have.
    """

    def __init__(self, chat: ChatModel) -> None:
        self.chat = chat
        identity = [KEY_VERSION, chat.endpoint.call_url, chat.endpoint.sent_headers]
        self._start = hashlib.blake2b(ENCODER.encode(identity).encode("ascii"), digest_size=KEY_BYTES)
        self._around: dict[int, tuple[bytes, bytes] | None] = {}

    def body(self, asked: Asked, draw: int) -> bytes:
        """What is sent; the same for all draws unless the model has a seed."""
        return (
            self._text_body(asked, draw)
            if isinstance(asked, str)
            else canonical_body(chat_body(self.chat, asked, draw))
        )

    def _text_body(self, text: str, draw: int) -> bytes:
        """The body of a text's only message, in a fraction of the time: most of it is always the same."""
        at = draw if self.chat.seed is not None else 0
        if at not in self._around:
            self._around[at] = self._split(at)
        around = self._around[at]
        if around is None:
            return self.body(text_messages(text), draw)
        return b"".join((around[0], encode_basestring_ascii(text).encode("ascii"), around[1]))

    def key(self, body: bytes, draw: int) -> bytes:
        """The key of a reply."""
        digest = self._start.copy()
        digest.update(b"\n%d\n" % draw)
        digest.update(body)
        return digest.digest()

    def request(self, asked: Asked, draw: int) -> Request:
        """The call of one draw."""
        body = self.body(asked, draw)
        return Request(self.chat, body, draw, self.key(body, draw))

    def _split(self, draw: int) -> tuple[bytes, bytes] | None:
        """The body before and after the text; None if a setting contains the mark that stands for it."""
        parts = self.body(text_messages(MARK), draw).split(ENCODER.encode(MARK).encode("ascii"))
        return (parts[0], parts[1]) if len(parts) == 2 else None
