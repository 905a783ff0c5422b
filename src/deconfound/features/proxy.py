"""The proxy map: from features to the few directions that predict the log's labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import sparse

from deconfound.design import FeatureMatrix, FloatArray, IntArray
from deconfound.features.blocks import CONSTANT_RTOL, combine_blocks
from deconfound.features.distinct_rows import DistinctRows
from deconfound.findings import Finding, Notice
from deconfound.linalg import ridge

PROXY_SURFACE_SHARE = 0.5
"""Surface share of the features that labels are predicted from."""

EIGENVALUE_RTOL = 1e-10
"""Variance, relative to the largest, below which a principal component is rounding error."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels that vary, in standard deviations from their mean over the log, for each of its distinct rows."""

    names: tuple[str, ...]
    means: FloatArray  # (u, m), 0 where nothing was observed
    observed: FloatArray  # (u, m), log rows behind each mean
    findings: tuple[Finding, ...]


def average_labels(table: pa.Table, names: tuple[str, ...], rows: DistinctRows) -> Labels:
    """Average each label over the log rows of each distinct row, without missing values.

    Labels are standardized, since the principal components must not depend on units, nor digits on the distance from
    zero. A label that never varies is left out; that is a finding, and so are missing values.
    """
    used, means, observed, findings = [], [], [], []
    for name in names:
        # Nulls become NaN in NumPy.
        values = table[name].to_numpy().astype(np.float64)
        present = np.isfinite(values)
        if not present.all():
            findings.append(_missing_finding(name, int((~present).sum()), len(values)))
        sd = float(values[present].std()) if present.any() else 0.0
        if sd <= CONSTANT_RTOL * np.abs(values[present]).max(initial=0.0):
            findings.append(constant_label_finding(name))
            continue
        count = np.bincount(rows.row_index[present], minlength=len(rows.counts)).astype(np.float64)
        standardized = (values[present] - values[present].mean()) / sd
        total = np.bincount(rows.row_index[present], weights=standardized, minlength=len(rows.counts))
        used.append(name)
        means.append(np.divide(total, count, out=np.zeros(len(count)), where=count > 0))
        observed.append(count)
    shape = (len(rows.counts), len(used))
    return Labels(tuple(used), _stack_columns(means, shape), _stack_columns(observed, shape), tuple(findings))


def _stack_columns(columns: list[FloatArray], shape: tuple[int, int]) -> FloatArray:
    return np.column_stack(columns) if columns else np.empty(shape)


def _missing_finding(name: str, missing: int, rows: int) -> Finding:
    return Finding(
        "labels",
        "warn",
        Notice(
            f"{name} is missing in {missing:,} of the log's {rows:,} rows; the proxies use it from the others.",
            "If missing values depend on the output or the user, leave the column out.",
        ),
    )


def constant_label_finding(name: str) -> Finding:
    """The note that a label says nothing."""
    return Finding("labels", "warn", Notice(f"{name} is constant in the log and is not used.", "Leave the column out."))


@dataclass(frozen=True, slots=True)
class ProxyMap:
    """An affine map from phi at ``PROXY_SURFACE_SHARE`` to components of mean 0 and sd 1 over the log."""

    coef: FloatArray  # (d, r)
    intercept: FloatArray  # (r,)

    def __call__(self, text: sparse.csr_matrix | None, dense: FloatArray | None) -> FloatArray:
        """The components of each row; equal rows get equal bits whatever the other rows are."""
        if text is None:
            return _multiply(combine_blocks(None, dense, PROXY_SURFACE_SHARE), self.coef) + self.intercept
        if dense is None:
            return np.asarray(text @ self.coef) + self.intercept
        # Block by block: joining the blocks first would copy the whole hashed text.
        from_text = np.sqrt(1.0 - PROXY_SURFACE_SHARE) * np.asarray(text @ self.coef[: text.shape[1]])
        from_dense = np.sqrt(2.0 * PROXY_SURFACE_SHARE) * _multiply(dense, self.coef[text.shape[1] :])
        return np.asarray(from_text + from_dense + self.intercept)


def fit_proxy(phi: FeatureMatrix, labels: Labels, counts: IntArray, components: int, penalty: float) -> ProxyMap | None:
    """Fit the map on the log: ridge regression from phi to the labels, then PCA of the predicted labels.

        predicted  = phi W + b,   minimizing  sum_i observed_i |mean_i - phi_i W - b|^2 + penalty |W|^2 for each label
        components = (predicted - mean) V / sqrt(eigenvalues)

    ``phi`` has one row per distinct row of the log; ``counts`` are their weights in the PCA. None if no prediction
    varies.
    """
    coef = np.zeros((phi.shape[1], len(labels.names)))
    # Labels observed in the same rows share one fit.
    patterns, pattern = np.unique(labels.observed, axis=1, return_inverse=True)
    for at, weight in enumerate(patterns.T):
        columns, rows = np.flatnonzero(pattern.ravel() == at), np.flatnonzero(weight)
        all_rows = len(rows) == len(weight)
        fit = ridge(
            phi if all_rows else phi.take(rows), labels.means[np.ix_(rows, columns)], penalty, weight=weight[rows]
        )
        coef[:, columns] = fit.coef
    return _principal_components(phi, coef, counts / counts.sum(), components)


def _principal_components(phi: FeatureMatrix, coef: FloatArray, weight: FloatArray, components: int) -> ProxyMap | None:
    predicted = phi @ coef
    mean = weight @ predicted
    centered = predicted - mean
    return principal_map(coef, mean, (centered * weight[:, None]).T @ centered, components)


def principal_map(coef: FloatArray, mean: FloatArray, covariance: FloatArray, components: int) -> ProxyMap | None:
    """The leading components of predicted labels ``phi @ coef``, from their mean and covariance over the log."""
    variances, directions = np.linalg.eigh(covariance)
    order = np.argsort(variances)[::-1][:components]
    selected = order[variances[order] > EIGENVALUE_RTOL * max(float(variances.max()), np.finfo(np.float64).tiny)]
    if not len(selected):
        return None
    rotation = directions[:, selected] / np.sqrt(variances[selected])
    # The sign of an eigenvector is arbitrary: its largest entry is made positive.
    rotation *= np.sign(rotation[np.abs(rotation).argmax(axis=0), np.arange(len(selected))])
    return ProxyMap(coef @ rotation, -(mean @ rotation))


def _multiply(dense: FloatArray, coef: FloatArray) -> FloatArray:
    # Not BLAS, whose rounding depends on a row's position in the matrix.
    return np.asarray(np.einsum("ij,jk->ik", dense, coef))
