"""When a log is read in batches, and in which sizes: decided without reading all of it."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from deconfound.data.log_stream import SAMPLE_ROWS
from deconfound.errors import DataError
from deconfound.loading.files import File, resolve_file
from deconfound.loading.parquet_size import ParquetSize, exceeds
from deconfound.loading.table_files import TableFile, find_table, is_path

PROBE_BYTES = 1 << 20  # of a file, by which its rows are estimated
PIECE_BYTES = 1 << 12  # decompressed at once: the last piece is lost where the file is cut off
Source = object  # whatever ``load`` takes as a table


@dataclass(frozen=True, slots=True)
class LongLog:
    """From which size on a log is read in batches, and how large these are.

    Up to 100,000 rows or 200 MB of text, reading the log as a whole takes seconds and about 1 GB of memory, and every
    check sees every row. Batches of 32 MB are long enough for Arrow's parsers and short enough for several workers.
    """

    min_rows: int = 100_000
    min_bytes: int = 200_000_000
    batch_rows: int = 1 << 16
    batch_bytes: int = 1 << 25
    part_bytes: int = 1 << 28  # what one worker reads at once
    head_rows: int = 20_000  # by which columns, words and formats are recognized
    head_bytes: int = 1 << 26
    sample_rows: int = SAMPLE_ROWS
    sample_bytes: int = 1 << 28

    def applies_to(self, source: Source) -> bool:
        """Whether a log is so long; files that cannot be read do not count, and are reported when they are."""
        if not is_path(source):
            return _rows_in_memory(source) > self.min_rows
        try:
            tables = find_table(source).tables  # type: ignore[arg-type]
        except (DataError, OSError):
            return False
        sizes = [_size(file) for file in tables]
        if any(size is None for size in sizes):
            return False
        texts = [size for size in sizes if isinstance(size, _TextSize)]
        parquet = [size for size in sizes if isinstance(size, ParquetSize)]
        rows = sum(size.rows for size in texts) + sum(size.rows for size in parquet)
        return rows > self.min_rows or exceeds(parquet, self.min_bytes - sum(size.decoded for size in texts))


def _rows_in_memory(source: Source) -> int:
    shape = getattr(source, "shape", None)  # of Arrow tables, and of data frames of pandas and polars
    return int(shape[0]) if isinstance(shape, tuple) and len(shape) == 2 else 0


@dataclass(frozen=True, slots=True)
class _TextSize:
    """Rows and decoded bytes of a text file, estimated."""

    rows: float
    decoded: float


def _size(table_file: TableFile) -> _TextSize | ParquetSize | None:
    """The size of a file; None for a list of JSON objects, which has no lines."""
    try:
        file = resolve_file(table_file.path, table_file.path.name)
        if file.format == "parquet":
            return ParquetSize.of(file.path)
        content, ratio = _beginning(file)
    except (DataError, OSError, ValueError):
        return _TextSize(0.0, 0.0)
    if file.format == "json" and content.lstrip().startswith(b"["):
        return None
    size = file.path.stat().st_size * ratio
    return _TextSize(content.count(b"\n") * size / max(len(content), 1), size)


def expansion(file: File) -> float:
    """How many decoded bytes a text file has per stored one, by its beginning."""
    return 1.0 if file.codec is None else _beginning(file)[1]


def _beginning(file: File) -> tuple[bytes, float]:
    """The first decoded bytes of a text file, and how many decoded bytes there are per stored one."""
    with file.path.open("rb") as handle:
        stored = handle.read(PROBE_BYTES)
    if file.codec is None:
        return stored, 1.0
    content = bytearray()
    try:
        with pa.input_stream(pa.BufferReader(stored), compression=file.codec) as stream:
            while part := stream.read(PIECE_BYTES):
                content += part
    except (OSError, pa.ArrowException):
        pass  # it was cut off here
    return bytes(content), len(content) / max(len(stored), 1)
