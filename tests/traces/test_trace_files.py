"""Paths, folders and patterns become files; what is not read is named, with a way out."""

from __future__ import annotations

import gzip
import io
import os
import zipfile

import pytest

from deconfound.errors import DataError
from deconfound.traces.reader import Remarks
from deconfound.traces.records import records_of
from deconfound.traces.trace_files import files_of, trace_file


@pytest.fixture
def folder(tmp_path):
    for name in (
        "b/2.jsonl",
        "b/1.json",
        "a.csv.gz",
        "c.parquet",
        ".hidden/x.jsonl",
        ".y.jsonl",
        "notes.txt",
        "z.bin",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    return tmp_path


def test_a_folder_gives_its_files_in_order_and_counts_the_others(folder):
    remarks = Remarks()
    files = files_of([folder], remarks)
    assert [file.path.relative_to(folder).as_posix() for file in files] == [
        "a.csv.gz",
        "b/1.json",
        "b/2.jsonl",
        "c.parquet",
    ]
    assert (files[0].format, files[0].codec) == ("csv", "gzip")
    assert remarks.counts == {"files or folders are hidden": 2, "files have an extension that is not read": 2}
    assert remarks.first["files have an extension that is not read"].endswith("notes.txt")


def test_a_pattern_gives_its_matches_and_no_file_comes_twice(folder):
    remarks = Remarks()
    files = files_of([str(folder / "**" / "*.json*"), folder / "b" / "1.json", f"{folder}/*"], remarks)
    assert [file.path.name for file in files] == ["1.json", "2.jsonl", "a.csv.gz", "c.parquet"]


def test_a_name_with_pattern_signs_is_a_name_if_there_is_such_a_file(tmp_path):
    path = tmp_path / "log[1].jsonl"
    path.write_text("{}")
    assert [file.path for file in files_of([str(path)], Remarks())] == [path]


@pytest.mark.parametrize("given", ["empty", "b/*.xyz"])
def test_a_folder_or_pattern_without_files_is_refused(folder, given):
    (folder / "empty").mkdir()
    with pytest.raises(DataError, match="there is no file of traces"):
        files_of([folder / given], Remarks())


def test_a_link_to_a_folder_is_not_followed(folder):
    (folder / "b" / "loop").symlink_to(folder)
    remarks = Remarks()
    assert len(files_of([folder], remarks)) == 4
    assert remarks.counts["links to folders are not followed"] == 1


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("missing.jsonl", "no such file"),
        ("notes.txt", "unsupported file extension"),
        ("z.bin", "unsupported file extension"),
        ("x.parquet.gz", "unsupported file extension"),
        ("spans.pb", "OTLP in protobuf.*format: json"),
        ("s.xlsx", "Excel.*CSV"),
        ("s.zip", "zip archive.*Unpack"),
        ("s.pdf", "PDF"),
    ],
)
def test_a_named_file_of_another_format_is_refused_by_name(folder, name, what):
    if name != "missing.jsonl":
        (folder / name).write_bytes(b"x")
    with pytest.raises(DataError, match=what):
        trace_file(folder / name)


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "p.jsonl")
    with pytest.raises(DataError, match="pipe"):
        trace_file(tmp_path / "p.jsonl")


def zipped(member):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(member, "x")
    return data.getvalue()


OTLP = b"\x0a\x91\x02\x0a\x3b\x0a\x20\x0a\x0cservice.name\x12\x10\x0a\x0emy-application"
CONTENTS = {
    "OTLP in protobuf": OTLP,
    "OTLP in protobuf (with lengths)": b"\x00\x00\x01\x10" + OTLP,
    "an Excel file": zipped("[Content_Types].xml"),
    "a zip archive": zipped("traces.json"),
    "an Excel file (old)": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "a PDF document": b"%PDF-1.7\n",
    "UTF-16 text": '{"a": 1}'.encode("utf-16"),
    "UTF-16 text (little-endian, no mark)": '{"a": 1}'.encode("utf-16-le"),
    "UTF-16 text (big-endian, no mark)": '{"a": 1}'.encode("utf-16-be"),
    "a gzip file": gzip.compress(b"{}"),
    "a Parquet file": b"PAR1....",
    "a database": b"SQLite format 3\0",
    "binary data of an unknown format": b"\x01\x02{}",
}


@pytest.mark.parametrize("what", CONTENTS)
@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.csv"])
def test_content_of_another_format_is_refused_by_name(tmp_path, name, what):
    (tmp_path / name).write_bytes(CONTENTS[what])
    with pytest.raises(DataError, match=f"the content is {what.split(' (')[0]}"):
        list(records_of(trace_file(tmp_path / name), Remarks()))


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.jsonl.zst", "x.json.gz", "x.csv.gz"])
def test_damaged_compression_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"plain text, not compressed at all")
    with pytest.raises(DataError, match="cannot be decompressed"):
        list(records_of(trace_file(tmp_path / name), Remarks()))


def test_cut_off_compression_is_refused(tmp_path):
    whole = gzip.compress("\n".join(f'{{"a": "{os.urandom(40).hex()}"}}' for _ in range(400)).encode())
    (tmp_path / "x.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"cut off|cannot be decompressed"):
        list(records_of(trace_file(tmp_path / "x.jsonl.gz"), Remarks()))


def test_a_file_without_permission_is_refused(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("{}")
    file = trace_file(path)
    path.unlink()
    path.mkdir()  # to open it fails for every user
    with pytest.raises(DataError, match="cannot be read"):
        list(records_of(file, Remarks()))
