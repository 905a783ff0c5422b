"""Many comparisons at once: every pair of models, and every model with its best rival."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from deconfound.design import FloatArray
from deconfound.value.joint import DRAWS, MOST, errors, normal_equivalent, quantile, t_quantile


@dataclass(frozen=True, slots=True)
class Differences:
    """All differences centre_i - centre_j: how large, how uncertain, on how many degrees of freedom."""

    difference: FloatArray  # (k, k)
    error: FloatArray  # (k, k); zero on the diagonal, infinite where either model's is
    df: FloatArray  # (k, k)

    @property
    def z(self) -> FloatArray:
        """Normal quantile as unlikely as each observed difference; 0 where nothing is known of it."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = self.difference / self.error
        return normal_equivalent(np.where(np.isnan(t), 0.0, t), self.df)


def differences(centre: FloatArray, covariance: FloatArray, df: FloatArray) -> Differences:
    """Differences with the errors that shared luck leaves, and Welch's degrees of freedom."""
    variance = np.diag(covariance)
    known = np.isfinite(variance) & ~np.isnan(centre)
    mine = np.where(known, variance, 0.0)
    shared = np.where(np.outer(known, known), covariance, 0.0)
    squared = np.maximum(mine[:, None] + mine[None, :] - 2 * shared, 0.0)
    np.fill_diagonal(squared, 0.0)
    unknown = ~known[:, None] | ~known[None, :]
    np.fill_diagonal(unknown, False)
    error = np.sqrt(np.where(unknown, np.inf, squared))
    spent = mine**2 / df
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = (mine[:, None] + mine[None, :]) ** 2 / (spent[:, None] + spent[None, :])
    value = np.where(known, centre, 0.0)
    return Differences(value[:, None] - value[None, :], error, np.where(np.isnan(pooled), np.inf, pooled))


def _drawn_maxima(drawn: FloatArray, found: Differences, at: int, *, rivals_ahead: bool) -> FloatArray:
    """Largest standardised difference between model ``at`` and others, in draws without any true difference.

    One-sided against every other model, or two-sided against the later ones only, so that each pair counts once.
    """
    error = found.error[at]
    others = (error > 0) & ((np.arange(len(error)) > at) | rivals_ahead)
    if not others.any():
        return np.full(DRAWS, -np.inf if rivals_ahead else 0.0)
    apart = (drawn[others] - drawn[at]) / error[others, None]
    return np.asarray(apart.max(axis=0) if rivals_ahead else np.abs(apart).max(axis=0))


def _known(found: Differences) -> NDArray[np.bool_]:
    """Models that can be compared with any other."""
    apart = np.isfinite(found.error)
    return np.asarray(apart.sum(axis=0) > 1)


def _among(found: Differences, known: NDArray[np.bool_]) -> Differences:
    at = np.ix_(known, known)
    return Differences(found.difference[at], found.error[at], found.df[at])


def all_pairs(found: Differences, covariance: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Half-widths of simultaneous intervals and adjusted p-values (k, k) of all pairs: single-step max-t.

    An adjusted p-value is the chance that the largest |t| of any pair goes as far. It lies between the plain
    p-value and Bonferroni's, which takes over where the draws have nothing left to count.
    """
    known = _known(found)
    count = int(known.sum())
    pairs = max(count * (count - 1) // 2, 1)
    z = np.abs(found.z)
    plain = 2 * ndtr(-z)
    bonferroni = np.minimum(pairs * plain, 1.0)
    if count > MOST:
        critical, adjusted = float(-ndtri((1 - level) / 2 / pairs)), bonferroni
    else:
        part, drawn = _among(found, known), errors(covariance[np.ix_(known, known)])
        maxima = np.zeros(DRAWS)
        for at in range(count):
            np.maximum(maxima, _drawn_maxima(drawn, part, at, rivals_ahead=False), out=maxima)
        maxima.sort()
        critical = quantile(maxima, level)
        beyond = (DRAWS - np.searchsorted(maxima, z) + 1) / (DRAWS + 1)
        adjusted = np.clip(beyond, plain, bonferroni)
    with np.errstate(invalid="ignore"):
        half = t_quantile(critical, found.df) * found.error
    return half, np.where(found.error > 0, adjusted, (found.difference == 0).astype(np.float64))


def not_worse(found: Differences, covariance: FloatArray, level: float) -> NDArray[np.bool_]:
    """Models that no other is shown to beat, in a set that holds the best one with probability ``level``.

    Model a leaves the set if the largest t of (rival - a) exceeds the quantile of that maximum when all are equal.
    The best model has no better rival, so it leaves with probability 1 - level at most.
    """
    known = _known(found)
    kept = np.ones(len(known), dtype=np.bool_)
    if known.sum() < 2:
        return kept
    part, sub = _among(found, known), covariance[np.ix_(known, known)]
    lead = np.where(np.eye(len(sub), dtype=np.bool_), -np.inf, part.z.T).max(axis=1)
    # The quantile lies between that of one rival and Bonferroni's: only leads between the two need draws.
    least, most = float(ndtri(level)), float(-ndtri((1 - level) / (len(sub) - 1)))
    doubtful = (lead > least) & (lead <= most)
    critical = np.where(doubtful, most, least)
    if doubtful.any() and len(sub) <= MOST:
        drawn = errors(sub)
        for at in np.flatnonzero(doubtful).tolist():
            critical[at] = quantile(_drawn_maxima(drawn, part, at, rivals_ahead=True), level)
    # The front runner stays at any level: below one half the quantile of a maximum can be negative.
    kept[known] = (lead <= critical) | (lead <= 0)
    return kept
