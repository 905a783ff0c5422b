"""--normalize-contexts: contexts that differ only in writing are the same. Nothing is merged without being asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from deconfound.data.encode import encode_by_appearance
from deconfound.data.name_variants import fold_text
from deconfound.findings import Finding, Notice
from deconfound.formatting import pluralize
from deconfound.loading.canonical import CanonicalTable

COLUMNS = ("context", "context_id")


def with_normalized_contexts(table: CanonicalTable) -> CanonicalTable:
    """The table with contexts and ids without surrounding spaces, with one kind of line end and of Unicode."""
    arrow, changed = table.arrow, 0
    for name in COLUMNS:
        if name not in arrow.column_names:
            continue
        distinct, code = encode_by_appearance(arrow[name])
        texts = distinct.to_pylist()
        folded = [fold_text(text) for text in texts]
        if folded != texts:
            values = _take(pa.array(folded, pa.large_string()), code, arrow[name])
            arrow = arrow.set_column(arrow.column_names.index(name), name, values)
            changed = max(changed, sum(one != other for one, other in zip(folded, texts, strict=True)))
    if not changed:
        return table
    count = pluralize(changed, "context")
    message = f"{table.source}: {count} read without surrounding spaces and with one kind of line end."
    return replace(table, arrow=arrow, findings=(*table.findings, Finding("contexts", "pass", Notice(message))))


def _take(texts: pa.Array, code: NDArray[np.int64], like: pa.ChunkedArray) -> pa.ChunkedArray:
    """The text of each row, in chunks as before: each of them fits into the 32-bit offsets of Arrow's strings."""
    ends = np.cumsum([len(chunk) for chunk in like.chunks])
    chunks = [texts.take(pa.array(part)).cast(like.type) for part in np.split(code, ends[:-1])]
    return pa.chunked_array(chunks, like.type)
