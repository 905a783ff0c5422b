"""Parquet -> Arrow, after the size of the decoded table is known."""

from __future__ import annotations

from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from deconfound.formatting import quote
from deconfound.loading.files import RENAME_OR_EXPORT, File, file_error
from deconfound.loading.input_limit import max_input_bytes, require_size

TEXT = "BYTE_ARRAY"
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


def _require_decoded_size(handle: BinaryIO, source: str) -> None:
    """Refuse by the file's own metadata, then by the lengths of texts that are stored once and used often."""
    from pyarrow import parquet

    metadata = parquet.ParquetFile(handle).metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(group.num_columns)]
    require_size(source, sum(map(_least_bytes, chunks)))
    repeated = [chunk for chunk in chunks if chunk.physical_type == TEXT and chunk.has_dictionary_page]
    if sum(chunk.num_values * chunk.total_uncompressed_size for chunk in repeated) <= max_input_bytes():
        return
    names = sorted({chunk.path_in_schema for chunk in repeated})
    encoded, size = parquet.ParquetFile(handle, read_dictionary=names), 0
    for group in range(metadata.num_row_groups):
        for column in encoded.read_row_group(group, columns=names).columns:
            size += sum(_text_bytes(chunk) for chunk in column.chunks)
            require_size(source, size)


def _least_bytes(chunk: Any) -> int:  # noqa: ANN401  (Arrow carries no types)
    """Bytes that a column of a row group has at least once it is decoded."""
    width = BYTES_PER_VALUE.get(chunk.physical_type, 8)
    return max(int(chunk.total_uncompressed_size), int(chunk.num_values) * width)


def _text_bytes(chunk: pa.Array) -> int:
    if not pa.types.is_dictionary(chunk.type):
        return int(chunk.nbytes)
    lengths = pc.cast(pc.binary_length(chunk.dictionary), pa.int64())
    return int(pc.sum(lengths.take(chunk.indices)).as_py() or 0)
