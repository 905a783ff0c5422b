"""A sample of rows that depends on their content alone, in memory that does not grow with the log.

Rows are ranked by a hash of everything in them. Rows with equal content count as occurrences 1, 2, 3, … of it. The
sample takes the smallest hashes of contents with all their occurrences, which are counted exactly because the bound of
the hashes only falls. Where these are too many rows for the sample, occurrences are ranked by a hash of their own.
So neither the order of rows and files nor the number of workers matters. Every row has the same chance if no content
recurs; a content that recurs often is in the sample with many rows or with none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deconfound.data import Log, RowNumbers
from deconfound.data.row_order import Hashes, content_hashes, mixed_hashes, take_rows

ROW, FILE = "row of the file", "file"


class RowSample:
    """Rows of a log, at most ``size``; those of further batches are added one batch after the other."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._bound = np.uint64(np.iinfo(np.uint64).max)
        self._hashes: Hashes = np.zeros(0, dtype=np.uint64)
        self._counts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._tables: list[pa.Table] = []
        self._at: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # of each content, its row in these tables
        self._log: Log | None = None

    def add(self, log: Log) -> None:
        """Further rows; their columns are those of the rows before."""
        if not len(log):
            return
        if self._log is None:  # without rows: these would stay in memory
            self._log = replace(log, arrow=log.arrow.schema.empty_table(), findings=())
        names = sorted(name for name in log.arrow.column_names if name != "context")  # an id stands for the text
        hashes = content_hashes([log.arrow[name] for name in names])
        at = np.flatnonzero(hashes <= self._bound)
        distinct, first, counts = np.unique(hashes[at], return_index=True, return_counts=True)
        known = np.isin(distinct, self._hashes)
        self._counts[np.searchsorted(self._hashes, distinct[known])] += counts[known]
        self._insert(distinct[~known], counts[~known], _with_places(log, at[first[~known]]))

    def _insert(self, hashes: Hashes, counts: NDArray[np.int64], rows: pa.Table) -> None:
        if not len(hashes):
            return
        both = np.concatenate([self._hashes, hashes])
        order = np.argsort(both)[: self._size]
        if len(both) > self._size:
            self._bound = both[order[-1]]
        stored = sum(len(table) for table in self._tables)
        self._hashes, self._counts = both[order], np.concatenate([self._counts, counts])[order]
        self._at = np.concatenate([self._at, stored + np.arange(len(hashes))])[order]
        self._tables.append(rows)
        if stored + len(hashes) > 2 * self._size:
            self._tables = [self._stored()]
            self._at = np.arange(len(self._hashes))

    def _stored(self) -> pa.Table:
        """One row of each content, in the order of their hashes."""
        return take_rows(pa.concat_tables(self._tables), self._at)

    def rows(self) -> Log | None:
        """The sample, in the order of the files; None if there was no row."""
        if self._log is None:
            return None
        content = np.repeat(np.arange(len(self._hashes)), self._counts)
        if len(content) > self._size:
            occurrence = np.arange(len(content)) - np.repeat(np.cumsum(self._counts) - self._counts, self._counts)
            rank = mixed_hashes(self._hashes[content] + occurrence.astype(np.uint64) + np.uint64(1))
            content = content[np.argpartition(rank, self._size - 1)[: self._size]]
        rows = take_rows(self._stored(), content)
        order = np.lexsort((content, rows[ROW].to_numpy(), rows[FILE].to_numpy()))
        rows = take_rows(rows, order)
        numbers = self._log.row_numbers
        file = None if numbers.file is None else rows[FILE].to_numpy()
        places = RowNumbers(numbers.unit, rows[ROW].to_numpy(), numbers.files, file)
        source, unused = self._log.source, self._log.unused_columns
        return Log(rows.drop_columns([ROW, FILE]), source, unused, (), places)


def _with_places(log: Log, at: NDArray[np.int64]) -> pa.Table:
    """Some rows, with their places in the user's files."""
    numbers = log.row_numbers.take(at)
    file = np.zeros(len(at), dtype=np.int64) if numbers.file is None else numbers.file
    rows = take_rows(log.arrow, at).append_column(ROW, pa.array(numbers.numbers))
    return rows.append_column(FILE, pa.array(file))
