"""A path -> the bytes of a text file, with an error for every way in which it is not one."""

from __future__ import annotations

import codecs
import difflib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deconfound.errors import DataError, Problem
from deconfound.escaping import readable_path
from deconfound.formatting import join_names, quote
from deconfound.loading.input_limit import require_size

Format = Literal["parquet", "csv", "jsonl", "json"]

FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
JSON = ".json"  # lines or one list of objects; beside tables of other kinds it is rather a description of them
CODECS = {".gz": "gzip", ".zst": "zstd"}
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
SUPPORTED = "Use .parquet, .csv, .jsonl or .json (the last three also with .gz or .zst)."
SIGNATURES = {
    b"PAR1": "a Parquet file",
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a Zstandard file",
    b"PK\x03\x04": "a zip archive or a spreadsheet",
}
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
END_OF_FILE = b"\x1a"  # with which some old programs end a text
URL_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:")  # of at least two letters, unlike a drive
CHUNK_BYTES = 1 << 22  # decoded or searched at once; the whole file would need its size in memory a second time
BLOCK_BYTES = 1 << 24  # parsed at once by Arrow, unless one row is longer
MAX_BLOCK_BYTES = (1 << 31) - 1  # Arrow counts a block's bytes in 32 bits
RENAME_OR_EXPORT = "Rename it with the extension of its format, or export it again."
EXPORT_AGAIN = "Export it again: the last export may have been interrupted."


@dataclass(frozen=True, slots=True)
class File:
    """An existing file, its format, and its name in messages."""

    path: Path
    source: str
    format: Format
    codec: str | None


def resolve_file(path: Path, source: str) -> File:
    """Find out how a file is to be read; a missing, empty or unsupported file raises."""
    if not path.exists():
        raise _missing_file(path, source)
    if not path.is_file():
        fix = "Write what it delivers to a file first, and name that file."
        raise file_error(source, "this is a pipe or a device, not a file", fix)
    extension = path.suffix.lower()
    codec = CODECS.get(extension)
    inner = Path(path.stem).suffix.lower() if codec else extension
    kind = "json" if inner == JSON else FORMATS.get(inner)
    if extension in SPREADSHEETS:
        fix = "Save the sheet as CSV (in Excel: File, Save As, CSV UTF-8), and name that file."
        raise file_error(source, "this is a spreadsheet, which is not read", fix)
    if kind is None or (codec and kind == "parquet"):
        extensions = readable_path("".join(path.suffixes[-2:]) or path.name)
        raise file_error(source, f"unsupported file extension {quote(extensions)}", SUPPORTED)
    if path.stat().st_size == 0:
        raise file_error(source, "the file is empty (0 bytes)", EXPORT_AGAIN)
    with path.open("rb"):  # without permission, decompression would report damaged data
        pass
    return File(path, source, kind, codec)


def file_error(where: str, what: str, fix: str) -> DataError:
    """The error for a file that cannot be read at all."""
    return DataError([Problem(where, what, fix)])


def _missing_file(path: Path, source: str) -> DataError:
    if len(path.parts) > 1 and URL_SCHEME.fullmatch(path.parts[0]):
        return file_error(source, "this is an address, and only files of this computer are read", "Download it first.")
    if path.is_symlink():
        what = f"this is a link to {quote(readable_path(path.readlink()))}, where there is no file"
        return file_error(source, what, "Correct the link, or name the file itself.")
    return file_error(source, f"no such file{_similar_file_names(path)}", "Check the name and the folder.")


def _similar_file_names(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f" (and no folder {quote(readable_path(folder))})"
    names = sorted(readable_path(entry.name) for entry in folder.iterdir() if entry.is_file())
    similar = difflib.get_close_matches(readable_path(path.name), names, n=3, cutoff=0.5)
    return f"; the folder has {join_names(similar)}" if similar else ""


def read_text(file: File) -> bytes:
    """Read a CSV or JSONL file as UTF-8 bytes without byte-order mark; anything else raises."""
    require_size(file.source, file.path.stat().st_size)
    data = _decompress(file) if file.codec else file.path.read_bytes()
    refuse_other_content(data, file)
    if data.startswith(UTF_16):
        data = _from_utf_16(data, file.source)
    while data.startswith(codecs.BOM_UTF8):  # files that were joined have several
        data = data.removeprefix(codecs.BOM_UTF8)
    data = data.removesuffix(END_OF_FILE)
    if not data or data.isspace():
        raise file_error(file.source, "the file has no rows", EXPORT_AGAIN)
    refuse_invalid_text(data, file.source)
    return data


def refuse_other_content(data: bytes, file: File) -> None:
    """Refuse a file that by its first bytes is of another kind than its name says."""
    for signature, name in SIGNATURES.items():
        if data.startswith(signature):
            raise file_error(file.source, f"the content is {name}, not {file.format.upper()}", RENAME_OR_EXPORT)


def _from_utf_16(data: bytes, source: str) -> bytes:
    """UTF-16 with its byte-order mark, as spreadsheets save "Unicode text", in UTF-8."""
    try:
        return data.decode("utf-16").encode()
    except UnicodeError:
        raise file_error(source, "the UTF-16 text is cut off or damaged", "Save the file again, as UTF-8.") from None


def _decompress(file: File) -> bytes:
    data = io.BytesIO()
    for part in decompressed(file):
        data.write(part)
        require_size(file.source, data.tell())
    return data.getvalue()


def decompressed(file: File) -> Iterator[bytes]:
    """The content of a compressed file in pieces."""
    try:
        with pa.OSFile(str(file.path)) as packed, pa.input_stream(packed, compression=file.codec) as stream:
            while part := stream.read(CHUNK_BYTES):
                yield part
    except MemoryError:
        raise
    except (OSError, pa.ArrowException) as error:
        if "truncated" in str(error).lower():
            what, fix = f"the {file.codec} data is cut off", "Copy or compress the file again."
        else:
            what = f"the {file.codec} data cannot be decompressed: {quote(error)}"
            fix = "Compress it again, or remove the extension if it is plain text."
        raise file_error(file.source, what, fix) from None


def refuse_invalid_text(data: bytes, source: str, first_line: int = 0) -> None:
    """Refuse bytes that are no UTF-8, or NUL; ``first_line`` is the number of lines before these in the file."""
    nul = data.find(b"\0")
    if nul >= 0:
        fix = "Export the file again: NUL bytes come from an interrupted write or from UTF-16."
        raise file_error(f"{source} line {first_line + _line_number(data, nul)}", "there is a NUL byte", fix)
    if data.isascii():
        return
    decoder, start = codecs.getincrementaldecoder("utf-8")(), 0
    view = memoryview(data)
    try:
        for start in range(0, len(data), CHUNK_BYTES):
            pending = len(decoder.getstate()[0])
            decoder.decode(view[start : start + CHUNK_BYTES], final=start + CHUNK_BYTES >= len(data))
    except UnicodeDecodeError as error:
        at = start - pending + error.start
        what = f"byte {quote(hex(data[at]))} is not UTF-8"
        fix = "Save the file as UTF-8; one from Windows is converted by: iconv -f cp1252 -t utf-8 FILE > NEW."
        raise file_error(f"{source} line {first_line + _line_number(data, at)}", what, fix) from None


def byte_positions(data: bytes, mark: bytes) -> NDArray[np.int64]:
    """Every position of a byte, searched chunk by chunk: a mask of the whole file would need its size in memory."""
    letters = np.frombuffer(data, np.uint8)
    starts = range(0, len(data), CHUNK_BYTES)
    return np.concatenate(
        [np.flatnonzero(letters[start : start + CHUNK_BYTES] == ord(mark)) + start for start in starts]
    )


def _line_number(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1
