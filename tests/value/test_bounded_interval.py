"""Mid-p binomial intervals: against root finding with scipy's binomial, and coverage by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom

from deconfound.design import FloatArray
from deconfound.value.bounded_interval import mid_p_interval
from deconfound.value.multiple_comparisons import two_sided_z

Z95 = two_sided_z(0.95)


def interval(mean: float, rows: float, z: float = Z95) -> tuple[float, float]:
    low, high = mid_p_interval(np.array([mean]), np.array([1 / rows]), z)[0].tolist()
    return low, high


def all_intervals(rows: int, level: float = 0.95) -> FloatArray:
    """Intervals (rows + 1, 2) of every possible number of successes."""
    successes = np.arange(rows + 1)
    return mid_p_interval(successes / rows, np.full(rows + 1, 1 / rows), two_sided_z(level))


def naive_limit(successes: int, rows: int, tail: float) -> float:
    """The chance p with P(X < x) + P(X = x) / 2 = tail."""

    def excess(p: float) -> float:
        return float(binom.cdf(successes - 1, rows, p) + binom.pmf(successes, rows, p) / 2) - tail

    if excess(0.0) <= 0:
        return 0.0
    return 1.0 if excess(1.0) >= 0 else float(brentq(excess, 0.0, 1.0, xtol=1e-14))


@pytest.mark.parametrize("rows", [1, 2, 5, 20, 133])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_whole_numbers_of_rows_agree_with_the_binomial_distribution(rows: int, level: float) -> None:
    tail = (1 - level) / 2
    expected = [[naive_limit(x, rows, 1 - tail), naive_limit(x, rows, tail)] for x in range(rows + 1)]
    np.testing.assert_allclose(all_intervals(rows, level), expected, atol=1e-10)


def test_without_a_failure_the_limit_has_a_closed_form() -> None:
    """P(X = n) / 2 = p^n / 2 = 0.025, so the lower limit is 0.05^(1 / n), also for n that is not whole."""
    for rows in (1.0, 2.5, 20.0, 1000.0):
        assert interval(1.0, rows) == (pytest.approx(0.05 ** (1 / rows), abs=1e-9), 1.0)
        assert interval(0.0, rows) == (0.0, pytest.approx(1 - 0.05 ** (1 / rows), abs=1e-9))


@settings(max_examples=80, deadline=None)
@given(mean=st.floats(0, 1), rows=st.floats(0.2, 5000), level=st.sampled_from([0.5, 0.9, 0.95, 0.9999]))
def test_exchanging_success_and_failure_mirrors_the_interval(mean: float, rows: float, level: float) -> None:
    low, high = interval(mean, rows, two_sided_z(level))
    mirrored = interval(1 - mean, rows, two_sided_z(level))
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)
    assert 0.0 <= low < high <= 1.0
    assert low - 1e-9 <= mean <= high + 1e-9


@pytest.mark.parametrize("rows", [0.4, 3.0, 17.5, 400.0])
def test_limits_increase_with_the_mean_and_approach_it_with_the_number_of_rows(rows: float) -> None:
    mean = np.linspace(0, 1, 101)
    limits = mid_p_interval(mean, np.full(101, 1 / rows), Z95)
    assert (np.diff(limits, axis=0) >= -1e-12).all()
    more = mid_p_interval(mean, np.full(101, 0.5 / rows), Z95)
    assert (np.ptp(more, axis=1) < np.ptp(limits, axis=1)).all()


def test_intervals_nest_in_their_level() -> None:
    for rows in (5, 20):
        inner, outer = all_intervals(rows, 0.8), all_intervals(rows, 0.95)
        assert (outer[:, 0] <= inner[:, 0]).all()
        assert (outer[:, 1] >= inner[:, 1]).all()


@pytest.mark.parametrize("mean", [0.1, 0.5, 0.8])
def test_with_many_rows_the_interval_is_normal(mean: float) -> None:
    """The difference from mean ± z se is of order 1 / n; with 10^6 rows about 2e-6, against an se of 4e-4."""
    for rows in (1e4, 1e6):
        half_width = Z95 * np.sqrt(mean * (1 - mean) / rows)
        assert interval(mean, rows) == pytest.approx((mean - half_width, mean + half_width), abs=3 / rows)


def test_the_longer_side_points_to_one_half() -> None:
    low, high = interval(0.9, 20)
    assert 0.9 - low > 2 * (high - 0.9)
    low, high = interval(0.5, 20)
    assert 0.5 - low == pytest.approx(high - 0.5)


def test_means_outside_the_unit_interval_and_exact_means_have_limits() -> None:
    assert interval(1.3, 20) == interval(1.0, 20)
    assert interval(-0.1, 20) == interval(0.0, 20)
    exact = mid_p_interval(np.array([0.0, 0.3, 1.0]), np.zeros(3), Z95)
    np.testing.assert_allclose(exact, [[0, 0], [0.3, 0.3], [1, 1]], atol=1e-12)


def exact_coverage(rows: int, chance: FloatArray) -> FloatArray:
    """Probability that the interval covers each chance, summed over all outcomes: no simulation."""
    limits, probability = all_intervals(rows), binom.pmf(np.arange(rows + 1), rows, chance[:, None])
    covers = (limits[:, 0] <= chance[:, None]) & (chance[:, None] <= limits[:, 1])
    return np.asarray((probability * covers).sum(axis=1))


@pytest.mark.parametrize(("rows", "min_coverage"), [(5, 0.9313), (20, 0.9293), (50, 0.9248)])
def test_exact_coverage_is_never_far_below_the_level(rows: int, min_coverage: float) -> None:
    """Coverage is smallest just outside a limit, where one outcome stops to cover: those points are in the grid.

    The bounds are the exact minima, rounded down. On average over chances, coverage exceeds the level.
    """
    limits = all_intervals(rows).ravel()
    grid = np.linspace(0.001, 0.999, 999)
    edges = np.concatenate([limits - 1e-9, limits + 1e-9])
    coverage = exact_coverage(rows, np.concatenate([grid, edges[(edges > 0) & (edges < 1)]]))
    assert min_coverage <= coverage.min() < min_coverage + 2e-4
    assert exact_coverage(rows, grid).mean() > 0.95
