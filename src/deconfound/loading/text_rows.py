"""Consecutive rows of a CSV or JSONL file, also of a compressed one, in blocks of whole rows."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from deconfound.loading.csv import HEADER_RECORD, SEPARATOR_LINE, delimiter_of, parse_csv
from deconfound.loading.csv_cells import without_blank_rows
from deconfound.loading.file_stamp import FileStamp, require_unchanged
from deconfound.loading.files import (
    CHUNK_BYTES,
    END_OF_FILE,
    UTF_16,
    File,
    Format,
    decompressed,
    file_error,
    refuse_invalid_text,
    refuse_other_content,
)
from deconfound.loading.input_limit import require_size
from deconfound.loading.jsonl import read_jsonl
from deconfound.loading.raw import RawTable
from deconfound.loading.row_ends import end_of_lines, end_of_rows

LEADING_BREAKS = re.compile(rb"[\r\n]*")
WIDE = "utf-16"


@dataclass(frozen=True, slots=True)
class TextRows:
    """The rows between two bytes of a file; ``stop`` is None for its end.

    ``preamble`` is what a CSV has above its rows, the names of the columns included. ``rows`` and ``lines`` are the
    numbers of those before these in the file. A file that is compressed or UTF-16 is only read from its beginning.
    """

    path: str
    source: str
    format: Format
    codec: str | None
    stamp: FileStamp
    batch_bytes: int
    start: int = 0
    stop: int | None = None
    preamble: bytes = b""
    rows: int = 0
    lines: int = 0
    expansion: float = 1.0  # decoded bytes per stored one, estimated

    @classmethod
    def of(cls, file: File, batch_bytes: int, expansion: float = 1.0) -> TextRows:
        """All rows of a file."""
        kind: Format = "csv" if file.format == "csv" else "jsonl"
        with file.path.open("rb") as handle:
            start = handle.read(64)
        codec = WIDE if file.codec is None and start.startswith(UTF_16) else file.codec
        marks = len(start) - len(_without_marks(start))
        return cls(
            str(file.path.absolute()),
            file.source,
            kind,
            codec,
            FileStamp.of(file.path),
            batch_bytes,
            start=0 if codec else marks,
            expansion=expansion,
        )

    @property
    def size(self) -> int:
        """Decoded bytes; of a compressed file an estimate."""
        stored = (self.stamp.size if self.stop is None else self.stop) - self.start
        return stored if self.codec is None else int(self.stamp.size * self.expansion)

    @property
    def can_be_cut(self) -> bool:
        """Whether the file can be read from its middle."""
        return self.codec is None

    def batches(self) -> Iterator[tuple[RawTable, TextRows]]:
        """Each block of rows, and the rows after it."""
        require_unchanged(self.path, self.source, self.stamp)
        content = self._content()
        rest = self
        if self.format == "csv" and not self.preamble:
            preamble, following = _split_preamble(content)
            refuse_invalid_text(preamble, self.source)
            content = chain([following], content)
            moved = self.start + len(preamble)
            rest = replace(self, preamble=preamble, lines=preamble.count(b"\n"), start=moved)
        for block, is_last in rest._blocks(content):
            data = block.removesuffix(END_OF_FILE) if is_last and self.stop is None else block
            refuse_invalid_text(data, self.source, rest.lines)
            raw = rest._parse(data)
            rows = 0 if raw is None else raw.arrow.num_rows
            moved, lines = rest.start + len(block), rest.lines + block.count(b"\n")
            rest = replace(rest, start=moved, lines=lines, rows=rest.rows + rows)
            if raw is not None:
                yield (without_blank_rows(raw) if self.format == "csv" else raw), rest
        require_unchanged(self.path, self.source, self.stamp)

    def _parse(self, data: bytes) -> RawTable | None:
        """The rows of a block, blank ones included; None if there are none."""
        if self.format == "csv":
            return parse_csv(self.preamble + data, self.source, self.rows)
        return read_jsonl(data, self.source, first_line=self.lines) if data.strip() else None

    def _blocks(self, content: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
        """Whole rows of about ``batch_bytes`` bytes, and whether they are the last ones; one row may be longer."""
        pieces: list[bytes] = []
        size, enough = 0, self.batch_bytes
        for piece in content:
            pieces.append(piece)
            size += len(piece)
            if size < enough:
                continue
            buffer = b"".join(pieces)
            end = self._end(buffer)
            pieces, size = [buffer[end:]], len(buffer) - end
            enough = self.batch_bytes if end else 2 * size
            require_size(self.source, size)
            if end:
                yield buffer[:end], False
        yield b"".join(pieces), True

    def _end(self, data: bytes) -> int:
        if self.format != "csv":
            return end_of_lines(data)
        line_break = b"\r" if self.preamble.endswith(b"\r") else b"\n"
        return end_of_rows(data, delimiter_of(self.preamble), line_break)

    def _content(self) -> Iterator[bytes]:
        """The text in pieces, as UTF-8 without byte-order mark."""
        file = File(Path(self.path), self.source, self.format, self.codec)
        if self.codec is None:
            pieces = self._between(file)
        else:
            pieces = self._from_utf_16(file) if self.codec == WIDE else decompressed(file)
        first = next(pieces, b"")
        if not self.preamble and not self.rows:
            refuse_other_content(first, file)
            if self.codec is not None:
                first = _without_marks(first)
        yield first
        yield from pieces

    def _between(self, file: File) -> Iterator[bytes]:
        left = (self.stamp.size if self.stop is None else self.stop) - self.start
        with file.path.open("rb") as handle:
            handle.seek(self.start)
            while left and (piece := handle.read(min(CHUNK_BYTES, self.batch_bytes, left))):
                left -= len(piece)
                yield piece

    def _from_utf_16(self, file: File) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(WIDE)()
        try:
            with file.path.open("rb") as handle:
                while piece := handle.read(CHUNK_BYTES):
                    yield decoder.decode(piece).encode()
            yield decoder.decode(b"", final=True).encode()
        except UnicodeError:
            what = "the UTF-16 text is cut off or damaged"
            raise file_error(self.source, what, "Save the file again, as UTF-8.") from None


def _without_marks(data: bytes) -> bytes:
    while data.startswith(codecs.BOM_UTF8):  # files that were joined have several
        data = data.removeprefix(codecs.BOM_UTF8)
    return data


def _split_preamble(content: Iterator[bytes]) -> tuple[bytes, bytes]:
    """The lines up to the names of the columns, and what of the rows was read with them."""
    data = b""
    for piece in content:
        data += piece
        end = _preamble_end(data)
        if end:
            return data[:end], data[end:]
    return data, b""


def _preamble_end(data: bytes) -> int:
    """The end of the line with the names; 0 if it is not here yet."""
    declared = SEPARATOR_LINE.match(data)
    breaks = LEADING_BREAKS.match(data, 0 if declared is None else declared.end())
    names = HEADER_RECORD.match(data, 0 if breaks is None else breaks.end())
    end = 0 if names is None else names.end()
    if end + 1 >= len(data):
        return 0
    return end + (2 if data[end : end + 2] == b"\r\n" else 1)
