"""Degrees of freedom of clustered means against full matrices, simulation, and what is known exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import stdtrit

from deconfound.design import FloatArray
from deconfound.value.cluster_df import MANY_DF, MAX_CLASSES, MIN_DF, _Classes, least_favorable_correlations, mean_df
from tests.support.t_ratio import cluster_variances, largest_quantile, naive_df, residual_matrix

SIZES = {
    "one user has 28 of 100 rows": [28, *[1] * 72],
    "one user has most rows": [60, *[1] * 40],
    "two users have most rows": [40, 40, *[1] * 20],
    "five large users": [*[15] * 5, *[1] * 25],
    "sizes by a power law": [20, 10, 7, 5, 4, 3, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1],
    "three users": [20, 20, 60],
    "two users": [40, 60],
    "one of 200 users has 28 % of the rows": [78, *[1] * 199],
}


def shares(sizes: list[int]) -> tuple[FloatArray, FloatArray]:
    """Weights of clusters of equally weighted rows, and the sums of squares of their rows' weights."""
    rows = np.array(sizes, dtype=np.float64)
    return rows / rows.sum(), rows / rows.sum() ** 2


def one_df(weight: FloatArray, square: FloatArray) -> float:
    return float(mean_df(weight[:, None], square[:, None])[0])


@pytest.mark.parametrize("kind", SIZES)
def test_the_quantile_is_that_of_the_full_matrix(kind):
    weight, square = shares(SIZES[kind])
    df = one_df(weight, square)
    assert df == pytest.approx(naive_df(weight, square), rel=1e-4)


def test_means_solved_together_are_those_solved_alone():
    every = [shares(sizes) for sizes in SIZES.values()]
    longest = max(len(weight) for weight, _ in every)
    weight, square = (
        np.stack([np.pad(each[at], (0, longest - len(each[at]))) for each in every], axis=1) for at in (0, 1)
    )
    np.testing.assert_allclose(mean_df(weight, square), [one_df(*each) for each in every], rtol=1e-6)


@pytest.mark.parametrize("clusters", [2, 3, 10, 200])
def test_equal_clusters_have_one_degree_of_freedom_less_than_their_number(clusters):
    weight, square = shares([3] * clusters)
    assert one_df(weight, square) == clusters - 1
    tilt = 1 + 1e-5 * np.linspace(-1, 1, clusters)  # almost equal: solved, not recognized
    assert one_df(weight * tilt / tilt.mean() / weight.sum(), square) == pytest.approx(clusters - 1, rel=1e-3)


@pytest.mark.parametrize("kind", SIZES)
def test_no_other_correlation_needs_a_much_larger_quantile(kind):
    weight, square = shares(SIZES[kind])
    every = np.geomspace(1e-3, 1.0, 10)
    assert largest_quantile(weight, square, every) < 1.02 * largest_quantile(weight, square)


@pytest.mark.parametrize("heavy", [1, 3])
def test_one_heavy_user_among_very_many(heavy):
    """Equal clusters are counted together, so their number costs nothing; the limit is that of known other rows."""
    users = 100_000
    sizes = [users * 0.4 / heavy] * heavy + [1] * users
    few = shares([120 / heavy] * heavy + [1] * 300)
    assert one_df(*shares(sizes)) == pytest.approx(naive_df(*few), rel=0.05)


def test_many_different_clusters_are_merged():
    rng = np.random.default_rng(5)
    repeats = rng.integers(1, 4, 2 * MAX_CLASSES)  # clusters that are equal
    size, share = np.repeat(
        [rng.exponential(size=len(repeats)) + 0.01, rng.uniform(0.2, 1, len(repeats))], repeats, axis=1
    )
    weight = np.append(size, size.sum()) / (2 * size.sum())
    square = weight**2 * np.append(share, 0.5)
    merged = _Classes.from_clusters(weight, square)
    assert merged.clusters == len(weight) > len(merged.count)
    assert merged.count @ merged.weight == pytest.approx(1.0)
    assert merged.count @ merged.square == pytest.approx(square.sum())
    quantile, naive = (stdtrit(df(weight, square), 0.025) for df in (one_df, naive_df))
    assert quantile == pytest.approx(naive, rel=1e-4)


def test_rows_with_unequal_weights_have_no_correlation():
    weight = np.random.default_rng(0).exponential(size=12)
    weight /= weight.sum()
    assert one_df(weight, weight**2) == pytest.approx(naive_df(weight, weight**2), rel=1e-4)


@pytest.mark.parametrize("kind", ["one user has 28 of 100 rows", "sizes by a power law", "five large users"])
@pytest.mark.parametrize("correlation", [0.0, 0.05, 0.5, 1.0])
def test_intervals_cover_for_every_correlation(kind, correlation):
    """20,000 simulated means: 5 % of misses have a standard error of 0.15 points, and four of them are allowed."""
    weight, square = shares(SIZES[kind])
    scale = np.sqrt(cluster_variances(weight, square, correlation))
    sums = np.random.default_rng(1).standard_normal((20_000, len(weight))) * scale
    variance = ((sums @ residual_matrix(weight).T) ** 2).sum(axis=1)
    quantile = -stdtrit(one_df(weight, square), 0.025)
    missed = float((np.abs(sums.sum(axis=1)) > quantile * np.sqrt(variance)).mean())
    assert missed < 0.05 + 4 * 0.0015


@pytest.mark.parametrize("kind", ["one user has 28 of 100 rows", "sizes by a power law", "five large users"])
def test_the_quantile_is_not_larger_than_the_least_favorable_correlation_requires(kind):
    weight, square = shares(SIZES[kind])
    missed = []
    for correlation in least_favorable_correlations(weight.max(), square.sum()):
        scale = np.sqrt(cluster_variances(weight, square, correlation))
        sums = np.random.default_rng(2).standard_normal((20_000, len(weight))) * scale
        variance = ((sums @ residual_matrix(weight).T) ** 2).sum(axis=1)
        quantile = -stdtrit(one_df(weight, square), 0.025)
        missed.append(float((np.abs(sums.sum(axis=1)) > quantile * np.sqrt(variance)).mean()))
    assert max(missed) > 0.05 - 4 * 0.0015


@pytest.mark.parametrize("kind", SIZES)
def test_satterthwaites_formula_is_that_of_the_full_matrix(kind):
    weight, square = shares(SIZES[kind])
    expected = []
    for correlation in least_favorable_correlations(weight.max(), square.sum()):
        root = residual_matrix(weight) * np.sqrt(cluster_variances(weight, square, correlation))
        covariance = root @ root.T
        expected.append(np.trace(covariance) ** 2 / (covariance**2).sum())
    assert _Classes.from_clusters(weight, square).satterthwaite_df() == pytest.approx(min(expected))


def test_many_clusters_have_nearly_the_same_quantile_by_satterthwaite():
    """At the threshold from which it is used, it is at most 1 % larger than the exact one."""
    weight, square = shares([*range(1, 9)] * 9)
    approximate = _Classes.from_clusters(weight, square).satterthwaite_df()
    assert MANY_DF < approximate < 1.5 * MANY_DF
    assert one_df(weight, square) == approximate
    quantile = -stdtrit(approximate, 0.025)
    assert largest_quantile(weight, square) <= quantile <= 1.01 * largest_quantile(weight, square)


def test_fewer_than_two_clusters_have_none():
    assert mean_df(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.1, 0.0], [0.0, 0.0]])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("share", [0.99, 0.9999, 1 - 1e-9])
def test_a_cluster_with_nearly_all_of_the_weight_leaves_the_least(share):
    weight = np.append(share, np.full(5, (1 - share) / 5))
    assert one_df(weight, weight**2 / 2) == MIN_DF
