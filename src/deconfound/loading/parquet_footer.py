"""The rows and the sizes of a Parquet file's column chunks, from its footer.

Arrow offers the same, but some damaged footers end the whole process there: `RowGroupMetaData.column` lets C++
exceptions escape. The footer is Thrift in the compact protocol, of which only what a reader needs is implemented.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

MAGIC = b"PAR1"
MAX_DEPTH = 16  # structs and lists inside each other; Parquet needs eight
STOP, TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12, 13
INTEGERS = (4, 5, 6)
ROW_GROUPS, COLUMNS, META_DATA = 4, 1, 3  # fields of FileMetaData, RowGroup and ColumnChunk
NUM_ROWS = 3  # of RowGroup
TYPE, ENCODINGS, PATH, NUM_VALUES, UNCOMPRESSED_SIZE, DICTIONARY_OFFSET = 1, 2, 3, 5, 6, 11  # of ColumnMetaData
SIZE_STATISTICS, TEXT_BYTES = 16, 1  # of ColumnMetaData and SizeStatistics
TEXT = "BYTE_ARRAY"
PHYSICAL_TYPES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", TEXT, "FIXED_LEN_BYTE_ARRAY")
DICTIONARY_ENCODINGS = frozenset({2, 8})
DELTA_BYTE_ARRAY = 7

Struct = dict[int, Any]


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """What a file says about one column of one row group."""

    group: int
    column: int
    name: str
    physical_type: str
    values: int
    stored_bytes: int
    has_dictionary: bool
    shares_prefixes: bool
    text_bytes: int | None = None  # of all values, each written out; newer writers say it

    @property
    def may_grow(self) -> bool:
        """Whether texts are stored once and used often, and the file does not say how often.

        Where values share their prefixes, Arrow counts only what follows these.
        """
        unknown = self.shares_prefixes or (self.has_dictionary and self.text_bytes is None)
        return self.physical_type == TEXT and unknown


@dataclass(frozen=True, slots=True)
class Footer:
    """The rows of every row group, and every chunk of a file."""

    rows: tuple[int, ...]
    chunks: tuple[ColumnChunk, ...]


def read_footer(handle: BinaryIO) -> Footer:
    """What a file says about its rows; ``ValueError`` if the footer cannot be read."""
    try:
        groups = _Reader(_footer_bytes(handle)).struct().get(ROW_GROUPS, [])
        chunks = tuple(
            _chunk(group, column, chunk[META_DATA])
            for group, row_group in enumerate(groups)
            for column, chunk in enumerate(row_group[COLUMNS])
        )
        return Footer(tuple(max(int(group[NUM_ROWS]), 0) for group in groups), chunks)
    except (LookupError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise ValueError(f"the footer is not that of a Parquet file ({type(error).__name__})") from error


def _footer_bytes(handle: BinaryIO) -> bytes:
    size = handle.seek(0, os.SEEK_END)
    handle.seek(max(size - 8, 0))
    end = handle.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != MAGIC or length > size - 12:
        raise ValueError("there is no footer at the end of the file")
    handle.seek(size - 8 - length)
    return handle.read(length)


def _chunk(group: int, column: int, described: Struct) -> ColumnChunk:
    encodings = set(described[ENCODINGS])
    return ColumnChunk(
        group,
        column,
        ".".join(part.decode() for part in described[PATH]),
        PHYSICAL_TYPES[described[TYPE]],
        max(described[NUM_VALUES], 0),
        max(described[UNCOMPRESSED_SIZE], 0),
        DICTIONARY_OFFSET in described or bool(encodings & DICTIONARY_ENCODINGS),
        DELTA_BYTE_ARRAY in encodings,
        _text_bytes(described.get(SIZE_STATISTICS, {}).get(TEXT_BYTES)),
    )


def _text_bytes(value: Any) -> int | None:  # noqa: ANN401  (whatever the file has)
    return None if value is None else max(int(value), 0)


class _Reader:
    """Reads values of the compact protocol one after the other; ``IndexError`` at the end of the bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._depth = 0

    def struct(self) -> Struct:
        """A struct as its fields by number."""
        self._enter()
        fields: Struct = {}
        number = 0
        while (head := self._byte()) != STOP:
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind)
        self._depth -= 1
        return fields

    def _value(self, kind: int) -> Any:  # noqa: ANN401  (whatever the file has)
        if kind in INTEGERS:
            return self._integer()
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind == STRUCT:
            return self.struct()
        if kind in (LIST, SET):
            return self._list()
        if kind == MAP:
            return self._map()
        return self._bytes({TRUE: 1, FALSE: 1, BYTE: 1, DOUBLE: 8, UUID: 16}[kind])

    def _list(self) -> list[Any]:
        self._enter()
        head = self._byte()
        count = self._count(head >> 4 if head >> 4 < 15 else self._varint())
        read: Callable[[int], Any] = self._value
        values = [read(head & 15) for _ in range(count)]
        self._depth -= 1
        return values

    def _map(self) -> None:
        """Skip a map: none of those in a footer is needed."""
        self._enter()
        count = self._count(self._varint())
        kinds = self._byte() if count else 0
        for _ in range(count):
            self._value(kinds >> 4)
            self._value(kinds & 15)
        self._depth -= 1

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ValueError("the footer is nested too deeply")

    def _count(self, count: int) -> int:
        """The number of elements, each of which has at least one byte."""
        if count > len(self._data) - self._at:
            raise IndexError
        return count

    def _bytes(self, length: int) -> bytes:
        start = self._at
        self._at = start + self._count(length)
        return self._data[start : self._at]

    def _byte(self) -> int:
        value = self._data[self._at]
        self._at += 1
        return value

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("the footer has a number of more than 64 bits")
        return value | byte << shift

    def _integer(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
