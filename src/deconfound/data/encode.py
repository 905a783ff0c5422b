"""Arrow columns as integer codes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deconfound.design import IntArray


def encode(column: pa.ChunkedArray, names: tuple[str, ...] | None) -> tuple[tuple[str, ...], IntArray]:
    """Number a column's values by their place in ``names``, or among its own sorted values."""
    if names is None:
        names = tuple(sorted(column.unique().to_pylist()))
    codes = pc.index_in(column, value_set=pa.array(names, pa.string()))
    return names, codes.to_numpy().astype(np.int64)
