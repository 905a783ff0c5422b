"""The proxy map of a long log, from sums over its rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray
from deconfound.features.blocks import CONSTANT_RTOL
from deconfound.features.featurizer import Featurizer
from deconfound.features.log_statistics import LogStatistics
from deconfound.features.proxy import PROXY_SURFACE_SHARE, constant_label_finding, principal_map
from deconfound.linalg.log_sums import LogSums


def with_proxy_of_sums(
    featurizer: Featurizer, statistics: LogStatistics, labels: tuple[str, ...], centers: FloatArray
) -> Featurizer:
    """The same map as ``Featurizer.with_proxy_of_rows``, for labels that every row has.

    The sums are those of labels minus their ``centers`` (labels,).
    """
    sums = statistics.total()
    mean, square = _label_moments(sums)
    sd = np.sqrt(np.maximum(square - mean**2, 0.0))
    # The standard deviation is the root of a difference of sums, whose rounding is that of the squares.
    varies = (sd**2 > CONSTANT_RTOL * square) & (sd > CONSTANT_RTOL * np.abs(centers + mean))
    constant = tuple(constant_label_finding(name) for name, used in zip(labels, varies, strict=True) if not used)
    featurizer = replace(featurizer, findings=(*featurizer.findings, *constant))
    if not varies.any():
        return featurizer
    scale = proxy_phi_scale(featurizer)
    gram, width = sums.gram(), len(scale)
    weight, average = sums.rows, scale * gram[:width, width] / sums.rows
    covariance = scale[:, None] * gram[:width, :width] / weight * scale - np.outer(average, average)
    targets = width + 2 + np.flatnonzero(varies)  # after the column of ones and the outcome
    cross = scale[:, None] * gram[:width, targets] / weight - np.outer(average, mean[varies])
    system = covariance.copy()
    system[np.diag_indices_from(system)] += featurizer.spec.label_penalty / weight
    coef = linalg.solve(system, cross / sd[varies], assume_a="pos", check_finite=False)
    proxy = principal_map(coef, average @ coef, coef.T @ covariance @ coef, featurizer.spec.components)
    return replace(featurizer, proxy=proxy)


def proxy_phi_scale(featurizer: Featurizer) -> FloatArray:
    """Weight of each summed column, text and standardized dense ones, in the phi that labels are predicted from."""
    text = np.ones(featurizer.layout.buckets)
    if featurizer.scaling is None:
        return text
    share = PROXY_SURFACE_SHARE if len(text) else 1.0
    return np.concatenate([np.sqrt(1.0 - share) * text, np.sqrt(2.0 * share) * featurizer.scaling.weight])


def _label_moments(sums: LogSums) -> tuple[FloatArray, FloatArray]:
    """Mean and mean square of each label, minus its center."""
    first = sums.layout.dense + 2
    mean = sums.shared[sums.layout.dense, first:] / sums.rows
    return mean, np.diag(sums.shared)[first:] / sums.rows
