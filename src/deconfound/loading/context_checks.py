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

PAIRS = pa.schema([("context_id", pa.string()), ("context", pa.string())])
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
    _by_text: pa.Table = field(default_factory=PAIRS.empty_table)
    _by_id: pa.Table = field(default_factory=PAIRS.empty_table)
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
        pairs = log.arrow.select(["context_id", "context"])
        if len(self._texts):
            known = pairs.filter(pa.array(_is_in(text_ids(pairs["context"]), self._texts)))
            self._by_text = _smallest(self._by_text, known, "context", "context_id")
        rows = np.flatnonzero(_is_in(pairs["context_id"], self._ids))
        known = pairs.take(pa.array(rows))
        self._by_id = _smallest(self._by_id, known, "context_id", "context")
        return [*shared, *self._conflict(known, log, rows)]

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
        names = [name for name in PAIRS.names if name in like.arrow.column_names]
        table = pa.concat_tables([self._by_text, self._by_id]).select(names)
        return CanonicalTable(table, like.source, (), (), RowNumbers())


def _smallest(pairs: pa.Table, more: pa.Table, by: str, name: str) -> pa.Table:
    """One pair for each id, or each text: what the log says about one context does not grow with its rows."""
    if not more.num_rows:
        return pairs
    both = pa.concat_tables([pairs, more.select(PAIRS.names).cast(PAIRS)])
    grouped = both.group_by(by).aggregate([(name, "min")])
    return grouped.rename_columns({by: by, f"{name}_min": name}).select(PAIRS.names).cast(PAIRS)


def _unique(columns: Sequence[pa.ChunkedArray]) -> pa.Array:
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, pa.string()).unique()


def _is_in(values: pa.ChunkedArray, names: pa.Array) -> Mask:
    mask: Mask = pc.is_in(values, value_set=names).to_numpy()
    return mask.copy()
