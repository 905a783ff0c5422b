"""The t ratio of a clustered mean by its definition: eigenvalues of a full matrix, and numerical integration."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import stdtrit

from deconfound.design import FloatArray
from deconfound.value.cluster_df import least_favorable_correlations


def residual_matrix(weight: FloatArray) -> FloatArray:
    """From cluster sums to residuals divided by sqrt(1 - leverage)."""
    residuals = np.eye(len(weight)) - np.outer(weight, np.ones(len(weight)))
    return np.asarray(residuals / np.sqrt(1 - weight)[:, None])


def tail_probability(quantile: float, weight: FloatArray, variance: FloatArray) -> float:
    """P(|error| > quantile * standard error) for independent normal cluster sums."""
    matrix = residual_matrix(weight)
    form = np.ones((len(weight), len(weight))) - quantile**2 * matrix.T @ matrix
    root = np.sqrt(variance)
    *negative, positive = np.linalg.eigvalsh(root[:, None] * form * root)
    if positive <= 0:
        return 0.0
    ratio = np.maximum(-np.array(negative), 0.0) / positive
    return float(quad(lambda x: np.prod((1 + ratio / np.cos(x) ** 2) ** -0.5), 0, np.pi / 2)[0] * 2 / np.pi)


def cluster_variances(weight: FloatArray, square: FloatArray, correlation: float) -> FloatArray:
    """Variances of cluster sums with equally correlated rows."""
    return correlation * weight**2 + (1 - correlation) * square


def largest_quantile(weight: FloatArray, square: FloatArray, correlations: FloatArray | None = None) -> float:
    """Quantile at 95 % for the least favorable of several correlations, by default those of the package."""
    if correlations is None:
        correlations = least_favorable_correlations(weight.max(), square.sum())
    variances = [cluster_variances(weight, square, each) for each in correlations]
    return max(brentq(lambda c, t=t: tail_probability(c, weight, t) - 0.05, 0.5, 100.0) for t in variances)


def naive_df(weight: FloatArray, square: FloatArray) -> float:
    """Degrees of freedom of the t distribution with the same quantile, at most the number of clusters less one."""
    quantile, most = largest_quantile(weight, square), len(weight) - 1.0
    if -stdtrit(most, 0.025) >= quantile:
        return most
    return float(brentq(lambda df: -stdtrit(df, 0.025) - quantile, 0.3, most, xtol=1e-10))
