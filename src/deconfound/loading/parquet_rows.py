"""Row groups of a Parquet file, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from deconfound.data import RowNumbers
from deconfound.formatting import quote
from deconfound.loading.decoded_size import decoded_bytes, fitting_pieces, without_dictionaries
from deconfound.loading.file_stamp import FileStamp, require_unchanged
from deconfound.loading.files import File, file_error
from deconfound.loading.input_limit import require_columns
from deconfound.loading.parquet import TOO_LONG_TEXT, require_parquet
from deconfound.loading.parquet_footer import ColumnChunk, read_footer
from deconfound.loading.raw import RawTable

BUFFER_BYTES = 1 << 20
DECODED_ROWS = 256  # at once; a batch has as many of these as fit


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """Some row groups of a file; ``rows`` is the number of rows before them. Without ``columns``, all are read."""

    path: str
    source: str
    stamp: FileStamp
    groups: tuple[int, ...]
    rows: int
    size: int
    batch_rows: int
    batch_bytes: int
    columns: tuple[str, ...] | None = None
    can_be_cut: bool = False

    def batches(self) -> Iterator[tuple[RawTable, ParquetRows]]:
        """Each batch, and these row groups again: they are not cut."""
        from pyarrow import parquet

        require_unchanged(self.path, self.source, self.stamp)
        before = self.rows
        try:
            with Path(self.path).open("rb") as handle:  # Arrow itself opens no file whose name is not UTF-8
                file = parquet.ParquetFile(handle, pre_buffer=False, buffer_size=BUFFER_BYTES)
                names = None if self.columns is None else [n for n in file.schema_arrow.names if n in self.columns]
                decoded = file.iter_batches(DECODED_ROWS, row_groups=list(self.groups), columns=names)
                for table in self._bounded(decoded):
                    numbers = np.arange(before + 1, before + table.num_rows + 1)
                    before += table.num_rows
                    yield RawTable(table, self.source, RowNumbers(numbers=numbers)), self
        except MemoryError:
            raise
        except pa.ArrowCapacityError:
            raise file_error(self.source, TOO_LONG_TEXT, "Shorten the longest texts.") from None
        except (pa.ArrowException, OSError, ValueError) as error:
            require_unchanged(self.path, self.source, self.stamp)
            raise _damaged(f"{self.source} after row {before:,}", error) from None
        require_unchanged(self.path, self.source, self.stamp)

    def _bounded(self, decoded: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Rows in batches of bounded decoded size: texts that are stored once may be used often."""
        pieces: list[pa.RecordBatch] = []
        rows = size = 0
        for batch in decoded:
            for piece in self._pieces(batch):
                more = decoded_bytes(piece)
                if pieces and (rows + piece.num_rows > self.batch_rows or size + more > self.batch_bytes):
                    yield pa.Table.from_batches(pieces).combine_chunks()
                    pieces, rows, size = [], 0, 0
                pieces.append(piece)
                rows, size = rows + piece.num_rows, size + more
        if pieces:
            yield pa.Table.from_batches(pieces).combine_chunks()

    def _pieces(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Decoded rows without dictionaries, cut where they are more than fit into a batch."""
        return [without_dictionaries(piece) for piece in fitting_pieces(batch, self.batch_bytes)]


def parquet_parts(file: File, batch_rows: int, batch_bytes: int, part_bytes: int) -> list[ParquetRows]:
    """The row groups of a file in parts of bounded size; a file that is no Parquet, or is cut off, raises."""
    with file.path.open("rb") as handle:
        require_parquet(handle, file.source)
        try:
            footer = read_footer(handle)
        except (ValueError, OSError) as error:
            raise _damaged(file.source, error) from None
    rows, chunks = footer.rows, footer.chunks
    require_columns(file.source, max((chunk.column for chunk in chunks), default=0) + 1)
    sizes = _sizes(chunks, len(rows))
    path, stamp = str(file.path.absolute()), FileStamp.of(file.path)
    part = ParquetRows(path, file.source, stamp, (), 0, 0, batch_rows, batch_bytes)
    parts = []
    for at, size in enumerate(sizes):
        if not rows[at]:
            continue
        if part.groups and part.size + size > part_bytes:
            parts.append(part)
            part = replace(part, groups=(), rows=sum(rows[:at]), size=0)
        part = replace(part, groups=(*part.groups, at), size=part.size + size)
    return [*parts, part] if part.groups else parts


def _sizes(chunks: Sequence[ColumnChunk], groups: int) -> list[int]:
    """Bytes of every row group when it is decompressed."""
    sizes = [0] * groups
    for chunk in chunks:
        sizes[chunk.group] += chunk.stored_bytes
    return sizes


def _damaged(where: str, error: Exception) -> Exception:
    what = f"the Parquet data is damaged or cut off: {quote(error)}"
    return file_error(where, what, "Write or copy the file again.")
