"""Our own frozen dataclasses as bytes, and back: what a task shares with its workers, without pickles.

A document in JSON, and beside it the bytes of arrays and Arrow tables. Reading constructs only dataclasses of this
package, from what their constructors take, and runs no other code. An object that occurs twice is written once.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, final

import numpy as np

from deconfound.errors import UsageError

PACKAGE = "deconfound"
KINDS = "biufUmM"  # of arrays; reading objects could run code
LENGTH = struct.Struct("<q")

Node = Any  # what JSON can say


def to_bytes(value: object) -> bytes:
    """A value as bytes; a ``UsageError`` for anything that is not plain data."""
    writer = _Writer()
    root = writer.node(value)
    sizes = [len(part) for part in writer.parts]
    head = json.dumps({"root": root, "objects": writer.objects, "sizes": sizes}).encode()
    return b"".join([LENGTH.pack(len(head)), head, *writer.parts])


def from_bytes(content: bytes) -> Any:  # noqa: ANN401  (what was written)
    """The inverse of ``to_bytes``; a ``ValueError`` if the content is damaged."""
    try:
        size = LENGTH.unpack_from(content)[0]
        head = json.loads(content[LENGTH.size : LENGTH.size + size])
        parts, at = [], LENGTH.size + size
        for length in head["sizes"]:
            parts.append(memoryview(content)[at : at + length])
            at += length
        if at != len(content):
            raise ValueError("it has another length")
        return _Reader(head["objects"], parts).value(head["root"])
    except (LookupError, TypeError, struct.error, AttributeError, ImportError) as error:
        raise ValueError(f"the data of a task are damaged ({type(error).__name__}: {error})") from error


@final
class _Writer:
    """The parts of a document: objects by their number, in the order in which they were completed."""

    def __init__(self) -> None:
        self.objects: list[Node] = []
        self.parts: list[bytes] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[object] = []  # a number of a freed object could belong to another one

    def node(self, value: object) -> Node:
        if value is None or type(value) in (bool, int, float, str):
            return value
        if type(value) in (tuple, list, set, frozenset):
            return {type(value).__name__: [self.node(item) for item in value]}  # type: ignore[attr-defined]
        if isinstance(value, Mapping):
            return {"dict": [[self.node(key), self.node(item)] for key, item in value.items()]}
        if isinstance(value, Path):
            return {"path": str(value)}
        return {"object": self._number(value)}

    def _number(self, value: object) -> int:
        if id(value) not in self._numbers:
            described = self._describe(value)
            self.objects.append(described)
            self._alive.append(value)
            self._numbers[id(value)] = len(self.objects) - 1
        return self._numbers[id(value)]

    def _describe(self, value: object) -> Node:
        if is_dataclass(value) and not isinstance(value, type):
            kind = type(value)
            given = {field.name: self.node(getattr(value, field.name)) for field in fields(value) if field.init}
            if kind.__module__.partition(".")[0] == PACKAGE and "." not in kind.__qualname__:
                return {"class": [kind.__module__, kind.__name__], "fields": given}
        if isinstance(value, bytes):
            return {"bytes": self._part(value)}
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in KINDS:
            array = np.ascontiguousarray(value)
            is_scalar = isinstance(value, np.generic)
            return {
                "array": self._part(array.tobytes()),
                "type": array.dtype.str,
                "shape": None if is_scalar else value.shape,
            }
        table = _table_to_bytes(value)
        if table is not None:
            return {"table": self._part(table)}
        raise UsageError(
            f"A log with data of the type {type(value).__name__} cannot be sent to workers. Write it to a Parquet "
            "file, or use --engine local."
        )

    def _part(self, content: bytes) -> int:
        self.parts.append(content)
        return len(self.parts) - 1


@final
class _Reader:
    """Objects of a document; each is made once."""

    def __init__(self, objects: list[Node], parts: list[memoryview]) -> None:
        self._objects = objects
        self._parts = parts
        self._made: dict[int, Any] = {}

    def value(self, node: Node) -> Any:  # noqa: ANN401
        if not isinstance(node, dict):
            return node
        ((kind, content),) = node.items()
        if kind in CONTAINERS:
            return CONTAINERS[kind](self.value(item) for item in content)
        if kind == "dict":
            return {self.value(key): self.value(item) for key, item in content}
        if kind == "path":
            return Path(content)
        if content not in self._made:
            self._made[content] = self._make(self._objects[content])
        return self._made[content]

    def _make(self, described: Node) -> Any:  # noqa: ANN401
        if "class" in described:
            return _our_class(*described["class"])(**{name: self.value(of) for name, of in described["fields"].items()})
        if "bytes" in described:
            return bytes(self._parts[described["bytes"]])
        if "array" in described:
            return _to_array(self._parts[described["array"]], described["type"], described["shape"])
        import pyarrow as pa

        with pa.ipc.open_stream(pa.py_buffer(self._parts[described["table"]])) as stream:
            return stream.read_all()


CONTAINERS: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}


def _our_class(module: str, name: str) -> Any:  # noqa: ANN401
    if module.partition(".")[0] != PACKAGE:
        raise ValueError(f"{module} is not of this package")
    found = getattr(import_module(module), name)
    if not (isinstance(found, type) and is_dataclass(found)):
        raise ValueError(f"{module}.{name} is no data")
    return found


def _to_array(content: memoryview, kind: str, shape: list[int] | None) -> Any:  # noqa: ANN401
    dtype = np.dtype(kind)
    if dtype.kind not in KINDS:
        raise ValueError(f"an array is of the type {dtype}")
    array = np.frombuffer(content, dtype=dtype).copy()
    return array[0] if shape is None else array.reshape(shape)


def _table_to_bytes(value: object) -> bytes | None:
    """An Arrow table; None for anything else."""
    import pyarrow as pa

    if not isinstance(value, pa.Table):
        return None
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, value.schema) as stream:
        stream.write_table(value)
    return buffer.getvalue()
