"""The proxy representation: the few directions of the features that the log's labels make visible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from deconfound.design import FeatureMatrix, FloatArray, IntArray
from deconfound.features.blocks import mix
from deconfound.features.labels import Labels

PROXY_BALANCE = 0.5
"""Balance of hashed text and statistics in the features that labels are predicted from."""

RANK = 1e-10
"""Variance, relative to the largest, below which a component is rounding error."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """An affine map from phi, at ``PROXY_BALANCE``, to components of mean 0 and standard deviation 1 over the log."""

    coef: FloatArray  # (d, r)
    intercept: FloatArray  # (r,)

    def __call__(self, text: sparse.csr_matrix | None, dense: FloatArray | None) -> FloatArray:
        """The components of each row; equal rows get equal bits whatever stands around them."""
        if text is None:
            return _apply(mix(None, dense, PROXY_BALANCE), self.coef) + self.intercept
        if dense is None:
            return np.asarray(text @ self.coef) + self.intercept
        # Block by block: joining the blocks first would copy the whole hashed text.
        hashed = np.sqrt(1.0 - PROXY_BALANCE) * np.asarray(text @ self.coef[: text.shape[1]])
        plain = np.sqrt(2.0 * PROXY_BALANCE) * _apply(dense, self.coef[text.shape[1] :])
        return np.asarray(hashed + plain + self.intercept)


def fit_proxy(phi: FeatureMatrix, labels: Labels, counts: IntArray, components: int, penalty: float) -> Proxy | None:
    """Learn the map from the log: ridge from phi to the labels, then principal components of the predictions.

        predicted  = phi W + b,   minimising  sum_i observed_i |mean_i - phi_i W - b|^2 + penalty |W|^2 for each label
        components = (predicted - mean) V / sqrt(eigenvalues)

    ``phi`` has one row a distinct row of the log, which ``counts`` weigh in the components. None if no prediction
    varies.
    """
    from deconfound.linalg import ridge

    coef = np.zeros((phi.shape[1], len(labels.names)))
    # Labels observed in the same rows share one fit.
    patterns, pattern = np.unique(labels.observed, axis=1, return_inverse=True)
    for at, weight in enumerate(patterns.T):
        columns, rows = np.flatnonzero(pattern.ravel() == at), np.flatnonzero(weight)
        every = len(rows) == len(weight)
        fit = ridge(phi if every else phi.take(rows), labels.means[np.ix_(rows, columns)], penalty, weight=weight[rows])
        coef[:, columns] = fit.coef
    return _principal(phi, coef, counts / counts.sum(), components)


def _principal(phi: FeatureMatrix, coef: FloatArray, share: FloatArray, components: int) -> Proxy | None:
    predicted = phi @ coef
    mean = share @ predicted
    centred = predicted - mean
    variances, directions = np.linalg.eigh((centred * share[:, None]).T @ centred)
    order = np.argsort(variances)[::-1][:components]
    kept = order[variances[order] > RANK * max(float(variances.max()), np.finfo(np.float64).tiny)]
    if not len(kept):
        return None
    rotation = directions[:, kept] / np.sqrt(variances[kept])
    # An eigenvector's sign is arbitrary; its largest entry is made positive.
    rotation *= np.sign(rotation[np.abs(rotation).argmax(axis=0), np.arange(len(kept))])
    return Proxy(coef @ rotation, -(mean @ rotation))


def _apply(dense: FloatArray, coef: FloatArray) -> FloatArray:
    # Not BLAS, whose rounding depends on a row's place in the matrix.
    return np.asarray(np.einsum("ij,jk->ik", dense, coef))
