"""Inner products of centred feature rows, as a matrix or as an operator."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from deconfound.design import FloatArray, Matrix
from deconfound.linalg.block_lanczos import Operator
from deconfound.linalg.threads import parallel_map

TILE = 512  # sparse rows that one thread multiplies at a time with other sparse rows
WIDE = 64  # columns that one thread multiplies at a time with a dense matrix
NARROW = 16  # the same with sparse rows, where a panel of the inner product should stay in cache


def centred_product(left: Matrix, right: Matrix, mean: FloatArray) -> FloatArray:
    """Inner products (n, m) of two sets of rows, both centred at ``mean``."""
    both_sparse = sparse.issparse(left) and sparse.issparse(right)
    product = sparse_product(left, right) if both_sparse else np.asarray(left @ right.T)
    product -= np.asarray(right @ mean) - mean @ mean
    product -= np.asarray(left @ mean)[:, None]
    return np.asarray(product)


def sparse_product(left: Matrix, right: Matrix) -> FloatArray:
    """Inner products (n, m) of two sets of sparse rows, tiles of them shared among threads."""
    tiles = [left[at : at + TILE] for at in range(0, left.shape[0], TILE)]
    across = right.T.tocsr()
    return np.vstack(parallel_map(lambda tile: (tile @ across).toarray(), tiles))


def kernel_matrix(features: Matrix, mean: FloatArray, root: FloatArray) -> FloatArray:
    """The kernel of the rows (n, n), each scaled by its entry of ``root`` (n, 1)."""
    kernel = centred_product(features, features, mean)
    kernel *= root
    kernel *= root.T
    return kernel


def kernel_operator(features: Matrix, mean: FloatArray, root: FloatArray) -> Operator:
    """The same kernel as two products with the rows, for too many of them to hold it."""
    along, size = root * np.asarray(features @ mean)[:, None], float(mean @ mean)
    rows = _frequent_first(features) if sparse.issparse(features) else features
    across = rows.T.tocsr() if sparse.issparse(rows) else rows.T

    def apply(block: FloatArray) -> FloatArray:
        product = np.asarray(rows @ (across @ (root * block)))
        product *= root
        total = root.T @ block
        # Centring is two rank-one terms over the rows; centring the long inner product would move far more memory.
        product -= along @ total
        product -= root @ (along.T @ block - size * total)
        return product

    return in_panels(apply, NARROW if sparse.issparse(features) else WIDE)


def in_panels(apply: Operator, width: int = WIDE) -> Operator:
    """The same product, panels of columns shared among threads."""

    def run(block: FloatArray) -> FloatArray:
        panels = [np.ascontiguousarray(block[:, at : at + width]) for at in range(0, block.shape[1], width)]
        return np.hstack(parallel_map(apply, panels))

    return run


def _frequent_first(features: Matrix) -> Matrix:
    """The columns that occur at all, the most frequent first: what is read often then lies close together."""
    count = np.bincount(features.indices, minlength=features.shape[1])
    place = np.empty(len(count), dtype=features.indices.dtype)
    place[np.argsort(-count, kind="stable")] = np.arange(len(count))
    shape = (features.shape[0], int((count > 0).sum()))
    rows = sparse.csr_matrix((features.data.copy(), place[features.indices], features.indptr), shape=shape)
    rows.sort_indices()
    return rows
