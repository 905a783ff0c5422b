"""Sums of outer products of sparse rows."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray

ROWS_AT_ONCE = 2_048  # written out at once


def add_gram(rows: sparse.csr_matrix, total: FloatArray) -> None:
    """Add X'X of the rows X to the upper triangle of ``total``; what is below is undefined."""
    for start in range(0, rows.shape[0], ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE].toarray()
        total += np.asarray(part.T @ part)
