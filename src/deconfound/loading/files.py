"""A path -> its decoded bytes, with every way in which a file can be no text told apart."""

from __future__ import annotations

import codecs
import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deconfound.errors import DataError, Problem
from deconfound.formatting import join_names, quote

Format = Literal["parquet", "csv", "jsonl"]

FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
CODECS = {".gz": "gzip", ".zst": "zstd"}
READABLE = "Use .parquet, .csv or .jsonl (the last two also with .gz or .zst)."
SIGNATURES = {
    b"PAR1": "a Parquet file",
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a Zstandard file",
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
AT_ONCE = 1 << 22  # bytes looked at in one go; a whole file at once would be held in memory twice


@dataclass(frozen=True, slots=True)
class File:
    """A file that exists, how it is written, and the name it goes by in messages."""

    path: Path
    source: str
    format: Format
    codec: str | None


def find(path: Path, source: str) -> File:
    """Make sure that there is a file of a known format, or say what is there instead."""
    if path.is_dir():
        raise refusal(source, "this is a folder, not a file", "Name one file in it.")
    if not path.exists():
        raise refusal(source, f"there is no such file{_near(path)}", "Check the name and the folder.")
    ending = path.suffix.lower()
    codec = CODECS.get(ending)
    kind = FORMATS.get(Path(path.stem).suffix.lower() if codec else ending)
    if kind is None or (codec and kind == "parquet"):
        shown = "".join(path.suffixes[-2:]) or path.name
        raise refusal(source, f"the ending {quote(shown)} is no format that can be read", READABLE)
    if path.stat().st_size == 0:
        raise refusal(source, "the file is empty (0 bytes)", "Write it again: the export may have been interrupted.")
    return File(path, source, kind, codec)


def refusal(where: str, what: str, fix: str) -> DataError:
    """Build the error for a file that cannot be read at all."""
    return DataError([Problem(where, what, fix)])


def _near(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f" (and no folder {quote(folder)})"
    names = sorted(entry.name for entry in folder.iterdir())
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.5)
    return f"; near it there is {join_names(near)}" if near else ""


def read_text(file: File) -> bytes:
    """Read a CSV or JSONL file as UTF-8 bytes without byte-order mark, or say why it is no such text."""
    data = _decompressed(file) if file.codec else file.path.read_bytes()
    for signature, name in SIGNATURES.items():
        if data.startswith(signature):
            fix = "Save it as UTF-8." if "UTF" in name else "Give it the ending of its format, or export it again."
            raise refusal(file.source, f"the content is {name}, not {file.format.upper()}", fix)
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data or data.isspace():
        raise refusal(file.source, "the file has no rows", "Write it again: the export may have been interrupted.")
    _refuse_broken_text(data, file.source)
    return data


def _decompressed(file: File) -> bytes:
    try:
        with pa.OSFile(str(file.path)) as packed, pa.input_stream(packed, compression=file.codec) as stream:
            data: bytes = stream.read()
    except (OSError, pa.ArrowException) as error:
        cut = "truncated" in str(error).lower()
        what = "ends in the middle" if cut else f"cannot be unpacked: {quote(error)}"
        fix = (
            "Copy or compress the file again." if cut else "Compress it again, or drop the ending if it is plain text."
        )
        raise refusal(file.source, f"the {file.codec} data {what}", fix) from None
    return data


def _refuse_broken_text(data: bytes, source: str) -> None:
    nul = data.find(b"\0")
    if nul >= 0:
        fix = "Write the file again: such bytes come from an interrupted write or from UTF-16."
        raise refusal(f"{source} line {_line(data, nul)}", "there is a NUL byte", fix)
    if data.isascii():
        return
    decoder, start = codecs.getincrementaldecoder("utf-8")(), 0
    view = memoryview(data)
    try:
        for start in range(0, len(data), AT_ONCE):
            pending = len(decoder.getstate()[0])
            decoder.decode(view[start : start + AT_ONCE], final=start + AT_ONCE >= len(data))
    except UnicodeDecodeError as error:
        at = start - pending + error.start
        what = f"byte {quote(hex(data[at]))} is not UTF-8"
        raise refusal(f"{source} line {_line(data, at)}", what, "Save the file as UTF-8.") from None


def positions(data: bytes, mark: bytes) -> NDArray[np.int64]:
    """Find every occurrence of a byte, a part of the file at a time: a mask of the whole would be as large again."""
    letters = np.frombuffer(data, np.uint8)
    parts = range(0, len(data), AT_ONCE)
    found = [np.flatnonzero(letters[start : start + AT_ONCE] == ord(mark)) + start for start in parts]
    return np.concatenate(found)


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1
