"""Inner products of centered feature rows, as a matrix or as an operator."""

from __future__ import annotations

import numpy as np

from deconfound.design import FeatureMatrix, FloatArray, GramOperator
from deconfound.design.storage import DENSE_PANEL
from deconfound.linalg.block_lanczos import Operator
from deconfound.threads import parallel_map


def centered_inner_products(left: FeatureMatrix, right: FeatureMatrix, mean: FloatArray) -> FloatArray:
    """Inner products (n, m) of two sets of rows, both centered at ``mean``."""
    product = left.inner_products(right)
    product -= right @ mean - mean @ mean
    product -= (left @ mean)[:, None]
    return product


def kernel_matrix(features: FeatureMatrix, mean: FloatArray, root: FloatArray) -> FloatArray:
    """Inner products (n, n) of the centered rows, each row scaled by its entry of ``root`` (n, 1)."""
    kernel = centered_inner_products(features, features, mean)
    kernel *= root
    kernel *= root.T
    return kernel


def kernel_operator(gram: GramOperator, along_mean: FloatArray, mean: FloatArray, root: FloatArray) -> Operator:
    """The product of ``kernel_matrix`` with blocks (n, m), for more rows than that matrix has room for.

    ``along_mean`` (n,) are the inner products of the rows with ``mean``.
    """
    scaled_along_mean, mean_square = root * along_mean[:, None], float(mean @ mean)

    def apply(block: FloatArray) -> FloatArray:
        product = gram.apply(root * block)
        product *= root
        total = root.T @ block
        # Centering is two rank-one terms over the rows; centering the long inner product would move far more memory.
        product -= scaled_along_mean @ total
        product -= root @ (scaled_along_mean.T @ block - mean_square * total)
        return product

    return parallel_over_columns(apply, gram.panel_columns)


def parallel_over_columns(apply: Operator, panel_columns: int = DENSE_PANEL) -> Operator:
    """The same product, panels of columns shared among threads."""

    def run(block: FloatArray) -> FloatArray:
        starts = range(0, block.shape[1], panel_columns)
        panels = [np.ascontiguousarray(block[:, start : start + panel_columns]) for start in starts]
        return np.hstack(parallel_map(apply, panels))

    return run
