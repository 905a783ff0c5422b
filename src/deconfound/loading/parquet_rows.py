"""Row groups of a Parquet file, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from deconfound.data import RowNumbers
from deconfound.formatting import quote
from deconfound.loading.decoded_size import decoded_bytes, fitting_pieces, without_dictionaries
from deconfound.loading.file_stamp import FileStamp, require_unchanged
from deconfound.loading.files import File, file_error
from deconfound.loading.input_limit import require_columns
from deconfound.loading.parquet import TOO_LONG_TEXT, require_parquet
from deconfound.loading.parquet_footer import ColumnChunk, Footer, read_footer
from deconfound.loading.raw import RawTable
from deconfound.loading.view_types import without_views

BUFFER_BYTES = 1 << 20
DECODED_ROWS = 256  # at once, fewer where they are long; a batch has as many of these as fit
PROBED_ROWS = 4  # of a row group, by which the length of the others is estimated


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
    decoded_rows: tuple[int, ...] = ()  # of each row group, decoded at once; 0 where some rows have to show it
    columns: tuple[str, ...] | None = None
    can_be_cut: bool = False

    def batches(self) -> Iterator[tuple[RawTable, ParquetRows]]:
        """Each batch, and these row groups again: they are not cut."""
        from pyarrow import parquet

        require_unchanged(self.path, self.source, self.stamp)
        before = self.rows
        try:
            with Path(self.path).open("rb") as handle:  # Arrow itself opens no file whose name is not UTF-8
                file = parquet.ParquetFile(
                    handle, pre_buffer=False, buffer_size=BUFFER_BYTES, page_checksum_verification=True
                )
                names = None if self.columns is None else [n for n in file.schema_arrow.names if n in self.columns]
                for table in self._bounded(self._decoded(file, names)):
                    numbers = np.arange(before + 1, before + table.num_rows + 1)
                    before += table.num_rows
                    yield RawTable(table, self.source, RowNumbers(numbers=numbers)), self
        except MemoryError:
            raise
        except pa.ArrowCapacityError:
            raise file_error(self.source, TOO_LONG_TEXT, "Shorten the longest texts.") from None
        except (pa.ArrowException, OSError, ValueError) as error:
            require_unchanged(self.path, self.source, self.stamp)
            place = f" after row {before:,}" if before else ", in its first rows"
            raise _damaged(f"{self.source}{place}", error) from None
        require_unchanged(self.path, self.source, self.stamp)

    def _decoded(self, file: Any, names: Sequence[str] | None) -> Iterator[pa.RecordBatch]:  # noqa: ANN401
        """The rows of each row group, few at once where they are long."""
        for group, rows in zip(self.groups, self.decoded_rows, strict=True):
            probe = None if rows else next(file.iter_batches(PROBED_ROWS, row_groups=[group], columns=names), None)
            shown = 0 if probe is None else _fitting_rows(probe.num_rows, decoded_bytes(probe), self.batch_bytes)
            for batch in file.iter_batches(rows or shown or DECODED_ROWS, row_groups=[group], columns=names):
                yield without_views(batch)

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
    decoded_rows = _decoded_rows(footer, batch_bytes)
    path, stamp = str(file.path.absolute()), FileStamp.of(file.path)
    part = ParquetRows(path, file.source, stamp, (), 0, 0, batch_rows, batch_bytes)
    parts = []
    for at, size in enumerate(sizes):
        if not rows[at]:
            continue
        if part.groups and part.size + size > part_bytes:
            parts.append(part)
            part = replace(part, groups=(), decoded_rows=(), rows=sum(rows[:at]), size=0)
        at_once = (*part.decoded_rows, decoded_rows[at])
        part = replace(part, groups=(*part.groups, at), decoded_rows=at_once, size=part.size + size)
    return [*parts, part] if part.groups else parts


def _sizes(chunks: Sequence[ColumnChunk], groups: int) -> list[int]:
    """Bytes of every row group when it is decompressed."""
    sizes = [0] * groups
    for chunk in chunks:
        sizes[chunk.group] += chunk.stored_bytes
    return sizes


def _decoded_rows(footer: Footer, batch_bytes: int) -> list[int]:
    """How many rows of each row group are decoded at once; 0 where its footer does not say how long they are."""
    known, longest, unknown = [0] * len(footer.rows), [0] * len(footer.rows), set()
    for chunk in footer.chunks:
        longest[chunk.group] += chunk.stored_bytes  # no value is longer than all that is stored
        known[chunk.group] += max(chunk.stored_bytes, chunk.text_bytes or 0)
        unknown |= {chunk.group} if chunk.may_grow else set()
    return [
        0
        if group in unknown and longest[group] * DECODED_ROWS > batch_bytes
        else _fitting_rows(rows, min(known[group], longest[group] * rows), batch_bytes)
        for group, rows in enumerate(footer.rows)
    ]


def _fitting_rows(rows: int, size: int, batch_bytes: int) -> int:
    """How many rows of this average size fit into a batch, at most ``DECODED_ROWS``."""
    return int(min(max(rows * batch_bytes // max(size, 1), 1), DECODED_ROWS))


def _damaged(where: str, error: Exception) -> Exception:
    what = f"the Parquet data is damaged or cut off: {quote(error)}"
    return file_error(where, what, "Write or copy the file again.")
