"""Direct values whose errors know of the reward's bias, as far as randomized outcomes show it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.value.estimators import table, welch
from deconfound.value.small_sample import ROUNDING
from deconfound.value.values import Values

LEAST_FREEDOM = 2.0  # behind a bias of which nothing is known but that its square is positive; see decision 0008
FEWEST_GAPS = 2


def with_reward_bias(direct: Values, unbiased: Values, gaps: FloatArray | None = None) -> Values:
    """The same estimates with a bias in their errors: of the same typical size for all models, learned from them all.

        gap_a = direct_a - unbiased_a,      E gap_a^2 = bias^2 + luck_a

    Refits tell how far a reward moves with the experiment, not that it is wrong in every one of them: shrunken, or
    learned from a confounded log, or blind to what only the model's name tells. ``gaps`` (R, k) are those of resampled
    experiments; their variance, as a share of that of the unbiased values, is the luck in a gap. None takes that for
    the whole of it, which is too much where both rest on the same contexts. Models whose unbiased value is unknown have
    the bias of the others; where none is known, nothing is said of any.
    """
    gap, own = direct.estimate - unbiased.middle, np.diag(direct.covariance)
    seen = np.isfinite(gap) & np.isfinite(np.diag(unbiased.covariance))
    method = f"{direct.method}, bias counted"
    if not seen.any():
        return replace(direct, covariance=np.diag(np.full(len(gap), np.inf)), method=method)
    luck = np.diag(unbiased.covariance)[seen]
    if gaps is not None:
        luck = luck * _share(table(direct.models, gaps, "gaps")[:, seen], luck)
    bias = _Bias.of(gap[seen] ** 2, luck)
    df = welch(own, direct.df_or_inf, np.full(len(gap), bias.square), bias.df)
    return replace(direct, covariance=direct.covariance + bias.square * np.eye(len(gap)), df=df, method=method)


def _share(gaps: FloatArray, luck: FloatArray) -> float:
    """Variance of resampled gaps over that of the unbiased values, all models together: a model alone has too few."""
    if len(gaps) < FEWEST_GAPS:
        raise UsageError("doubted needs at least two resampled gaps to see how far they move; give more, or none.")
    drawn = np.isfinite(gaps).sum(axis=0) >= FEWEST_GAPS  # a resample may leave a model out
    moved = float(np.nanvar(gaps[:, drawn], axis=0, ddof=1).sum())
    # Gaps that never move, as those of constant outcomes do, say nothing of the luck in them.
    return moved / float(luck[drawn].sum()) if min(moved, luck[drawn].sum()) > ROUNDING else 1.0


@dataclass(frozen=True, slots=True)
class _Bias:
    """Mean square of a bias, and how well it is known."""

    square: float
    df: float

    @classmethod
    def of(cls, squares: FloatArray, luck: FloatArray) -> _Bias:
        """From squared gaps, each the square of a normal number.

        Their mean less the luck says little if there are few, and may be negative. What counts is the mean of its
        positive part, given how far it may be off: middle * Phi(z) + spread * phi(z) with z = middle / spread.
        """
        middle = float((squares - luck).mean())
        spread = float(np.sqrt(2.0 * ((luck + max(middle, 0.0)) ** 2).sum())) / len(luck)
        if spread == 0.0:
            return cls(max(middle, 0.0), np.inf)
        z = middle / spread
        square = float(middle * ndtr(z) + spread * np.exp(-z * z / 2) / np.sqrt(2 * np.pi))
        return cls(square, 2.0 * (square / spread) ** 2 + LEAST_FREEDOM)
