"""The texts of calls that wait for others: in a temporary file, since they are nearly all of the data."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, replace
from typing import IO

from deconfound.chat.conversation import Message
from deconfound.traces.call import Call


@dataclass(slots=True)
class TextStore:
    """Where the texts of each call are in a file."""

    file: IO[bytes]
    _places: dict[str, tuple[int, int]] = field(default_factory=dict)  # where they begin, and how many bytes

    def put(self, key: str, call: Call) -> Call:
        """Write the texts of a call; the call without them."""
        texts = [[[message.role, message.text] for message in call.messages], call.outputs]
        data = json.dumps(texts).encode()
        self._places[key] = self.file.seek(0, io.SEEK_END), len(data)
        self.file.write(data)
        return replace(call, messages=(), outputs=())

    def get(self, key: str, call: Call) -> Call:
        """The call with its texts."""
        begin, length = self._places[key]
        self.file.seek(begin)
        messages, outputs = json.loads(self.file.read(length))
        return replace(call, messages=tuple(Message(role, text) for role, text in messages), outputs=tuple(outputs))
