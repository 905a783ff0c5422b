"""Members of zip archives: Zstandard is read, and an archive that contradicts itself is refused."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deconfound.errors import DataError
from deconfound.traces.zip_members import open_members
from tests.support.trace_records import SAMPLES

NAME = Path("x.eval")
TEXT = b"Where is my parcel? " * 100
REAL = next((SAMPLES / "inspect").glob("*.eval")).read_bytes()


def member(name: str, packed: bytes, size: int, crc: int, method: int, offset: int, flags: int = 0):
    """Local header with data, and the entry of the directory."""
    raw = name.encode()
    common = struct.pack("<5H3L2H", 20, flags, method, 0, 0, crc, len(packed), size, len(raw), 0)
    entry = b"PK\x01\x02\x14\x00" + common + struct.pack("<3H2L", 0, 0, 0, 0, offset) + raw
    return b"PK\x03\x04" + common + raw + packed, entry


def archive(*parts) -> io.BytesIO:
    """Parts are (name, packed, size, crc, method) with optional offset and flags."""
    data, directory = b"", b""
    for name, packed, size, crc, method, *rest in parts:
        offset = rest[0] if rest and rest[0] is not None else len(data)
        local, entry = member(name, packed, size, crc, method, offset, *rest[1:])
        data, directory = data + local, directory + entry
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, len(parts), len(parts), len(directory), len(data), 0)
    return io.BytesIO(data + directory + end)


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def deflate(data: bytes) -> bytes:
    return zlib.compress(data, wbits=-15)


CRC = zlib.crc32(TEXT)


@pytest.mark.parametrize(("method", "packed"), [(0, TEXT), (8, deflate(TEXT)), (93, zstd(TEXT))])
def test_every_method_gives_the_content(method, packed):
    file = archive(("a.json", packed, len(TEXT), CRC, method), ("b.json", b"", 0, 0, 0))
    members = open_members(file, NAME)
    assert list(members.members) == ["a.json", "b.json"]
    assert members.read("a.json") == TEXT
    assert members.read("b.json") == b""


@pytest.mark.parametrize(
    ("part", "what"),
    [
        (("a", TEXT, len(TEXT) + 1, CRC, 0), "another size or checksum"),
        (("a", TEXT, len(TEXT) - 1, CRC, 0), "larger than the directory says"),
        (("a", TEXT, len(TEXT), CRC + 1, 0), "another size or checksum"),
        (("a", zstd(TEXT), 10, CRC, 93), "larger than the directory says"),
        (("a", deflate(TEXT), 10, CRC, 8), "larger than the directory says"),
        (("a", deflate(TEXT)[:-4], len(TEXT), CRC, 8), "another size or checksum"),
        (("a", zstd(TEXT)[:-4], len(TEXT), CRC, 93), "cannot be decompressed|another size"),
        (("a", b"no zstd", len(TEXT), CRC, 93), "cannot be decompressed"),
        (("a", b"\xff\xff\xff", len(TEXT), CRC, 8), "cannot be decompressed"),
        (("a", TEXT, len(TEXT), CRC, 14), "method 14 is not supported"),
        (("a", TEXT, len(TEXT), CRC, 0, None, 1), "encrypted"),
        (("a", TEXT, len(TEXT), CRC, 0, 10), "not where the directory says"),
    ],
)
def test_a_member_that_contradicts_the_directory_is_refused(part, what):
    with pytest.raises(DataError, match=what):
        open_members(archive(part), NAME).read("a")


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "C:/x", "\\x", "a\\..\\x", "//host/x"])
def test_names_that_point_outside_are_refused(name):
    with pytest.raises(DataError, match="points outside"):
        open_members(archive((name, TEXT, len(TEXT), CRC, 0)), NAME)


def test_members_that_overlap_are_refused():
    """A zip bomb may show the same compressed bytes as many members."""
    with pytest.raises(DataError, match="overlap"):
        open_members(archive(("a", TEXT, len(TEXT), CRC, 0), ("b", TEXT, len(TEXT), CRC, 0, 0)), NAME)
    inner, _ = member("b", b"x", 1, zlib.crc32(b"x"), 0, 0)
    outer = inner + b"y"  # the data of the first member hold a whole second one
    parts = [("a", outer, len(outer), zlib.crc32(outer), 0), ("b", b"x", 1, zlib.crc32(b"x"), 0, 31)]
    with pytest.raises(DataError, match="overlaps"):
        open_members(archive(*parts), NAME).read("a")


def test_a_member_without_its_own_header_is_refused():
    data = archive(("a", TEXT, len(TEXT), CRC, 0)).getvalue()
    with pytest.raises(DataError, match="not where the directory says"):
        open_members(io.BytesIO(b"XX" + data[2:]), NAME).read("a")


def test_members_outside_the_file_are_refused():
    for offset in (10**6, 2**32 - 2):
        with pytest.raises(DataError, match="outside"):
            open_members(archive(("a", TEXT, len(TEXT), CRC, 0, offset)), NAME)


def test_the_limit_holds_for_all_members_together(monkeypatch):
    monkeypatch.setenv("DECONFOUND_MAX_INPUT_GB", str(3000 / 10**9))
    part = (deflate(TEXT), len(TEXT), CRC, 8)
    members = open_members(archive(("a", *part), ("b", *part)), NAME)
    assert members.read("a") == TEXT
    with pytest.raises(DataError, match="DECONFOUND_MAX_INPUT_GB"):
        members.read("b")


@pytest.mark.parametrize("pack", [deflate, zstd])
def test_a_bomb_stops_at_the_limit(monkeypatch, pack):
    """30 MB of zeros in some kB: reading ends after the first piece, not after the last."""
    monkeypatch.setenv("DECONFOUND_MAX_INPUT_GB", "0.002")
    zeros = bytes(30_000_000)
    part = ("a", pack(zeros), len(zeros), zlib.crc32(zeros), {deflate: 8, zstd: 93}[pack])
    with pytest.raises(DataError, match="DECONFOUND_MAX_INPUT_GB"):
        open_members(archive(part), NAME).read("a")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"{}", REAL[:-30], REAL[:500]])
def test_a_file_that_is_no_complete_archive_is_refused(data):
    with pytest.raises(DataError, match="not a complete zip archive"):
        open_members(io.BytesIO(data), NAME)


def test_the_last_member_of_a_name_counts():
    file = archive(("a", b"old", 3, zlib.crc32(b"old"), 0), ("a", b"new", 3, zlib.crc32(b"new"), 0))
    assert open_members(file, NAME).read("a") == b"new"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(REAL) - 1), st.integers(0, 255)), min_size=1, max_size=6), st.data())
def test_any_damage_is_an_error_of_this_package_or_changes_nothing_that_is_read(changes, data):
    damaged = bytearray(REAL)
    for place, byte in changes:
        damaged[place] = byte
    cut = data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)))
    try:
        members = open_members(io.BytesIO(bytes(damaged[:cut])), NAME)
        for name in members.members:
            assert len(members.read(name)) == members.members[name].file_size
    except DataError:
        pass
