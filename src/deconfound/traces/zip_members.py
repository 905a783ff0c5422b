"""The members of a zip archive from an unknown source, Zstandard included, which Python before 3.14 cannot read.

Nothing is written to disk. What does not agree with the archive's own directory raises a ``DataError``.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

import pyarrow as pa

from deconfound.errors import DataError, Problem
from deconfound.formatting import quote
from deconfound.loading.input_limit import require_size

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
LOCAL_HEADER = struct.Struct("<4s5H3L2H")
LOCAL_SIGNATURE = b"PK\x03\x04"
ENCRYPTED = 0x1
CHUNK_BYTES = 1 << 20
DAMAGED = "Copy the archive again, or write it again with the program that made it."


@dataclass(slots=True)
class ZipMembers:
    """An open archive; the last member of a name counts, as in every reader of zip archives."""

    source: str
    file: BinaryIO
    members: dict[str, zipfile.ZipInfo]
    _ends: dict[int, int]  # where the data of a member must end, by the place of its header
    _total: int = field(default=0)  # bytes that have been decompressed

    def read(self, name: str) -> bytes:
        """The content of a member, of the size and with the checksum that the directory gives."""
        info = self.members[name]
        data = bytearray()
        try:
            for part in _decompress(self._packed(info), info.compress_type):
                data += part
                self._require_size(info, len(data))
        except (OSError, zlib.error, pa.ArrowException) as error:
            raise self._error(f"{quote(name)} cannot be decompressed: {quote(error)}") from None
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise self._error(f"{quote(name)} has another size or checksum than the directory says")
        self._total += len(data)
        return bytes(data)

    def _require_size(self, info: zipfile.ZipInfo, size: int) -> None:
        if size > info.file_size:
            raise self._error(f"{quote(info.filename)} is larger than the directory says")
        require_size(self.source, self._total + size)

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        """The compressed bytes, which begin after the member's own header."""
        self.file.seek(info.header_offset)
        header = self.file.read(LOCAL_HEADER.size)
        if len(header) < LOCAL_HEADER.size:
            raise self._error(f"{quote(info.filename)} is cut off")
        signature, _, flags, method, *_, name_bytes, extra_bytes = LOCAL_HEADER.unpack(header)
        if signature != LOCAL_SIGNATURE or method != info.compress_type:
            raise self._error(f"{quote(info.filename)} is not where the directory says")
        if (flags | info.flag_bits) & ENCRYPTED:
            raise self._error(f"{quote(info.filename)} is encrypted", "Write the archive without a password.")
        begin = info.header_offset + LOCAL_HEADER.size + name_bytes + extra_bytes
        if begin + info.compress_size > self._ends[info.header_offset]:
            raise self._error(f"{quote(info.filename)} overlaps another part of the archive")
        self.file.seek(begin)
        packed = self.file.read(info.compress_size)
        if len(packed) < info.compress_size:
            raise self._error(f"{quote(info.filename)} is cut off")
        return packed

    def _error(self, what: str, fix: str = DAMAGED) -> DataError:
        return DataError([Problem(self.source, what, fix)])


def open_members(file: BinaryIO, path: Path) -> ZipMembers:
    """Read and check the directory of an archive."""
    source = path.name
    try:
        with zipfile.ZipFile(file) as archive:
            infos, directory = archive.infolist(), archive.start_dir
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, EOFError, struct.error) as error:
        raise DataError([Problem(source, f"this is not a complete zip archive: {quote(error)}", DAMAGED)]) from None
    in_order = sorted(infos, key=lambda info: info.header_offset)
    begins = [info.header_offset for info in in_order]
    ends = dict(zip(begins, [*begins[1:], directory], strict=True))
    for info in in_order:
        if _is_outside(info.filename):
            what = f"the name {quote(info.filename)} points outside the archive"
            raise DataError([Problem(source, what, "Do not use archives from unknown sources.")])
    if len(ends) < len(in_order) or any(not 0 <= begin < directory for begin in begins):
        raise DataError([Problem(source, "members of the archive overlap or lie outside it", DAMAGED)])
    return ZipMembers(source, file, {info.filename: info for info in infos}, ends)


def _is_outside(name: str) -> bool:
    windows = PureWindowsPath(name)
    return (
        bool(windows.drive or windows.root)
        or name.startswith("/")
        or ".." in (*PurePosixPath(name).parts, *windows.parts)
    )


def _decompress(packed: bytes, method: int) -> Iterator[bytes]:
    if method == STORED:
        yield packed
    elif method == DEFLATED:
        decoder = zlib.decompressobj(-zlib.MAX_WBITS)
        while packed and not decoder.eof:
            yield decoder.decompress(packed, CHUNK_BYTES)
            packed = decoder.unconsumed_tail
        yield decoder.flush()
    elif method == ZSTANDARD:
        with pa.input_stream(pa.BufferReader(packed), compression="zstd") as stream:
            while part := stream.read(CHUNK_BYTES):
                yield part
    else:
        raise zlib.error(f"compression method {method} is not supported")
