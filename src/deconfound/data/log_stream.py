"""A log that is too long for memory: parts that are read batch by batch."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from deconfound.data.log_counts import LogCounts
from deconfound.data.row_order import Hashes, row_hashes, uniform_ranks
from deconfound.data.tables import Log, Mask, RowNumbers, is_in
from deconfound.formatting import pluralize

SAMPLE_ROWS = 50_000
"""Rows of a streamed log that are in memory, for checks that look at single rows."""


class LogPart(Protocol):
    """A piece of a log that can be read again: a file, some row groups of one, a slice of a table.

    Batches are bounded in rows and bytes. Their rows are valid and have an outcome. Every batch of every part has the
    same columns.
    """

    @property
    def name(self) -> str:
        """For messages and progress, such as "logs/2026-05.parquet rows 1-65,536"."""
        ...

    @property
    def size(self) -> int:
        """Bytes, for progress."""
        ...

    def batches(self) -> Iterator[Log]:
        """Read the part from its beginning."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class LogStream:
    """A log in parts that can be read again and again, and the rows that checks compare with the replay."""

    parts: tuple[LogPart, ...]
    rows: int  # with an outcome
    on_replayed: Log  # rows whose context is in the replay: all, or a uniform sample of stated size
    counts: LogCounts | None = None  # of all rows, by model

    def __repr__(self) -> str:
        return f"LogStream({pluralize(self.rows, 'row')}, {pluralize(len(self.parts), 'part')})"

    def in_content_order(self) -> LogStream:
        """The same stream, with the rows in memory in an order that does not depend on files."""
        return replace(self, on_replayed=self.on_replayed.in_content_order())


@dataclass(frozen=True, eq=False, repr=False)
class TablePart:
    """Consecutive rows of a log in memory."""

    log: Log
    start: int
    rows: int

    def __repr__(self) -> str:
        return f"TablePart({self.name!r})"

    @property
    def name(self) -> str:
        """The table and its rows."""
        return f"{self.log.source} rows {self.start + 1:,}-{self.start + self.rows:,}"

    @property
    def size(self) -> int:
        """Bytes of the slice."""
        return int(self._table.nbytes)

    def batches(self) -> Iterator[Log]:
        """The slice, as one batch."""
        yield replace(self.log, arrow=self._table, row_numbers=RowNumbers())

    @property
    def _table(self) -> pa.Table:
        return self.log.arrow.slice(self.start, self.rows)


def slices_of(log: Log, rows_per_batch: int) -> tuple[TablePart, ...]:
    """Cut a log in memory into parts of at most ``rows_per_batch`` rows."""
    starts = range(0, len(log), rows_per_batch)
    return tuple(TablePart(log, start, min(rows_per_batch, len(log) - start)) for start in starts)


def stream_rows(log: Log, contexts: Collection[str], rows_per_batch: int) -> tuple[LogStream, Log]:
    """A log in memory, in content order, as a stream, and its sample; ``contexts`` are the replayed ones.

    The sample is a simple random one that depends on contents only, also where contents recur.
    """
    on_replayed = log.filter(is_in(log.arrow["context_id"], contexts))
    sample = (
        log if len(log) <= SAMPLE_ROWS else log.filter(_smallest(uniform_ranks(row_hashes(log.arrow)), SAMPLE_ROWS))
    )
    return LogStream(slices_of(log, rows_per_batch), len(log), on_replayed), sample


def _smallest(ranks: Hashes, count: int) -> Mask:
    """Mark this number of rows: those with the smallest ranks, and of equal ones the first."""
    chosen = np.zeros(len(ranks), dtype=bool)
    chosen[np.argsort(ranks, kind="stable")[:count]] = True
    return chosen
