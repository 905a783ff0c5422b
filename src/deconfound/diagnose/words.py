"""Hashed text made ready for comparing: rare words count more, and rows are short where they can be."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, IntArray
from deconfound.features import FeatureBlocks

FEWEST_HOLDERS = 2  # places a word must occur in: what occurs once cannot carry over to another row
WIDTH = 512  # columns that hashed text is folded to where distances are wanted and not words


def weighed(text: sparse.csr_matrix, holders: IntArray, places: int) -> sparse.csr_matrix:
    """Columns times log(1 + places / holders), none of fewer than ``FEWEST_HOLDERS``; rows of unit length, or zero."""
    weight = np.where(holders >= FEWEST_HOLDERS, np.log1p(places / np.maximum(holders, 1)), 0.0)
    rows = sparse.csr_matrix((text.data * weight[text.indices], text.indices, text.indptr), shape=text.shape)
    rows.eliminate_zeros()
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1.0 / np.where(length > 0, length, 1.0)) @ rows)


def described(blocks: FeatureBlocks, index: IntArray) -> FloatArray:
    """Distinct rows of a table as short dense vectors: folded text, then statistics, in equal parts."""
    parts = []
    if blocks.text is not None:
        parts.append(fold(blocks.text[index]))
    if blocks.dense is not None:
        parts.append(np.sqrt(2.0) * blocks.dense[index] if blocks.text is not None else blocks.dense[index])
    return np.hstack(parts)


def fold(text: sparse.csr_matrix) -> FloatArray:
    """Hash hashed columns once more, to ``WIDTH``; their signs make what collides cancel on average."""
    shape = (text.shape[0], WIDTH)
    folded: FloatArray = sparse.csr_matrix((text.data, text.indices % WIDTH, text.indptr), shape=shape).toarray()
    return folded
