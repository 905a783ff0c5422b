"""Messages between a process and its worker: lengths and bytes, on pipes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import BinaryIO

LENGTH = struct.Struct("<q")


def write_parts(stream: BinaryIO, parts: Sequence[bytes]) -> None:
    """Write a message of several parts."""
    for part in parts:
        stream.write(LENGTH.pack(len(part)))
        stream.write(part)
    stream.flush()


def read_parts(stream: BinaryIO, count: int) -> list[bytes]:
    """Read a message of ``count`` parts; ``EOFError`` where the other process has ended."""
    return [_read(stream, LENGTH.unpack(_read(stream, LENGTH.size))[0]) for _ in range(count)]


def _read(stream: BinaryIO, size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content
