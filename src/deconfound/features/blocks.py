"""The blocks of features of a table, their joint scale, and how they combine to phi."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, IntArray, RawMatrix
from deconfound.errors import UsageError

CLIP_SD = 5.0
"""Standard deviations from the log's mean at which a value is clipped."""

CONSTANT_RTOL = 1e-12
"""Standard deviation, relative to the largest value, below which a column counts as constant."""

JOIN_ROWS = 4096
"""Rows joined at once, which bounds the memory for their index arrays."""


@dataclass(frozen=True, slots=True)
class FeatureBlocks:
    """Features of the distinct rows of a table; table row i has those of distinct row ``row_index[i]``.

    Distinct rows differ in the context, the output or a ``feature_*`` column that the features use. They are in the
    order in which their contexts first appear and, within a context, in the order in which they appear themselves;
    without text, simply in the order in which they appear.
    """

    row_index: IntArray  # (n,)
    text: sparse.csr_matrix | None  # (u, buckets), unit length for the context and for the output
    dense: FloatArray | None  # (u, s), mean square norm 1 over the log
    psi: FloatArray | None  # (u, r)
    modifiers: FloatArray | None = None  # (u, c) effect modifiers, mean square norm 1 over the log

    @property
    def has_text_and_dense(self) -> bool:
        """Whether there are both hashed text and a dense block, so that the surface share has an effect."""
        return self.text is not None and self.dense is not None

    def phi(self, surface_share: float) -> RawMatrix:
        """The features of the distinct rows at a surface share between 0 and 1.

            phi = [sqrt(1 - surface_share) * text, sqrt(2 * surface_share) * dense]

        The mean square norm is the same for every share. At 0 phi is the text alone, CSR and without dense columns;
        at 1 the dense block alone, an array. If only one block exists, the share has no effect.
        """
        return combine_blocks(self.text, self.dense, surface_share)


def combine_blocks(text: sparse.csr_matrix | None, dense: FloatArray | None, surface_share: float) -> RawMatrix:
    """Join the blocks to phi; the formula is in ``FeatureBlocks.phi``."""
    if not 0.0 <= surface_share <= 1.0:
        raise UsageError(
            f"surface_share must be between 0 (hashed text only) and 1 (dense features only), not {surface_share}."
        )
    if dense is None or (surface_share == 0.0 and text is not None):
        return text
    if text is None or surface_share == 1.0:
        return np.sqrt(2.0) * dense
    return _join(text, np.sqrt(1.0 - surface_share), dense, np.sqrt(2.0 * surface_share))


def _join(text: sparse.csr_matrix, text_weight: float, dense: FloatArray, dense_weight: float) -> sparse.csr_matrix:
    """``scipy.sparse.hstack`` of the weighted blocks, with one copy of the text instead of three."""
    rows, width = dense.shape
    columns = np.arange(width)
    start = text.indptr.astype(np.int64) + width * np.arange(rows + 1)
    data, indices = np.empty(start[-1]), np.empty(start[-1], dtype=np.int32)
    for low in range(0, rows, JOIN_ROWS):
        high = min(low + JOIN_ROWS, rows)
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


@dataclass(frozen=True, slots=True)
class Scaling:
    """The log's mean and standard deviation of each dense column, and the column's weight in phi."""

    mean: FloatArray  # (s,)
    sd: FloatArray  # (s,), zero for a constant column
    weight: FloatArray  # (s,)

    def standardize(self, values: FloatArray) -> FloatArray:
        """Columns with mean 0 and standard deviation 1 over the log, clipped at ``CLIP_SD``; constant columns are 0."""
        varies = self.sd > 0
        scaled = np.zeros(values.shape)
        # Clipped before the division, or a column of tiny standard deviation could overflow.
        limit = CLIP_SD * self.sd[varies]
        scaled[:, varies] = np.clip(values[:, varies] - self.mean[varies], -limit, limit) / self.sd[varies]
        return scaled


def fit_scaling(values: FloatArray, counts: IntArray, block_widths: tuple[int, ...]) -> Scaling:
    """Learn the scale from the log's distinct rows and their counts.

    The columns form blocks of the given widths. The weights give the dense features a mean square norm of 1 over the
    log, and every block that varies the same part of it, however many columns it has.
    """
    share = counts / counts.sum()
    peak = np.abs(values).max(axis=0)
    peak[peak == 0] = 1.0
    unit = values / peak
    mean = share @ unit
    sd = np.sqrt(share @ (unit - mean) ** 2)
    sd[sd <= CONSTANT_RTOL] = 0.0
    unweighted = Scaling(mean * peak, sd * peak, np.ones(values.shape[1]))
    squares = np.split(share @ unweighted.standardize(values) ** 2, np.cumsum(block_widths)[:-1])
    totals = np.array([block.sum() for block in squares])
    varying = np.count_nonzero(totals)
    weights = np.divide(1.0, np.sqrt(totals * varying), out=np.zeros(len(totals)), where=totals > 0)
    return Scaling(unweighted.mean, unweighted.sd, np.repeat(weights, block_widths))
