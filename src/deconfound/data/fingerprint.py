"""A short number that identifies the content of a table: equal for equal rows, whatever their order in the file."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

DIGITS = 32  # hexadecimal; half of a SHA-256 is plenty to recognize a table


def table_fingerprint(table: pa.Table) -> str:
    """SHA-256 over the columns by name, of a table in content order.

    Draw numbers do not count: where the user gave none, they are the order of the rows in the file.
    """
    digest = sha256()
    for name in sorted(table.column_names):
        if name != "draw":
            digest.update(sha256(name.encode()).digest())
            digest.update(_column_digest(table[name]))
    return digest.hexdigest()[:DIGITS]


def _column_digest(column: pa.ChunkedArray) -> bytes:
    if not pa.types.is_string(column.type):
        numbers = column.to_numpy().astype("<f8") + 0.0  # -0.0 and 0.0 become the same bits
        return sha256(numbers.tobytes()).digest()
    lengths, content = sha256(), sha256()
    for chunk in column.chunks:
        texts = chunk.cast(pa.large_binary())
        sizes = pc.fill_null(pc.binary_length(texts), -1).to_numpy(zero_copy_only=False)
        lengths.update(sizes.astype("<i8").tobytes())
        _, offsets, data = texts.buffers()
        ends = np.frombuffer(offsets, "<i8")[texts.offset : texts.offset + len(texts) + 1]
        if data is not None:
            content.update(memoryview(data)[int(ends[0]) : int(ends[-1])])
    return lengths.digest() + content.digest()
