"""Degrees of freedom of means over clusters of uneven size, by the exact distribution of their t ratio.

A few heavy users or contexts decide both the error of a mean and its estimated variance. The two are then far from
independent, so formulas that compare them as if they were (Satterthwaite's) give a fraction of the true degrees of
freedom: 0.2 in place of 9 where one user has 28 of 100 rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtri, stdtridf

from deconfound.design import FloatArray

EXCESSES = np.array(
    [1.0, 4.0, np.inf]
)  # see ``least_favorable_correlations``; others need quantiles 2 % larger at most
LEVEL = 0.95  # at which the quantiles agree; at 99 % the t distribution is the wider one, at 80 % the narrower one
MANY_DF = 40.0  # by Satterthwaite; above it the t quantile is within 2 % of the normal one, however it is computed
MAX_WEIGHT = 0.98  # of one cluster; with more of it, nothing shows the variance
MIN_DF = 0.5
MAX_QUANTILE = 1e3  # beyond that of MIN_DF
WEIGHT_DIGITS = 14  # weights that agree so far, relative to the largest one, are equal
MAX_CLASSES = 200  # of distinct clusters; with more of them, similar ones are counted as equal
MERGED_RATIO = 0.05  # between the weights of such clusters; it changes quantiles by less than 1e-4
TINY = float(np.finfo(np.float64).tiny)
STEPS, INTEGRATION_POINTS = 11, 10  # quantiles are then exact to 1e-5
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(INTEGRATION_POINTS)
_COS_SQUARED = np.cos((_NODES + 1) * np.pi / 4) ** 2


def mean_df(weight: FloatArray, square: FloatArray) -> FloatArray:
    """Degrees of freedom (k,) of k weighted means, from ``weight`` and ``square`` (clusters, k), summed over rows.

        error = sum_g s_g,     variance = sum_g (s_g - w_g error)^2 / (1 - w_g),     s_g ~ N(0, t_g) independent
        t_g = r w_g^2 + (1 - r) square_g

    ``weight`` is w_g, the weights of the rows of cluster g, which sum to one over clusters. ``square`` is the sum of
    their squares. The quantile of |error| / sqrt(variance) at 95 % is that of the t distribution with these degrees of
    freedom, for the correlation r between rows of one cluster that makes it largest. With equal clusters it is exact:
    their number less one, which is also the limit. Zero for a mean with fewer than two clusters.
    """
    means = [_Classes.from_clusters(*columns) for columns in zip(weight.T, square.T, strict=True)]
    limit = np.array([max(one.clusters - 1.0, 0.0) for one in means])
    df = np.array([one.approximate_df() for one in means])
    uneven = [at for at, one in enumerate(means) if one.is_uneven and df[at] < MANY_DF]
    if uneven:
        df[uneven] = _exact_df([means[at] for at in uneven])
    return np.asarray(np.minimum(df, limit))


def least_favorable_correlations(largest_weight: float, squares: float) -> FloatArray:
    """Correlations of which one needs nearly the largest quantile, for a sum of ``squares`` over all clusters.

    One heavy cluster matters most if its own variance is one to five times that of everything else, several heavy ones
    if there is nothing else.
    """
    return np.asarray(np.minimum(EXCESSES * squares / largest_weight**2, 1.0))


@dataclass(frozen=True, slots=True)
class _Classes:
    """The clusters of one mean, equal ones counted together."""

    weight: FloatArray  # (m,)
    square: FloatArray  # (m,)
    count: FloatArray  # (m,)

    @classmethod
    def from_clusters(cls, weight: FloatArray, square: FloatArray) -> Self:
        present = weight > 0
        weight, square = weight[present], square[present]
        largest = weight.max(initial=0.0)
        if not largest > 0:
            return cls(weight, square, weight)
        rounded = np.round(weight / largest, WEIGHT_DIGITS) + 1j * np.round(square / largest**2, WEIGHT_DIGITS)
        distinct, count = np.unique(rounded, return_counts=True)
        found = cls(distinct.real * largest, distinct.imag * largest**2, count.astype(np.float64))
        return found if len(count) <= MAX_CLASSES else found.merged()

    def merged(self) -> Self:
        """With similar clusters as equal ones; their number, sums of weights and sums of squares stay."""
        steps = [np.round(np.log(np.maximum(each, TINY)) / MERGED_RATIO) for each in (self.weight, self.square)]
        _, at = np.unique(steps[0] + 1j * steps[1], return_inverse=True)
        count = np.bincount(at, self.count).astype(np.float64)
        weight, square = (np.bincount(at, self.count * each) / count for each in (self.weight, self.square))
        return type(self)(weight, square, count)

    @property
    def clusters(self) -> int:
        return int(self.count.sum())

    @property
    def is_uneven(self) -> bool:
        """Whether the clusters differ, and none has nearly all of the weight."""
        return len(self.count) > 1 and self.weight.max() <= MAX_WEIGHT

    def approximate_df(self) -> float:
        """By Satterthwaite; exact for equal clusters."""
        if self.is_uneven:
            return self.satterthwaite_df()
        return MIN_DF if len(self.count) > 1 else max(self.clusters - 1.0, 0.0)

    def variances(self) -> FloatArray:
        """t of each class, for each correlation (correlations, m)."""
        rate = least_favorable_correlations(self.weight.max(), float(self.count @ self.square))[:, None]
        return np.asarray(rate * self.weight**2 + (1 - rate) * self.square)

    def satterthwaite_df(self) -> float:
        """trace(R)^2 / trace(R^2) for the covariance R of the cluster's residuals, smallest over correlations.

        R = D (diag(t) - w t' - t w' + sum(t) w w') D,      D = diag(1 - w)^-1/2
        """
        t, count = self.variances(), self.count
        scale = 1 / (1 - self.weight)
        total = (count * t).sum(axis=1, keepdims=True)
        own = scale * (t - 2 * self.weight * t + total * self.weight**2)  # the diagonal of R
        low_rank = own - scale * t
        ww, wt, tt = (
            (count * scale * product).sum(axis=1) for product in (self.weight**2 + 0 * t, self.weight * t, t**2)
        )
        squares = (count * ((scale * t) ** 2 + 2 * scale * t * low_rank)).sum(axis=1)
        squares = squares + 2 * ww * tt + 2 * wt**2 - 4 * total[:, 0] * ww * wt + (total[:, 0] * ww) ** 2
        return float(((count * own).sum(axis=1) ** 2 / squares).min())


def _exact_df(means: list[_Classes]) -> FloatArray:
    """Degrees of freedom of each mean (p,), all solved together."""
    tail = (1 - LEVEL) / 2
    quantile = _TRatio.from_classes(means).quantile().reshape(len(means), -1).max(axis=1)
    is_wider = quantile > -ndtri(tail)
    df = stdtridf(tail, np.where(is_wider, -quantile, -MAX_QUANTILE))
    return np.where(is_wider, np.maximum(df, MIN_DF), np.inf)


@dataclass(frozen=True, slots=True)
class _TRatio:
    """|error| / sqrt(variance) for p problems with up to m classes of clusters; missing classes have count zero."""

    leverage: FloatArray  # (p, m) w / (1 - w)
    spread: FloatArray  # (p, m) 1 / (1 - w)
    variance: FloatArray  # (p, m) t, which sum to one over clusters
    count: FloatArray  # (p, m)
    squared_leverage: FloatArray  # (p,) sum of w^2 / (1 - w)

    @classmethod
    def from_classes(cls, means: list[_Classes]) -> Self:
        """One problem per mean and correlation."""
        width = max(len(one.count) for one in means)
        columns = np.zeros((3, len(means), len(EXCESSES), width))
        for at, one in enumerate(means):
            for column, values in zip(columns, (one.weight, one.count, one.variances()), strict=True):
                column[at, :, : len(one.count)] = values
        weight, count, variance = columns.reshape(3, -1, width)
        variance = variance / (count * variance).sum(axis=1, keepdims=True)
        spread = 1 / (1 - weight)
        return cls(weight * spread, spread, variance, count, (count * weight**2 * spread).sum(axis=1))

    def quantile(self) -> FloatArray:
        """Values (p,) that are exceeded with probability 1 - ``LEVEL``, or some below the normal one if these are."""
        target, every = np.log(1 - LEVEL), np.ones(len(self.count))
        low, high = -2 * np.log(MAX_QUANTILE) * every, -2 * np.log(-ndtri((1 - LEVEL) / 2)) * every

        def shortfall(log_root: FloatArray) -> FloatArray:
            return np.asarray(target - np.log(np.maximum(self.quantile_and_tail(log_root)[1], TINY)))

        log_root = _decreasing_root(shortfall, low, high, STEPS)
        return self.quantile_and_tail(log_root)[0]

    def quantile_and_tail(self, log_root: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A value c (p,) and P(|error| > c sqrt(variance)), by one parameter that decreases with c.

        With the error e'z and its variance z'Bz in standard normal z, that is the probability of a positive quadratic
        form z'(ee' - c^2 B)z. It has one positive eigenvalue l and others -l_i:

            P(l Z^2 > sum_i l_i Z_i^2) = 2 / pi * integral over 0 < x < pi / 2 of prod_i (1 + l_i / (l cos(x)^2))^-1/2

        The parameter is the logarithm of l / c^2, because then c^2 = e'(B + l / c^2)^-1 e needs no search.
        """
        own = self.spread * self.variance
        point = np.exp(log_root)[:, None] * np.append(1.0, _COS_SQUARED)
        determinant, inverse = self._determinant(point, own)
        squared = (inverse / determinant)[:, :1]
        diagonal = (self.count[:, None] * np.log1p(own[:, None] / point[:, 1:, None])).sum(axis=2)
        others = (inverse / squared - determinant)[:, 1:] / (1 / _COS_SQUARED - 1)
        log_product = diagonal + np.log(np.maximum(others, TINY))
        return np.sqrt(squared[:, 0]), (np.exp(-0.5 * log_product) * (_NODE_WEIGHTS / 2)).sum(axis=1)

    def _determinant(self, point: FloatArray, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """det(M^-1 (B + point)) for points (p, x), and that times e'(B + point)^-1 e.

        B + point = M + U K U',    M = diag(t / (1 - w) + point),    U = sqrt(t) [1, w / (1 - w)],
        K = [[sum of w^2 / (1 - w), -1], [-1, 0]];    s11, s12 and s22 are the elements of U'M^-1 U
        """
        share = self.count[:, None] * self.variance[:, None] / (point[:, :, None] + own[:, None])
        by_leverage = share * self.leverage[:, None]
        s11, s12, s22 = share.sum(axis=2), by_leverage.sum(axis=2), (by_leverage * self.leverage[:, None]).sum(axis=2)
        k11 = self.squared_leverage[:, None]
        return np.asarray((1 + k11 * s11 - s12) * (1 - s12) + s11 * (k11 * s12 - s22)), np.asarray(s11)


def _decreasing_root(
    function: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray, steps: int
) -> FloatArray:
    """Where a decreasing function of each of p numbers is zero, inside brackets (p,); an end without a change of sign.

    False position by the Illinois rule: an end that stays gets half of its value.
    """
    at_low, at_high = function(low), function(high)
    root = np.where(at_low <= 0, low, high)
    has_root = (at_low > 0) & (at_high < 0)
    side = np.zeros(len(low))
    for _ in range(steps):
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = (low * at_high - high * at_low) / (at_high - at_low)
        middle = np.where(has_root & np.isfinite(middle), middle, root)
        value = function(middle)
        above = value > 0
        at_high = np.where(above & (side > 0), at_high / 2, at_high)
        at_low = np.where(~above & (side < 0), at_low / 2, at_low)
        low, at_low = np.where(above, middle, low), np.where(above, value, at_low)
        high, at_high = np.where(above, high, middle), np.where(above, at_high, value)
        side = np.where(above, 1.0, -1.0)
        root = np.where(has_root, middle, root)
    return root
