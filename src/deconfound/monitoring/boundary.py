"""How many standard errors a statement needs at a look, if it may be made at every look: Robbins' normal mixture.

A standardized error that is observed again and again is a Brownian motion at an operational time t. For any mixture of
normal effects, the likelihood ratio against no effect is a martingale, which exceeds 1 / p with probability at most p,
ever (Ville). Solved for the error, this is a boundary that no look crosses with more than that probability:

    two-sided   z(v) = sqrt( (1 + 1/v) log((1 + v) / p^2) )                       Robbins (1970)
    one-sided   z(v) = sqrt( 2 (1 + 1/v) log(1 + sqrt(1 + v) / (2 p)) )           Howard et al. (2021)

v is t in units of the mixture's inverse variance. That unit has to be fixed in advance, but may be anything: it decides
where the boundary is lowest. Waudby-Smith et al. (2024) prove that estimated variances may be used and outcomes need
not be normal, asymptotically as for ordinary intervals. t is measured in rows, as a share of the horizon: exact where
every row adds the same variance, and nearly so otherwise, since the boundary is flat (decision 0021).
"""

from __future__ import annotations

import math

from scipy.special import lambertw

LOWEST_AT = 0.25  # of the horizon: z is then within 4 % of its minimum from a tenth of the horizon to all of it
MIN_SHARE = 1e-9  # of the horizon; before the first row no bound is finite


def two_sided_z(error_rate: float, share: float) -> float:
    """Standard errors between an estimate and either end of an interval that is valid at every look.

    ``error_rate`` is the probability that any look's interval misses; ``share`` is the part of the horizon that has
    been observed, possibly more than one.
    """
    v = _mixture_time(error_rate, share)
    return math.sqrt((1 + 1 / v) * (math.log1p(v) - 2 * math.log(error_rate)))


def one_sided_z(error_rate: float, share: float) -> float:
    """Standard errors between an estimate and a bound, on one side, that is valid at every look."""
    v = _mixture_time(2 * error_rate, share)  # one side of an interval that errs on both
    return math.sqrt(2 * (1 + 1 / v) * math.log1p(math.sqrt(1 + v) / (2 * error_rate)))


def _mixture_time(error_rate: float, share: float) -> float:
    return lowest_time(error_rate) * max(share, MIN_SHARE) / LOWEST_AT


def lowest_time(error_rate: float) -> float:
    """The v at which the two-sided boundary is lowest: v = log((1 + v) / p^2), by Lambert's function."""
    return float(-lambertw(-(error_rate**2) / math.e, -1).real) - 1
