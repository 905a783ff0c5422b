"""Sums over rows in memory, as the columns of ``auto``."""

from __future__ import annotations

import numpy as np

from deconfound.design import FloatArray, Rows
from deconfound.linalg.arrowhead import Arrowhead
from deconfound.linalg.moments import Moments
from deconfound.reward.auto.component_kernels import KernelScale
from deconfound.reward.auto.linear_columns import LinearMoments, LinearRows


def weighted_gram(rows: LinearRows, weight: FloatArray) -> Arrowhead:
    """Sum of weight_i z_i z_i' over the rows; weights may be zero."""
    used = np.flatnonzero(weight)
    rows, weight = rows.take(used), weight[used]
    columns, dense = rows.columns, np.hstack([rows.psi, np.ones((len(weight), 1))])
    text = Moments.of_rows(rows.phi, dense, weight)
    total = text.weight
    gram = np.empty((columns.shared, columns.shared))
    at = slice(columns.text), slice(columns.text, columns.shared)
    gram[at[0], at[0]] = total * (text.covariance + np.outer(text.mean, text.mean))
    gram[at[0], at[1]] = total * (text.cross_covariance + np.outer(text.mean, text.target_mean))
    gram[at[1], at[0]] = gram[at[0], at[1]].T
    gram[at[1], at[1]] = dense.T @ (weight[:, None] * dense)
    own = 1 + columns.modifiers
    borders, corners = np.zeros((columns.models, columns.shared, own)), np.zeros((columns.models, own, own))
    for code in np.unique(rows.model[rows.model >= 0]).tolist():
        of_model = np.flatnonzero(rows.model == code)
        modifiers = np.hstack([np.ones((len(of_model), 1)), rows.modifiers[of_model]])
        weighted = weight[of_model, None] * modifiers
        borders[code, at[0]] = rows.phi.take(of_model).transposed_product(weighted)
        borders[code, at[1]] = dense[of_model].T @ weighted
        corners[code] = modifiers.T @ weighted
    return Arrowhead(gram, borders, corners)


def moments_of_rows(log: Rows, n_models: int, scale: KernelScale, mean: float) -> LinearMoments:
    """What a log says about ``n_models`` models, around its ``mean`` outcome."""
    rows, weight = LinearRows.from_rows(log, scale, n_models), log.weight_or_ones
    centered = log.require_outcome() - mean
    cross = rows.transposed_times((weight * centered)[:, None])[:, 0]
    square = float(weight @ centered**2)
    return LinearMoments(rows.columns, weighted_gram(rows, weight), cross, square, log.total_weight, mean, scale)


def count_models(*tables: Rows) -> int:
    """Number of models that have a code in any of the tables."""
    return max(int(rows.model.max(initial=-1)) + 1 if rows.model is not None else 0 for rows in tables)
