"""Arrow columns as integer codes; no other module does this."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Codes = NDArray[np.int64]  # not from ``design``, which would load SciPy into every reader of files

UNKNOWN_CODE = -1  # of a missing value, and of one that is not among the given names


def encode(column: pa.ChunkedArray, names: Sequence[str] | None = None) -> tuple[tuple[str, ...], Codes]:
    """Number a text column's values by their position in ``names``; without names, among its own sorted values."""
    ordered = tuple(sorted(column.unique().to_pylist()) if names is None else names)
    codes = pc.index_in(column, value_set=pa.array(ordered, pa.string()))
    return ordered, _to_numpy(codes)


def encode_by_appearance(column: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    """Number a column's values by first appearance; returns the distinct values and each row's code."""
    if pa.types.is_string(column.type):
        # Wide offsets: the distinct texts of a long log may exceed the 2 GB of Arrow's plain strings.
        column = column.cast(pa.large_string())
    if not len(column):  # older Arrow cannot combine zero chunks
        return pa.array([], column.type), np.zeros(0, dtype=np.int64)
    encoded = column.dictionary_encode().combine_chunks()
    return encoded.dictionary, _to_numpy(encoded.indices)


def _to_numpy(codes: pa.ChunkedArray | pa.Array) -> Codes:
    filled: Codes = pc.fill_null(codes, UNKNOWN_CODE).to_numpy().astype(np.int64)
    return filled
