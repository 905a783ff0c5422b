"""Paths, folders and patterns -> the files of traces in them, and what each of them is."""

from __future__ import annotations

import glob
import io
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

import pyarrow as pa

from deconfound.errors import DataError
from deconfound.escaping import readable_path
from deconfound.formatting import join_names, quote
from deconfound.loading.files import CODECS, RENAME_OR_EXPORT, file_error, resolve_file
from deconfound.loading.folder_walk import files_in, matches_of
from deconfound.loading.input_limit import require_size
from deconfound.traces.reader import Remarks

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

TraceFormat = Literal["jsonl", "json", "parquet", "csv", "eval"]

TRACE_FORMATS: dict[str, TraceFormat] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".eval": "eval",
}
READABLE = "Use .jsonl, .ndjson, .json or .csv (each also with .gz or .zst), .parquet or .eval."
AS_JSON = "Export the traces as JSON Lines, JSON, CSV or Parquet."
AS_OTLP_JSON = 'Let the exporter write JSON: in the file exporter of the OpenTelemetry Collector, set "format: json".'
AS_OPTION = "Give the configuration of a router with --propensity-from."
FOREIGN_EXTENSIONS = {
    ".pb": ("OTLP in protobuf", AS_OTLP_JSON),
    ".binpb": ("OTLP in protobuf", AS_OTLP_JSON),
    ".otlp": ("OTLP in protobuf", AS_OTLP_JSON),
    ".xlsx": ("an Excel file", "Save the sheet as CSV."),
    ".xlsm": ("an Excel file", "Save the sheet as CSV."),
    ".xls": ("an Excel file", "Save the sheet as CSV."),
    ".zip": ("a zip archive", "Unpack it, and name the folder."),
    ".tar": ("a tar archive", "Unpack it, and name the folder."),
    ".tgz": ("a tar archive", "Unpack it, and name the folder."),
    ".yaml": ("a configuration", AS_OPTION),
    ".yml": ("a configuration", AS_OPTION),
    ".toml": ("a configuration", AS_OPTION),
    ".pdf": ("a PDF document", AS_JSON),
    ".db": ("a database", AS_JSON),
    ".sqlite": ("a database", AS_JSON),
}
FOREIGN_STARTS = {
    b"PAR1": ("a Parquet file", RENAME_OR_EXPORT),
    b"\x1f\x8b": ("a gzip file", 'Add ".gz" to its name, or unpack it.'),
    b"\x28\xb5\x2f\xfd": ("a Zstandard file", 'Add ".zst" to its name, or unpack it.'),
    b"\xd0\xcf\x11\xe0": ("an Excel file", "Save the sheet as CSV."),
    b"%PDF": ("a PDF document", AS_JSON),
    b"SQLite format 3": ("a database", AS_JSON),
    b"\xff\xfe": ("UTF-16 text", "Save it as UTF-8."),
    b"\xfe\xff": ("UTF-16 text", "Save it as UTF-8."),
}
OTLP_NAMES = (b"service.name", b"telemetry.sdk", b"gen_ai.", b"openinference")
CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r\x0c\x1b\x1e"))  # never in text, often in binary data
HEAD_BYTES = 1 << 14
BUFFER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class TraceFile:
    """An existing file, its format, and its name in messages."""

    path: Path
    source: str
    format: TraceFormat
    codec: str | None


Follow = Callable[[Callable[[], int]], None]
"""Takes a function that returns the position in the file that is read now."""


def not_followed(position: Callable[[], int]) -> None:
    """Ignore the position."""


def files_of(paths: Iterable[str | Path], remarks: Remarks) -> list[TraceFile]:
    """The files that paths, folders and patterns such as ``logs/*.jsonl`` name, each once, in the order of names.

    In folders, hidden files and files of other formats are left out and added to the remarks; a file that is named
    itself must be readable.
    """
    files: dict[str, TraceFile] = {}
    for given in paths:
        path = Path(given)
        if path.is_dir():
            found = _files_among(_walk(path, remarks), readable_path(path), remarks)
        elif not path.exists() and glob.has_magic(str(given)):
            found = _files_among(_matches(str(given), remarks), readable_path(path), remarks)
        else:
            found = [trace_file(path)]
        for file in found:
            files.setdefault(os.path.realpath(file.path), file)
    return list(files.values())


def trace_file(path: Path) -> TraceFile:
    """Find out how a file is to be read; a missing file and one of another format raise."""
    source = readable_path(path)
    if not path.is_file():
        resolve_file(path, source)  # raises, and says what is there instead
    codec, kind = _format_of(path)
    if kind is not None:
        return TraceFile(path, source, kind, codec)
    if path.suffix.lower() in FOREIGN_EXTENSIONS:
        what, fix = FOREIGN_EXTENSIONS[path.suffix.lower()]
        raise file_error(source, f"this is {what}, which is not read", fix)
    extensions = readable_path("".join(path.suffixes[-2:]) or path.name)
    raise file_error(source, f"unsupported file extension {quote(extensions)}", READABLE)


class _Unpacked(io.RawIOBase):
    """Decompressed data, up to the limit of one file."""

    def __init__(self, stream: IO[bytes], source: str) -> None:
        self._stream, self._source, self._total = stream, source, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        part = self._stream.read(len(memoryview(buffer)))
        memoryview(buffer)[: len(part)] = part
        self._total += len(part)
        require_size(self._source, self._total)
        return len(part)

    def close(self) -> None:
        self._stream.close()
        super().close()


def open_trace(file: TraceFile, follow: Follow = not_followed) -> io.BufferedReader:
    """Open a file for reading from its start, decompressed; content that is no text of UTF-8 raises."""
    try:
        raw = io.FileIO(file.path)
        follow(raw.tell)
        unpacked = _Unpacked(pa.input_stream(raw, compression=file.codec), file.source) if file.codec else raw
        stream: io.BufferedReader = io.BufferedReader(unpacked, BUFFER_BYTES)
        try:
            _refuse_binary(stream.peek(HEAD_BYTES)[:HEAD_BYTES], file.source)
        except BaseException:
            stream.close()
            raise
    except (OSError, pa.ArrowException) as error:
        raise unreadable(file, error) from None
    return stream


def unreadable(file: TraceFile, error: Exception) -> DataError:
    """The error for a file whose reading failed, at its start or in the middle."""
    if file.codec is None:
        return file_error(
            file.source, f"the file cannot be read: {quote(error)}", "Check the permissions and the disk."
        )
    if "truncated" in str(error).lower():
        return file_error(file.source, f"the {file.codec} data is cut off", "Copy or compress the file again.")
    what = f"the {file.codec} data cannot be decompressed: {quote(error)}"
    return file_error(file.source, what, "Compress it again, or remove the extension if it is plain text.")


def _files_among(paths: Iterable[Path], given: str, remarks: Remarks) -> list[TraceFile]:
    files, others = [], set()
    for path in paths:
        codec, kind = _format_of(path)
        if kind is None:
            remarks.add("files have an extension that is not read", readable_path(path))
            others.add(readable_path(path.suffix or path.name))
        else:
            files.append(TraceFile(path, readable_path(path), kind, codec))
    if not files:
        has = f"; there is {join_names(sorted(others))}" if others else ""
        raise file_error(given, f"there is no file of traces{has}", READABLE)
    return files


def _matches(pattern: str, remarks: Remarks) -> Iterator[Path]:
    for path in matches_of(pattern):
        if path.is_dir():
            yield from _walk(path, remarks)
        elif path.is_file():
            yield path


def _walk(folder: Path, remarks: Remarks) -> Iterator[Path]:
    def accept(entry: Path) -> bool:
        is_hidden = entry.name.startswith(".")
        if is_hidden:
            remarks.add("files or folders are hidden", readable_path(entry))
        elif entry.is_symlink() and entry.is_dir():
            remarks.add("links to folders are not followed", readable_path(entry))
            return False
        return not is_hidden

    return files_in(folder, accept)


def _format_of(path: Path) -> tuple[str | None, TraceFormat | None]:
    extension = path.suffix.lower()
    codec = CODECS.get(extension)
    kind = TRACE_FORMATS.get(Path(path.stem).suffix.lower() if codec else extension)
    return (None, None) if codec and kind in ("parquet", "eval") else (codec, kind)


def _refuse_binary(head: bytes, source: str) -> None:
    for start, (what, fix) in FOREIGN_STARTS.items():
        if head.startswith(start):
            raise file_error(source, f"the content is {what}", fix)
    if head.startswith(b"PK\x03\x04"):
        excel = b"[Content_Types].xml" in head or b"xl/" in head
        what, fix = FOREIGN_EXTENSIONS[".xlsx" if excel else ".zip"]
        raise file_error(source, f"the content is {what}", fix)
    if head[1:8:2].count(0) == 4 or head[:8:2].count(0) == 4:
        raise file_error(source, "the content is UTF-16 text", "Save it as UTF-8.")
    if len(head.translate(None, CONTROL_BYTES)) < len(head):
        if any(name in head for name in OTLP_NAMES):
            raise file_error(source, "the content is OTLP in protobuf", AS_OTLP_JSON)
        raise file_error(source, "the content is binary data of an unknown format", AS_JSON)
