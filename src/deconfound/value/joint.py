"""How far the luckiest of several errors strays: quantiles that many statements share.

Errors are followed jointly as normal, and each keeps its own t law: a statement with normal quantile z is made at the
t quantile of the same probability. With unrelated errors that is exact for any mixture of degrees of freedom, and a
model with few rows does not widen the intervals of the others.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.linalg import one_blas_thread

DRAWS = 20_000  # a tail of 5 % is then known to 0.15 points; 20 models take a few milliseconds
SEED = 20_240_229  # every quantile is drawn from the same numbers, so equal inputs give equal intervals
MOST = 100  # models followed jointly; beyond that the bounds of Sidak and Bonferroni, which need no draws


def check_level(level: float) -> None:
    """Refuse a level that is no probability, such as 95."""
    if not 0.0 < level < 1.0:
        raise UsageError(f"level must lie strictly between 0 and 1, not {level!r}.")


def t_quantile(z: float, df: FloatArray) -> FloatArray:
    """Quantile of each t law at the probability that a normal quantile z stands for."""
    finite = np.isfinite(df)
    found = np.full(np.shape(df), z, dtype=np.float64)
    # From the lower tail: the upper one rounds to a probability of one long before the lower one reaches zero.
    found[finite] = -np.sign(z) * stdtrit(df[finite], ndtr(-abs(z)))
    return found


def normal_equivalent(t: FloatArray, df: FloatArray) -> FloatArray:
    """Normal quantile with the probability of each t statistic; the way back from ``t_quantile``."""
    t, df = np.broadcast_arrays(np.asarray(t, dtype=np.float64), df)
    found, finite = t.copy(), np.isfinite(df)
    tail = stdtr(df[finite], -np.abs(t[finite]))
    found[finite] = -np.sign(t[finite]) * ndtri(tail)
    return found


def two_sided(level: float) -> float:
    """Normal quantile of a single interval."""
    return float(ndtri(0.5 + level / 2))


def simultaneous(covariance: FloatArray, level: float) -> float:
    """Normal quantile that all |errors| together stay below with probability ``level``.

    More than ``MOST`` models get Sidak's bound, which holds for normal errors of any correlation.
    """
    count = len(covariance)
    if count < 2:
        return two_sided(level)
    if count > MOST:
        return two_sided(level ** (1.0 / count))
    return quantile(np.abs(errors(covariance) / np.sqrt(np.diag(covariance))[:, None]).max(axis=0), level)


def quantile(maxima: FloatArray, level: float) -> float:
    """Empirical quantile, rounded to the safe side."""
    return float(np.quantile(maxima, level, method="higher"))


def errors(covariance: FloatArray) -> FloatArray:
    """Draws (k, DRAWS) of normal errors with a covariance that may be singular."""
    with one_blas_thread():
        spread, axes = np.linalg.eigh(covariance)
        root = axes * np.sqrt(np.maximum(spread, 0.0))
        return np.asarray(root @ _normal(len(covariance)))


@lru_cache(maxsize=4)
def _normal(count: int) -> FloatArray:
    draws = np.random.default_rng(SEED).standard_normal((count, DRAWS))
    draws.setflags(write=False)
    return draws
