"""A uniform sample of rows, in memory that does not grow with the log.

Every row has a rank, and the sample is the rows with the smallest ranks. The rank of the first row with some content is
a hash of everything in it. The rank of its second, third, … occurrence is a hash of the content and of that number.
So the sample is a simple random sample, and neither the order of rows and files nor the number of batches matters.

Numbers of occurrences are exact up to ``MAX_CONTENTS`` different contents. Beyond, a content that was forgotten in the
meantime begins again with its first rank. Every rank is still uniform, so that every row has the same chance, up to the
number of equal ranks relative to the sample. But rows with equal content that are so far apart are in the sample
together or not at all, and where one is forgotten depends on the order of the rows.

A log in which no content recurs is not affected. An exact sample of both kinds would have to count all contents:
whether a late row of a content is in it depends on all rows with this content.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deconfound.data import Log, RowNumbers
from deconfound.data.row_order import Hashes, content_hashes, mixed_hashes, take_rows
from deconfound.loading.occurrences import MAX_CONTENTS, Occurrences

ROW, FILE = "row of the file", "file"


class RowSample:
    """Rows of a log, at most ``size`` and of at most ``max_bytes``; further ones are added batch by batch.

    Where rows are long, the sample is the longest beginning in the order of the ranks that fits.
    """

    def __init__(self, size: int, max_bytes: int, contents: int = MAX_CONTENTS) -> None:
        self._size = size
        self._max_bytes = max_bytes
        self._occurrences = Occurrences(contents)
        self._bound = np.uint64(np.iinfo(np.uint64).max)
        self._ranks: list[Hashes] = []
        self._bytes: list[NDArray[np.int64]] = []
        self._tables: list[pa.Table] = []
        self._stored, self._stored_bytes = 0, 0
        self._log: Log | None = None

    def add(self, log: Log) -> None:
        """Further rows; their columns are those of the rows before."""
        if not len(log):
            return
        if self._log is None:  # without rows: these would stay in memory
            self._log = replace(log, arrow=log.arrow.schema.empty_table(), findings=())
        ranks = self._rank(log)
        at = np.flatnonzero(ranks <= self._bound)
        if not len(at):
            return
        self._ranks.append(ranks[at])
        self._tables.append(_with_places(log, at))
        self._bytes.append(_row_bytes(self._tables[-1]))
        self._stored += len(at)
        self._stored_bytes += int(self._bytes[-1].sum())
        if self._stored > 2 * self._size or self._stored_bytes > 2 * self._max_bytes:
            self._take_smallest()

    def _rank(self, log: Log) -> Hashes:
        names = sorted(name for name in log.arrow.column_names if name != "context")  # an id stands for the text
        hashes = content_hashes([log.arrow[name] for name in names])
        number = self._occurrences.count(hashes)
        return np.where(number > 0, mixed_hashes(hashes + number.astype(np.uint64)), hashes)

    def _take_smallest(self) -> pa.Table:
        """Only the rows with the smallest ranks remain."""
        ranks, sizes = np.concatenate(self._ranks), np.concatenate(self._bytes)
        order = np.argsort(ranks)[: self._size]
        fitting = np.searchsorted(np.cumsum(sizes[order]), self._max_bytes, side="right")
        order = order[: max(1, int(fitting))]
        if len(order) < len(ranks):
            self._bound = ranks[order[-1]]
        at = np.sort(order)
        rows = self._joined(at)
        self._ranks, self._bytes, self._tables = [ranks[at]], [sizes[at]], [rows]
        self._stored, self._stored_bytes = len(at), int(sizes[at].sum())
        return rows

    def _joined(self, at: NDArray[np.int64]) -> pa.Table:
        """Some of the rows as one table; each is taken from its own batch, since all at once would be copied twice."""
        starts = np.cumsum([0, *(len(table) for table in self._tables)])
        cuts = np.searchsorted(at, starts)
        for number, table in enumerate(self._tables):
            self._tables[number] = take_rows(table, at[cuts[number] : cuts[number + 1]] - starts[number])
        return pa.concat_tables(self._tables).combine_chunks()

    def rows(self) -> Log | None:
        """The sample, in the order of the files; None if there was no row."""
        if self._log is None:
            return None
        rows = self._take_smallest()
        rows = take_rows(rows, np.lexsort((rows[ROW].to_numpy(), rows[FILE].to_numpy())))
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


def _row_bytes(rows: pa.Table) -> NDArray[np.int64]:
    """Bytes of each row: those of its texts, and eight for every column."""
    total = np.full(len(rows), 8 * rows.num_columns, dtype=np.int64)
    for column in rows.columns:
        if pa.types.is_string(column.type):
            total += pc.fill_null(pc.binary_length(column), 0).to_numpy()
    return total
