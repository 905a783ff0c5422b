"""Parquet -> Arrow, after the size of the decoded table is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from deconfound.formatting import quote
from deconfound.loading.files import RENAME_OR_EXPORT, File, file_error
from deconfound.loading.input_limit import max_input_bytes, require_columns, require_size

TEXT, FIXED_LENGTH = "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"
SHARED_PREFIXES = "DELTA_BYTE_ARRAY"  # an encoding that stores what a text adds to the beginning of the one before
MAX_BATCH_ROWS = 1 << 16
BYTES_PER_VALUE = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, TEXT: 4}  # other types have 8; texts also have their letters
TOO_LONG_TEXT = "one text has more than 2 GB, or a column more than Arrow can hold"


def read_parquet(file: File) -> pa.Table:
    """Read a whole file; one that is no Parquet, is damaged, or would be too large raises."""
    from pyarrow import parquet

    with file.path.open("rb") as handle:  # Arrow itself opens no file whose name is not UTF-8
        start = handle.read(4)
        if start != b"PAR1":
            what = f"the content is not Parquet: it starts with {quote(start.decode(errors='replace'))}"
            raise file_error(file.source, what, RENAME_OR_EXPORT)
        try:
            _require_decoded_size(handle, file.source)
            return parquet.ParquetFile(handle).read()
        except MemoryError:
            raise
        except pa.ArrowCapacityError:
            raise file_error(file.source, TOO_LONG_TEXT, "Shorten the longest texts.") from None
        except (pa.ArrowException, OSError, ValueError) as error:
            what = f"the Parquet data is damaged or cut off: {quote(error)}"
            raise file_error(file.source, what, "Write or copy the file again.") from None


@dataclass(frozen=True, slots=True)
class _Chunk:
    """One column of one row group, as the file's metadata describes it."""

    group: int
    name: str
    kind: str
    values: int
    stored_bytes: int
    encodings: tuple[str, ...]
    has_dictionary: bool
    least_bytes: int

    @property
    def most_bytes(self) -> int:
        """The decoded size if every value were as long as all that is stored."""
        return self.values * self.stored_bytes


def _require_decoded_size(handle: BinaryIO, source: str) -> None:
    """Refuse by the file's own metadata, then by the lengths of texts that are stored once and used often."""
    from pyarrow import parquet

    metadata = parquet.ParquetFile(handle).metadata
    require_columns(source, metadata.num_columns)
    chunks = [_describe(metadata, i, j) for i in range(metadata.num_row_groups) for j in range(metadata.num_columns)]
    size = sum(chunk.least_bytes for chunk in chunks)
    require_size(source, size)
    prefixed = [chunk for chunk in chunks if chunk.kind == TEXT and SHARED_PREFIXES in chunk.encodings]
    repeated = [chunk for chunk in chunks if chunk.kind == TEXT and chunk.has_dictionary and chunk not in prefixed]
    for suspects, measure in ((repeated, _repeated_bytes), (prefixed, _prefixed_bytes)):
        if sum(chunk.most_bytes for chunk in suspects) <= max_input_bytes():
            continue
        for added in measure(handle, suspects):
            size += added
            require_size(source, size)


def _describe(metadata: Any, group: int, column: int) -> _Chunk:  # noqa: ANN401  (Arrow carries no types)
    chunk = metadata.row_group(group).column(column)
    width = BYTES_PER_VALUE.get(chunk.physical_type, 8)
    if chunk.physical_type == FIXED_LENGTH:
        width = metadata.schema.column(column).length
    stored, values = int(chunk.total_uncompressed_size), int(chunk.num_values)
    return _Chunk(
        group,
        chunk.path_in_schema,
        chunk.physical_type,
        values,
        stored,
        tuple(chunk.encodings),
        bool(chunk.has_dictionary_page),
        max(stored, values * width),
    )


def _repeated_bytes(handle: BinaryIO, chunks: Sequence[_Chunk]) -> Iterator[int]:
    """The decoded size, above what is stored, of texts in dictionaries; they stay encoded."""
    from pyarrow import parquet

    file = parquet.ParquetFile(handle, read_dictionary=sorted({chunk.name for chunk in chunks}))
    for chunk in chunks:
        column = file.read_row_group(chunk.group, columns=[chunk.name]).column(0)
        yield max(sum(map(_text_bytes, column.chunks)) - chunk.least_bytes, 0)


def _prefixed_bytes(handle: BinaryIO, chunks: Sequence[_Chunk]) -> Iterator[int]:
    """The same for texts that are stored as their difference from the one before, decoded a few rows at once."""
    from pyarrow import parquet

    file = parquet.ParquetFile(handle)
    for chunk in chunks:
        rows = max(1, min(MAX_BATCH_ROWS, max_input_bytes() // 4 // max(chunk.stored_bytes, 1)))
        yield -chunk.least_bytes
        for batch in file.iter_batches(rows, row_groups=[chunk.group], columns=[chunk.name]):
            yield int(batch.nbytes)


def _text_bytes(chunk: pa.Array) -> int:
    if not pa.types.is_dictionary(chunk.type):
        return int(chunk.nbytes)
    lengths = pc.cast(pc.binary_length(chunk.dictionary), pa.int64())
    return int(pc.sum(lengths.take(chunk.indices)).as_py() or 0)
