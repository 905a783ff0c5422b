"""Parquet -> Arrow, after the size of the decoded table is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from deconfound.formatting import quote
from deconfound.loading.files import RENAME_OR_EXPORT, File, file_error
from deconfound.loading.input_limit import max_input_bytes, require_columns, require_size
from deconfound.loading.parquet_footer import TEXT, ColumnChunk, read_footer

FIXED_LENGTH = "FIXED_LEN_BYTE_ARRAY"
MAX_BATCH_ROWS = 1 << 16
THREADED_BYTES = 1 << 20
BYTES_PER_VALUE = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, TEXT: 4}  # other types have 8; texts also have their letters
TOO_LONG_TEXT = "one text has more than 2 GB, or a column more than Arrow can hold"


def read_parquet(file: File) -> pa.Table:
    """Read a whole file; one that is no Parquet, is damaged, or would be too large raises."""
    from pyarrow import parquet

    with file.path.open("rb") as handle:  # Arrow itself opens no file whose name is not UTF-8
        require_parquet(handle, file.source)
        try:
            _require_decoded_size(handle, file.source)
            # Threads that an error stops can end an older Arrow's process at its exit, and gain nothing here.
            opened = parquet.ParquetFile(handle, page_checksum_verification=True)
            return opened.read(use_threads=file.path.stat().st_size > THREADED_BYTES)
        except MemoryError:
            raise
        except pa.ArrowCapacityError:
            raise file_error(file.source, TOO_LONG_TEXT, "Shorten the longest texts.") from None
        except (pa.ArrowException, OSError, ValueError) as error:
            what = f"the Parquet data is damaged or cut off: {quote(error)}"
            raise file_error(file.source, what, "Write or copy the file again.") from None


def require_parquet(handle: BinaryIO, source: str) -> None:
    """Refuse a file that does not begin as a Parquet file."""
    start = handle.read(4)
    if start != b"PAR1":
        what = f"the content is not Parquet: it starts with {quote(start.decode(errors='replace'))}"
        raise file_error(source, what, RENAME_OR_EXPORT)


def _require_decoded_size(handle: BinaryIO, source: str) -> None:
    """Refuse by the file's own metadata, then by the lengths of texts that are stored once and used often."""
    from pyarrow import parquet

    schema = parquet.ParquetFile(handle).schema
    require_columns(source, len(schema))
    widths = [_value_bytes(schema.column(at)) for at in range(len(schema))]
    chunks = read_footer(handle).chunks
    if any(chunk.column >= len(widths) for chunk in chunks):
        raise ValueError("a row group has more columns than the schema")
    least = {chunk: max(chunk.stored_bytes, chunk.values * widths[chunk.column]) for chunk in chunks}
    size = sum(least.values())
    require_size(source, size)
    texts = [chunk for chunk in chunks if chunk.physical_type == TEXT]
    prefixed = [chunk for chunk in texts if chunk.shares_prefixes]
    repeated = [chunk for chunk in texts if chunk.has_dictionary and not chunk.shares_prefixes]
    for suspects, measure in ((repeated, _repeated_bytes), (prefixed, _prefixed_bytes)):
        if sum(chunk.values * chunk.stored_bytes for chunk in suspects) <= max_input_bytes():
            continue  # even if every value were as long as all that is stored
        for chunk, decoded in measure(handle, suspects):
            size += decoded - least.pop(chunk, 0)  # what was counted before, once
            require_size(source, size)


def _value_bytes(column: Any) -> int:  # noqa: ANN401  (Arrow carries no types)
    fixed = column.physical_type == FIXED_LENGTH
    return int(column.length) if fixed else BYTES_PER_VALUE.get(column.physical_type, 8)


def _repeated_bytes(handle: BinaryIO, chunks: Sequence[ColumnChunk]) -> Iterator[tuple[ColumnChunk, int]]:
    """The decoded size of texts in dictionaries; they stay encoded."""
    from pyarrow import parquet

    file = parquet.ParquetFile(handle, read_dictionary=sorted({chunk.name for chunk in chunks}))
    for chunk in chunks:
        column = file.read_row_group(chunk.group, columns=[chunk.name]).column(0)
        yield chunk, sum(map(_text_bytes, column.chunks))


def _prefixed_bytes(handle: BinaryIO, chunks: Sequence[ColumnChunk]) -> Iterator[tuple[ColumnChunk, int]]:
    """The same for texts that are stored as their difference from the one before, a few rows at once."""
    from pyarrow import parquet

    file = parquet.ParquetFile(handle)
    for chunk in chunks:
        rows = max(1, min(MAX_BATCH_ROWS, max_input_bytes() // 4 // max(chunk.stored_bytes, 1)))
        for batch in file.iter_batches(rows, row_groups=[chunk.group], columns=[chunk.name]):
            yield chunk, int(batch.nbytes)


def _text_bytes(chunk: pa.Array) -> int:
    if not pa.types.is_dictionary(chunk.type):
        return int(chunk.nbytes)
    lengths = pc.cast(pc.binary_length(chunk.dictionary), pa.int64())
    return int(pc.sum(lengths.take(chunk.indices)).as_py() or 0)
