"""What a long log and the other tables say about the same contexts, checked batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.data import Log, Mask, RowNumbers, text_ids
from deconfound.errors import Problem
from deconfound.formatting import quote
from deconfound.loading.canonical import CanonicalTable, ContextKeys

ID_FIX = "Give each text its own context_id, or leave the column out: contexts are then identified by their text."


@dataclass(slots=True)
class ContextChecks:
    """The contexts of the experiment and the replay, and the rows of the log that say something about them.

    Memory grows with these contexts, not with those of the log. ``log_has_ids``: the log itself gives its contexts ids.
    """

    others: Sequence[CanonicalTable]  # the experiment and the replay, before their contexts are aligned
    log_has_ids: bool
    shared_rows: frozenset[str] = frozenset()  # of the experiment, where both tables are one file
    _replayed_ids: pa.Array = field(init=False)
    _replayed_texts: pa.Array | None = field(init=False)
    _ids: pa.Array = field(init=False)
    _texts: pa.Array = field(init=False)
    _pairs: list[pa.Table] = field(default_factory=list)
    _text_by_id: dict[str, tuple[str, str]] = field(default_factory=dict)
    _reported: bool = False

    def __post_init__(self) -> None:
        replay = self.others[-1]
        if not self.log_has_ids:  # no id of the log changes those of the replay
            replay = ContextKeys.of(self.others, need_ids=True).align([replay], [])[0]
        has_ids = replay.has("context_id")
        self._replayed_ids = _unique([replay.arrow["context_id"]] if has_ids else [])
        by_text = not has_ids and replay.has("context")
        self._replayed_texts = _unique([text_ids(replay.arrow["context"])]) if by_text else None
        self._ids = _unique([table.arrow["context_id"] for table in self.others if table.has("context_id")])
        lacking = [table for table in self.others if not table.has("context_id") and table.has("context")]
        self._texts = _unique([text_ids(table.arrow["context"]) for table in lacking])
        for table in self.others:
            self._note_texts(table)

    def _note_texts(self, table: CanonicalTable) -> None:
        if not (self.log_has_ids and table.has("context_id") and table.has("context")):
            return
        ids, texts = table.arrow["context_id"].to_pylist(), text_ids(table.arrow["context"]).to_pylist()
        for row, (name, text) in enumerate(zip(ids, texts, strict=True)):
            self._text_by_id.setdefault(name, (text, table.locate(row)))

    def is_replayed(self, log: Log) -> Mask:
        """The rows whose context is in the replay; by its text where the replay has no ids of its own."""
        if self._replayed_texts is not None and "context" in log.arrow.column_names:
            return _is_in(text_ids(log.arrow["context"]), self._replayed_texts)
        return _is_in(log.arrow["context_id"], self._replayed_ids)

    def add(self, log: Log) -> list[Problem]:
        """Collect what others need to know, and report contradictions."""
        shared = self._shared(log)
        if not self.log_has_ids or "context" not in log.arrow.column_names:
            return shared
        mask = _is_in(log.arrow["context_id"], self._ids)
        if len(self._texts):
            mask |= _is_in(text_ids(log.arrow["context"]), self._texts)
        rows = np.flatnonzero(mask)
        if not len(rows):
            return shared
        pairs = log.arrow.select(["context_id", "context"]).take(pa.array(rows))
        found = self._conflict(pairs, log, rows)
        distinct = pairs.group_by(["context_id", "context"]).aggregate([])
        self._pairs = [pa.concat_tables([*self._pairs, distinct]).group_by(["context_id", "context"]).aggregate([])]
        return [*shared, *found]

    def _conflict(self, pairs: pa.Table, log: Log, rows: np.ndarray) -> list[Problem]:
        """The first row whose id has another text in another table, or in an earlier row, once."""
        texts = text_ids(pairs["context"]).to_pylist()
        for row, name, text in zip(rows, pairs["context_id"].to_pylist(), texts, strict=True):
            known, place = self._text_by_id.setdefault(name, (text, log.locate(int(row))))
            if known != text and not self._reported:
                self._reported = True
                what = f"context_id {quote(name)} has a different text in {place}"
                return [Problem(log.locate(int(row)), what, ID_FIX)]
        return []

    def _shared(self, log: Log) -> list[Problem]:
        """Rows of one file that conditions put both into the log and into the experiment."""
        if not self.shared_rows:
            return []
        both = [row for row in range(len(log)) if log.row_numbers.label(row) in self.shared_rows]
        what = f"the row is in the log and in the experiment ({len(both):,} such rows)"
        fix = "Write --where conditions that exclude each other."
        return [Problem(log.locate(both[0]), what, fix)] if both else []

    def key_rows(self, like: Log) -> CanonicalTable:
        """The pairs of ids and texts of the log that concern other tables, in the columns that the log has."""
        empty = like.arrow.select([n for n in ("context_id", "context") if n in like.arrow.column_names]).slice(0, 0)
        table = pa.concat_tables([empty, *(pair.select(empty.column_names).cast(empty.schema) for pair in self._pairs)])
        return CanonicalTable(table, like.source, (), (), RowNumbers())


def _unique(columns: Sequence[pa.ChunkedArray]) -> pa.Array:
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, pa.string()).unique()


def _is_in(values: pa.ChunkedArray, names: pa.Array) -> Mask:
    mask: Mask = pc.is_in(values, value_set=names).to_numpy()
    return mask.copy()
