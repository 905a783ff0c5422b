"""Direct values with the reward's bias in their errors: formulas, limits, and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from deconfound.design import FloatArray
from deconfound.errors import UsageError
from deconfound.value import Values, with_reward_bias
from deconfound.value.reward_bias import MIN_DF

MODELS = tuple("abcdefgh")
COUNT = len(MODELS)


def values(estimate: FloatArray, variance: float | FloatArray, df: float | None = None) -> Values:
    dfs = None if df is None else np.full(len(estimate), df)
    return Values(MODELS[: len(estimate)], estimate, np.diag(variance * np.ones(len(estimate))), "by hand", dfs)


def test_the_bias_variance_is_the_expected_positive_part_of_a_normal_estimate():
    """Against the integral of a normal density above zero, and degrees of freedom by hand."""
    direct, unbiased = np.linspace(0.4, 0.6, 5), np.array([0.5, 0.41, 0.46, 0.6, 0.52])
    biased = with_reward_bias(values(direct, 0.001, 30.0), values(unbiased, 0.002))
    mean = np.mean((direct - unbiased) ** 2) - 0.002
    error = np.sqrt(2 / 5) * (0.002 + max(mean, 0.0))
    variance = quad(lambda v: v * norm.pdf(v, mean, error), 0, mean + 12 * error)[0]
    np.testing.assert_allclose(np.diag(biased.covariance), 0.001 + variance, rtol=1e-6)
    bias_df = 2 * (variance / error) ** 2 + MIN_DF
    expected_df = (0.001 + variance) ** 2 / (0.001**2 / 30 + variance**2 / bias_df)
    np.testing.assert_allclose(biased.df, expected_df, rtol=1e-6)
    np.testing.assert_array_equal(biased.estimate, direct)
    assert biased.method == "by hand, reward bias included"


def test_the_sampling_variance_of_a_gap_comes_from_resampled_gaps():
    """If gaps vary half as much as unbiased values, a larger part of the observed gaps is bias."""
    rng = np.random.default_rng(0)
    direct, unbiased = values(np.full(8, 0.5), 0.0), values(0.5 + 0.1 * rng.standard_normal(8), 0.01)
    gaps = np.sqrt(0.5 * 0.01) * rng.standard_normal((4000, 8))
    half = values(unbiased.estimate, 0.005)
    resampled, exact, default = (with_reward_bias(direct, *given) for given in ((unbiased, gaps), (half,), (unbiased,)))
    np.testing.assert_allclose(resampled.standard_error, exact.standard_error, rtol=0.02)
    assert (resampled.standard_error > default.standard_error).all()


def test_models_missing_from_resamples_do_not_enter_the_sampling_variance():
    gaps = np.random.default_rng(1).normal(0, 0.1, (20, 8))
    gaps[:, 3] = np.nan
    gaps[:19, 4] = np.nan
    like_the_others = gaps.copy()
    others = np.delete(gaps, [3, 4], axis=1)
    typical = np.sqrt(others.var(axis=0, ddof=1).mean())
    like_the_others[:, [3, 4]] = typical * (others[:, :2] / others[:, :2].std(axis=0, ddof=1))
    missing, complete = (
        with_reward_bias(values(np.full(8, 0.5), 0.0), values(np.full(8, 0.55), 0.01), each)
        for each in (gaps, like_the_others)
    )
    np.testing.assert_allclose(missing.standard_error, complete.standard_error)


def test_models_without_unbiased_values_get_the_bias_of_the_others():
    variance = np.full(8, 0.001)
    variance[2] = np.inf
    biased = with_reward_bias(values(np.full(8, 0.5), 0.002), values(np.full(8, 0.7), variance))
    assert biased.standard_error[2] == pytest.approx(biased.standard_error[0])
    assert biased.standard_error[0] > 0.19
    inestimable = with_reward_bias(values(np.full(8, 0.5), 0.002), values(np.full(8, np.nan), np.inf))
    assert inestimable.interval().tolist() == [[0.0, 1.0]] * 8


def test_without_sampling_noise_the_gap_is_all_bias():
    biased = with_reward_bias(values(np.array([0.5, 0.6]), 0.0), values(np.array([0.6, 0.5]), 0.0))
    assert (biased.standard_error > 0.1).all()  # two gaps are consistent with a larger bias
    assert (biased.standard_error < 0.11).all()
    same = with_reward_bias(values(np.array([0.5, 0.6]), 0.0), values(np.array([0.5, 0.6]), 0.0))
    np.testing.assert_array_equal(same.standard_error, 0.0)


def test_constant_gaps_do_not_mean_zero_sampling_variance():
    """With constant outcomes every resample gives the same gap, which shows nothing about its error."""
    exact, noisy = values(np.full(8, 0.5), 0.0), values(np.full(8, 0.5), 0.01)
    constant = with_reward_bias(exact, noisy, np.zeros((20, 8)))
    np.testing.assert_array_equal(constant.standard_error, with_reward_bias(exact, noisy).standard_error)
    assert (constant.standard_error > 0).all()


def test_a_single_resample_is_refused():
    with pytest.raises(UsageError, match="at least 2 bootstrap_gaps"):
        with_reward_bias(values(np.full(8, 0.5), 0.0), values(np.full(8, 0.5), 0.01), np.zeros((1, 8)))


@pytest.mark.parametrize("bias", [0.0, 0.5, 2.0])
def test_intervals_cover_whatever_the_bias(bias):
    """A thousand studies with a bias in units of the standard error of the unbiased values.

    The eight intervals of a study depend on one estimated bias. Even if all eight were right or wrong together, the
    standard error of the coverage would be 0.007; the bound is three of those below 95 %.
    """
    rng = np.random.default_rng([7, int(10 * bias)])
    coverage, coverage_without = [], []
    for _ in range(1000):
        truth, off = np.full(COUNT, 0.5), 0.05 * bias * rng.standard_normal(COUNT)
        direct = values(truth + off + 0.02 * rng.standard_normal(COUNT), 0.02**2)
        unbiased = values(truth + 0.05 * rng.standard_normal(COUNT), 0.05**2)
        for estimated, shares in ((with_reward_bias(direct, unbiased), coverage), (direct, coverage_without)):
            low, high = estimated.interval().T
            shares.append(((low <= truth) & (truth <= high)).mean())
    assert np.mean(coverage) > 0.93
    if bias:
        assert np.mean(coverage_without) < 0.85
