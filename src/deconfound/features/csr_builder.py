"""Sparse rows, collected block by block."""

from __future__ import annotations

import numpy as np
from scipy import sparse

GROWTH = 1.1
"""Spare room of the sparse matrix over what the rows so far suggest."""


class CsrBuilder:
    """A sparse matrix built from blocks of rows, without a second copy of its entries."""

    def __init__(self, rows: int, buckets: int) -> None:
        self.shape = (rows, buckets)
        self.indptr = np.zeros(rows + 1, dtype=np.int64)
        self.rows = 0
        self.data = np.empty(0)
        self.indices = np.empty(0, dtype=np.int32)

    def append(self, part: sparse.csr_matrix) -> None:
        """Add the rows of a block."""
        used, rows = int(self.indptr[self.rows]), self.rows + part.shape[0]
        if used + part.nnz > len(self.data):
            # Room for all rows, if the rest are like those so far; memory that is not written to costs nothing.
            self._resize(int(GROWTH * (used + part.nnz) * self.shape[0] / rows) + 1)
        self.data[used : used + part.nnz] = part.data
        self.indices[used : used + part.nnz] = part.indices
        self.indptr[self.rows : rows + 1] = used + part.indptr
        self.rows = rows

    def to_matrix(self) -> sparse.csr_matrix:
        """All rows; the builder must not be used afterwards."""
        self._resize(int(self.indptr[-1]))
        return sparse.csr_matrix((self.data, self.indices, self.indptr), shape=self.shape)

    def _resize(self, size: int) -> None:
        if len(self.data):
            self.data.resize(size, refcheck=False)
            self.indices.resize(size, refcheck=False)
        else:
            self.data, self.indices = np.empty(size), np.empty(size, dtype=np.int32)
