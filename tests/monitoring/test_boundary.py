"""The boundary against a naive mixture, and against Brownian motion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from deconfound.monitoring.boundary import LOWEST_AT, lowest_time, one_sided_z, two_sided_z


def mixture(z: float, v: float, *, both_sides: bool) -> float:
    """Likelihood ratio of a normal mixture of drifts against no drift, for a path at z standard deviations.

    The path W(v) has the drift theta ~ N(0, 1), or |N(0, 1)|: the ratio is E exp(theta W - theta^2 v / 2).
    """
    path = z * math.sqrt(v)

    def weighted(theta: float) -> float:
        return math.exp(theta * path - theta**2 * v / 2 - theta**2 / 2) / math.sqrt(2 * math.pi)

    peak = path / (1 + v)
    ends = (-40.0 if both_sides else 0.0, 40.0)
    return (1 if both_sides else 2) * quad(weighted, *ends, points=[peak], limit=200)[0]


@pytest.mark.parametrize("error_rate", [0.05, 0.01])
@pytest.mark.parametrize("share", [0.02, 0.25, 1.0, 3.0])
def test_the_boundary_is_where_a_naive_mixture_reaches_one_over_the_error_rate(error_rate, share):
    v = lowest_time(error_rate) * share / LOWEST_AT
    naive = brentq(lambda z: mixture(z, v, both_sides=True) - 1 / error_rate, 0.1, 20)
    assert two_sided_z(error_rate, share) == pytest.approx(naive, rel=1e-6)


@pytest.mark.parametrize("share", [0.02, 0.25, 1.0, 3.0])
def test_the_one_sided_boundary_is_slightly_above_its_mixture(share):
    """The closed form bounds the mixture over positive drifts from above (Howard et al.), by less than a tenth."""
    v = lowest_time(0.04) * share / LOWEST_AT
    naive = brentq(lambda z: mixture(z, v, both_sides=False) - 1 / 0.02, 0.1, 20)
    assert naive <= one_sided_z(0.02, share) <= 1.1 * naive


def test_the_boundary_is_lowest_early_and_flat_to_the_horizon():
    shares = np.linspace(0.01, 2, 400)
    z = [two_sided_z(0.05, share) for share in shares]
    assert shares[int(np.argmin(z))] == pytest.approx(LOWEST_AT, abs=0.006)
    assert max(two_sided_z(0.05, share) for share in np.linspace(0.1, 1, 91)) < 1.04 * min(z)


def test_brownian_motion_stays_inside():
    """2,000 paths, observed 200 times from 2 % of the horizon to twice the horizon.

    The boundary is crossed by at most 5 % of paths, ever. More than 6.3 % of 2,000 would be three standard errors
    (0.5 points) above; 1.96 standard errors at each look are crossed by most paths.
    """
    rng = np.random.default_rng(1)
    shares = np.linspace(0.02, 2, 200)
    steps = rng.normal(size=(2_000, 200)) * np.sqrt(np.diff(shares, prepend=0.0))
    standardized = np.abs(steps.cumsum(axis=1)) / np.sqrt(shares)
    limits = np.array([two_sided_z(0.05, share) for share in shares])
    assert (standardized > limits).any(axis=1).mean() < 0.063
    assert (standardized > 1.96).any(axis=1).mean() > 0.3
    one_sided = np.array([one_sided_z(0.05, share) for share in shares])
    assert (steps.cumsum(axis=1) / np.sqrt(shares) > one_sided).any(axis=1).mean() < 0.063


def test_before_the_first_row_the_boundary_is_finite():
    assert math.isfinite(two_sided_z(0.05, 0.0))
