"""Consecutive rows of a table in memory: only a slice of it is converted at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from deconfound.data import RowNumbers
from deconfound.loading.decoded_size import fitting_pieces
from deconfound.loading.raw import RawTable
from deconfound.loading.sources import read_table


@dataclass(frozen=True, slots=True, eq=False)
class MemoryRows:
    """Some rows of an Arrow table or a data frame; ``rows`` is the number of those before them."""

    table: Any
    source: str
    rows: int
    count: int
    batch_rows: int
    batch_bytes: int
    can_be_cut: bool = False

    @property
    def size(self) -> int:
        """Bytes of these rows; of a data frame of pandas without the letters of its texts."""
        if isinstance(self.table, pa.Table):
            return int(self.table.slice(self.rows, self.count).nbytes)
        return self.count * int(np.prod(self.table.shape[1:])) * 8

    def batches(self) -> Iterator[tuple[RawTable, MemoryRows]]:
        """Each slice, in pieces where its rows are long, and these rows again: they are not cut."""
        stop = self.rows + self.count
        start = self.rows
        while start < stop:
            rows = min(self.batch_rows, stop - start)
            raw = read_table(self._slice(start, rows), "log", self.source)
            for piece in fitting_pieces(raw.arrow, self.batch_bytes):
                numbers = RowNumbers(numbers=np.arange(start + 1, start + piece.num_rows + 1))
                yield replace(raw, arrow=piece, row_numbers=numbers), self
                raw, start = replace(raw, findings=()), start + piece.num_rows

    def _slice(self, start: int, rows: int) -> Any:  # noqa: ANN401
        if hasattr(self.table, "iloc"):
            return self.table.iloc[start : start + rows]
        return self.table.slice(start, rows)  # of Arrow and of polars


def memory_parts(table: Any, source: str, batch_rows: int, batch_bytes: int, rows_per_part: int) -> list[MemoryRows]:  # noqa: ANN401
    """A table in parts of several batches."""
    total = int(table.shape[0])
    starts = range(0, total, rows_per_part)
    return [
        MemoryRows(table, source, start, min(rows_per_part, total - start), batch_rows, batch_bytes) for start in starts
    ]
