"""The features of a table: hashed text, dense statistics, proxy representation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, IntArray, RawMatrix
from deconfound.errors import UsageError

JOINED_ROWS = 4096
"""Rows joined at once, which bounds the memory for their bookkeeping."""


@dataclass(frozen=True, slots=True)
class FeatureBlocks:
    """Features of the distinct rows of a table; table row i has those of distinct row ``pair[i]``.

    Distinct rows differ in the context, the output or a ``feature_*`` column that the features use. They come in the
    order in which their contexts first appear and, within a context, in the order in which they appear themselves;
    without text, simply in the order in which they appear.
    """

    pair: IntArray  # (n,)
    text: sparse.csr_matrix | None  # (u, buckets), unit length for the context and for the output
    dense: FloatArray | None  # (u, s), mean square norm 1 over the log
    psi: FloatArray | None  # (u, r)

    @property
    def both(self) -> bool:
        """Whether there is hashed text and dense statistics, so that a balance between them means anything."""
        return self.text is not None and self.dense is not None

    def phi(self, surface_share: float) -> RawMatrix:
        """[sqrt(1 - balance) * text, sqrt(2 * balance) * dense], so that every balance has the same mean square norm.

        Balance 0 is the text alone, CSR and without a column for the rest; 1 is the dense block alone, an array. Where
        only one block exists there is nothing to weigh, and it is given whole.
        """
        return mix(self.text, self.dense, surface_share)


def mix(text: sparse.csr_matrix | None, dense: FloatArray | None, surface_share: float) -> RawMatrix:
    """Join the blocks of phi; see ``Blocks.phi``."""
    if not 0.0 <= surface_share <= 1.0:
        raise UsageError(
            f"surface_share must lie between 0 (hashed text alone) and 1 (statistics alone), not {surface_share}."
        )
    if dense is None or (surface_share == 0.0 and text is not None):
        return text
    if text is None or surface_share == 1.0:
        return np.sqrt(2.0) * dense
    return _joined(text, np.sqrt(1.0 - surface_share), dense, np.sqrt(2.0 * surface_share))


def _joined(text: sparse.csr_matrix, text_weight: float, dense: FloatArray, dense_weight: float) -> sparse.csr_matrix:
    """``scipy.sparse.hstack`` of the weighted blocks with one copy of the text where that makes three."""
    rows, width = dense.shape
    columns = np.arange(width)
    start = text.indptr.astype(np.int64) + width * np.arange(rows + 1)
    data, indices = np.empty(start[-1]), np.empty(start[-1], dtype=np.int32)
    for low in range(0, rows, JOINED_ROWS):
        high = min(low + JOINED_ROWS, rows)
        source = slice(text.indptr[low], text.indptr[high])
        target = slice(start[low], start[high])
        dense_at = start[low + 1 : high + 1, None] - width + columns
        is_text = np.ones(start[high] - start[low], dtype=np.bool_)
        is_text[dense_at - start[low]] = False
        data[target][is_text] = text_weight * text.data[source]
        indices[target][is_text] = text.indices[source]
        data[dense_at] = dense_weight * dense[low:high]
        indices[dense_at] = text.shape[1] + columns
    return sparse.csr_matrix((data, indices, start), shape=(rows, text.shape[1] + width))
