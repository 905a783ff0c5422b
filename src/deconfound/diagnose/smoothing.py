"""Can these features predict this target? Leave-one-out ridge in closed form, against resamples of the target.

With H = Z (Z'Z + penalty I)^-1 Z' and h its diagonal, the prediction of row i from all other rows is
((H r)_i - h_i r_i) / (1 - h_i): linear in the target r, so that a thousand resampled targets are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from deconfound.design import FloatArray, IntArray
from deconfound.diagnose.verdicts import DRAWS

CHUNK = 2_000_000  # numbers of resampled targets held at once
TIE = 1e-9  # below it two agreements differ by rounding only

Resample = Callable[[np.random.Generator, int], FloatArray]
"""Gives so many targets (k, draws, n) that are as likely as the observed one if nothing is to be predicted."""


@dataclass(frozen=True, slots=True)
class Smoother:
    """The leave-one-out ridge of one feature matrix, for any target."""

    features: FloatArray  # (n, m), centred
    divided: FloatArray  # (n, m), each row over 1 - h
    inverse: FloatArray  # (m, m)
    own: FloatArray  # (n,), h / (1 - h): what a row would say about itself

    @classmethod
    def of(cls, features: FloatArray, penalty: float) -> Smoother:
        """Factor once; the intercept is left to centred targets."""
        centred = features - features.mean(axis=0)
        inverse = linalg.inv(centred.T @ centred + penalty * np.eye(centred.shape[1]))
        h = np.einsum("im,mk,ik->i", centred, inverse, centred, optimize=True)
        return cls(centred, centred / (1.0 - h)[:, None], inverse, h / (1.0 - h))

    def predict(self, target: FloatArray) -> FloatArray:
        """Each row of the target (n, k) from all the others."""
        return self.divided @ (self.inverse @ (self.features.T @ target)) - self.own[:, None] * target

    def agreement(self, targets: FloatArray) -> FloatArray:
        """Sum over rows and columns of target times prediction, for each of several targets (k, draws, n)."""
        flat = targets.reshape(-1, targets.shape[-1])
        together = ((flat @ self.divided) * (flat @ self.features @ self.inverse)).sum(axis=1) - flat**2 @ self.own
        return np.asarray(together.reshape(targets.shape[:2]).sum(axis=0))


def p_value(
    smoothers: Sequence[Smoother],
    target: FloatArray,
    resample: Resample,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> float:
    """Share of targets that can be predicted as well as the observed one (n, k), which counts as one of them.

    Of several smoothers the one counts that sees most, each agreement measured in standard deviations over all the
    targets: observed and resampled are treated alike, which keeps the test exact.
    """
    found = [np.array([s.agreement(target.T[:, None]) for s in smoothers])]
    left, size = draws, max(1, CHUNK // target.size)
    while left:
        targets = resample(rng, min(left, size))
        found.append(np.stack([s.agreement(targets) for s in smoothers]))
        left -= targets.shape[1]
    together = np.hstack(found)
    spread = together.std(axis=1, keepdims=True)
    # Where nothing varies, nothing can be predicted: rounding must not decide.
    flat = spread <= TIE * (target**2).sum()
    most = np.where(flat, 0.0, (together - together.mean(axis=1, keepdims=True)) / np.where(flat, 1.0, spread)).max(0)
    return float((most >= most[0] - TIE).mean())


def resampled_sums(
    weight: FloatArray, target: FloatArray, resample: Resample, rng: np.random.Generator, draws: int = DRAWS
) -> FloatArray:
    """Sum of weight (n,) times target (n, 1) for each of so many resampled targets."""
    size = max(1, CHUNK // target.size)
    counts = [size] * (draws // size) + [draws % size] * (draws % size > 0)
    return np.concatenate([resample(rng, count)[0] @ weight for count in counts])


def permuting(target: FloatArray, strata: IntArray) -> Resample:
    """Exchange rows of the target (n, k) within strata: exact where those rows are exchangeable."""
    groups = [np.flatnonzero(strata == each) for each in np.unique(strata)]

    def resample(rng: np.random.Generator, count: int) -> FloatArray:
        index = np.empty((count, len(strata)), dtype=np.int64)
        for rows in groups:
            index[:, rows] = rng.permuted(np.tile(rows, (count, 1)), axis=1)
        return np.take(target.T, index, axis=1)

    return resample


def flipping(target: FloatArray, cluster: IntArray) -> Resample:
    """Flip the sign of whole clusters: right for many clusters whose targets have mean zero, whatever their spread."""
    _, code = np.unique(cluster, return_inverse=True)
    size = int(code.max()) + 1

    def resample(rng: np.random.Generator, count: int) -> FloatArray:
        signs = 1.0 - 2.0 * rng.integers(0, 2, (count, size))
        return np.asarray(target.T[:, None, :] * signs[:, code])

    return resample


def exchanging(target: FloatArray, strata: IntArray, cluster: IntArray) -> Resample:
    """Exchange rows where each is a cluster of its own; flip whole clusters where rows share their luck.

    A target that is centred in its strata has lost some of its spread, which flips have to be given back.
    """
    if len(np.unique(cluster)) == len(cluster):
        return permuting(target, strata)
    left = max(len(target) - len(np.unique(strata)), 1)
    return flipping(target * np.sqrt(len(target) / left), cluster)


def within(values: FloatArray, strata: IntArray) -> FloatArray:
    """Columns (n, m) less their mean in each stratum."""
    _, code = np.unique(strata, return_inverse=True)
    count = np.bincount(code)
    means = np.column_stack([np.bincount(code, weights=column) / count for column in values.T])
    return np.asarray(values - means[code])
