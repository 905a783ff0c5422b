"""What a model's own experiment rows say of its error, when they may be very few.

Each model's mean residual comes from its own rows, with weights that sum to one. Its variance is estimated without the
usual downward bias of small samples, and then leans on the variance that all models share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deconfound.design import FloatArray, IntArray

MIN_ROWS_PER_MODEL = 2  # experiment rows a model needs before its own residuals say anything about its error
PRIOR_FREEDOM = 6.0  # rows' worth of trust in the shared variance; measured, see decision 0008
DISCOUNT = 0.5  # of that trust in the degrees of freedom: models' variances do differ, so it is only half earned
LOPSIDED = 1.1  # t quantiles are then as wide as Edgeworth's expansion asks at z = 2.2: between one value and eight
UNSEEN = 2.0  # rule of three: n equal outcomes leave 3.7 / n at level 95 %, which is about two normal quantiles
ROUNDING = 1e-12  # outcomes lie in [0, 1]; spreads below this are rounding


@dataclass(frozen=True, slots=True)
class Shares:
    """Weight of each row in its model's mean, and how many independent rows that leaves."""

    share: FloatArray  # (n, k), columns sum to one; zero where a model has no row
    code: IntArray  # (n,) cluster of each row, 0 to groups - 1
    groups: int
    held: FloatArray  # (groups, k) share of each cluster

    @classmethod
    def of(cls, model: IntArray, count: int, weight: FloatArray, cluster: IntArray | None) -> Self:
        """Shares of rows that weigh ``weight`` in the mean of their own model."""
        drawn = np.asarray(model)[:, None] == np.arange(count)
        heavy = drawn * weight[:, None]
        mass = heavy.sum(axis=0)
        share = np.divide(heavy, mass, out=np.zeros_like(heavy), where=mass > 0)
        rows = np.arange(len(share)) if cluster is None else np.unique(cluster, return_inverse=True)[1]
        groups = int(rows.max(initial=-1)) + 1
        return cls(share, rows, groups, summed(share, rows, groups))

    @property
    def blind(self) -> NDArray[np.bool_]:
        """Models with too few rows, or with all of them in one cluster (k,)."""
        few = (self.share > 0).sum(axis=0) < MIN_ROWS_PER_MODEL
        return np.asarray(few | ((self.held > 0).sum(axis=0) < 2))

    @property
    def size(self) -> FloatArray:
        """Sum of squared shares (k,): one over the effective number of rows."""
        return np.asarray((self.held**2).sum(axis=0))

    @property
    def df(self) -> FloatArray:
        """Degrees of freedom of each model's own variance (k,): effective clusters less one."""
        with np.errstate(invalid="ignore"):
            found = self.size**2 / (self.held**4).sum(axis=0) - 1
        return np.where(self.blind, 0.0, np.maximum(found, 0.0))

    def mean(self, numbers: FloatArray) -> FloatArray:
        """Mean of a column over each model's rows (k,); NaN without rows."""
        return np.where(self.share.sum(axis=0) > 0, self.share.T @ numbers, np.nan)

    def influence(self, numbers: FloatArray) -> FloatArray:
        """Each cluster's part (groups, k) in the error of ``mean``, whose squares sum to its variance.

        A mean draws every residual towards zero by its own share; dividing by sqrt(1 - share) undoes that exactly
        where rows weigh the same and residuals vary the same.
        """
        centred = numbers[:, None] - np.nan_to_num(self.mean(numbers))
        left = np.where(self.held < 1 - ROUNDING, 1 - self.held, 1.0)
        return summed(self.share * centred, self.code, self.groups) / np.sqrt(left)


@dataclass(frozen=True, slots=True)
class Moderated:
    """Influence values whose squares, with ``extra``, sum to variances that lean on the shared one."""

    influence: FloatArray  # (groups, k)
    extra: FloatArray  # (k,)
    df: FloatArray  # (k,)


def moderated(shares: Shares, influence: FloatArray, still: bool) -> Moderated:
    """Draw each model's variance towards the variance of a row that all models share.

        variance of a row = (prior * shared + freedom * own) / (prior + freedom)

    Five thumbs up then do not make a certainty of one. A variance above the shared one is lowered by scaling, one
    below is raised by an independent ``extra``; so the covariance stays one, whatever the clusters. The prior is at
    most what the other models know. ``still`` says that no model's outcomes vary: only the rule of three is left.
    """
    df, size = shares.df, np.where(shares.blind, 1.0, shares.size)
    own = (influence**2).sum(axis=0) / size
    total = df.sum()
    shared = float(df @ own / total) if total > 0 else 0.0
    prior = np.minimum(PRIOR_FREEDOM, total - df)
    known = np.maximum(prior + df, ROUNDING)
    wanted = (prior * shared + df * own) / known
    scale = np.sqrt(np.divide(wanted, own, out=np.ones_like(own), where=own > wanted))
    extra = np.maximum(wanted - own, 0.0) * size
    if still:
        extra = np.maximum(extra, (UNSEEN * size) ** 2)
    earned = np.maximum(lopsided(df, skewness(shares, influence), prior) + DISCOUNT * prior, 1.0)
    return Moderated(influence * scale, extra, np.where(shares.blind, np.inf, earned))


def skewness(shares: Shares, influence: FloatArray) -> FloatArray:
    """Squared skewness of each model's residuals (k,); 0 where they do not vary but for rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (influence**2).sum(axis=0) / shares.size
        third = (influence**3).sum(axis=0) / (shares.held**3).sum(axis=0)
        found = third**2 / variance**3
    return np.where(variance > ROUNDING, found, 0.0)


def lopsided(df: FloatArray, skew: FloatArray, prior: FloatArray) -> FloatArray:
    """Degrees of freedom (k,) at which a t interval holds although residuals are skewed.

        1 / found = 1 / freedom + own * LOPSIDED * skewness^2 / rows,      own = freedom / (freedom + prior)

    Nine good outcomes in ten leave a mean and a variance that fail together: whenever the tenth is missed, the mean is
    too high and its error looks small. By Edgeworth's expansion two-sided intervals at quantile z then hold less often
    by 2 phi(z) z skewness^2 (z^4 + 2 z^2 - 3) / 18 / rows; heavy tails without skewness cost nothing. ``own`` is the
    part of the variance that is the model's own and can fail so.
    """
    with np.errstate(divide="ignore"):
        own = df / np.maximum(df + prior, ROUNDING)
        found = 1 / (1 / df + own * LOPSIDED * skew / (df + 1))
    return np.where(df > 0, found, 0.0)


def summed(rows: FloatArray, code: IntArray, groups: int) -> FloatArray:
    """Sums of rows by cluster (groups, columns)."""
    total = np.zeros((groups, rows.shape[1]))
    if groups == len(rows):
        total[code] = rows
    else:
        np.add.at(total, code, rows)
    return total
