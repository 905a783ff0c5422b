"""Intervals, contrasts, ranking and table of ``Values``, computed by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

from deconfound.errors import UsageError
from deconfound.value import Values, direct
from deconfound.value.bounded_interval import mid_p_interval
from tests.support.experiments import MODELS, unrelated_experiment


def test_a_contrast_takes_its_error_from_the_covariance() -> None:
    covariance = np.array([[0.04, 0.03, 0.0], [0.03, 0.05, 0.0], [0.0, 0.0, 0.01]])
    values = Values(MODELS, np.array([0.6, 0.5, 0.2]), covariance, "by hand")
    contrast = values.contrast("ant", "bee", level=0.9)
    assert (contrast.model, contrast.reference) == ("ant", "bee")
    assert contrast.difference == pytest.approx(0.1)
    assert contrast.standard_error == pytest.approx(np.sqrt(0.04 + 0.05 - 0.06))
    half = norm.ppf(0.95) * contrast.standard_error
    assert (contrast.low, contrast.high) == pytest.approx((0.1 - half, 0.1 + half))
    assert contrast.p_value == pytest.approx(2 * norm.sf(0.1 / contrast.standard_error))
    assert not contrast.significant
    reverse = values.contrast("bee", "ant", level=0.9)
    assert (reverse.low, reverse.high) == pytest.approx((-contrast.high, -contrast.low))


def test_common_noise_cancels_in_a_contrast_although_the_intervals_overlap() -> None:
    noise = np.random.default_rng(0).uniform(0, 0.8, 50)
    values = direct(("ant", "bee"), np.column_stack([noise + 0.02, noise + 0.01 * np.sin(np.arange(50))]))
    low, high = values.interval()[0, 0], values.interval()[1, 1]
    assert low < high
    assert values.contrast("ant", "bee").significant


def test_a_model_does_not_differ_from_itself() -> None:
    contrast = direct(MODELS, unrelated_experiment().q).contrast("bee", "bee")
    assert (contrast.difference, contrast.standard_error, contrast.p_value) == (0.0, 0.0, 1.0)
    assert not contrast.significant


def test_intervals_stay_inside_the_unit_interval_and_grow_with_their_level() -> None:
    values = Values(MODELS, np.array([1.02, 0.5, -0.3]), np.diag([0.01, 0.01, 0.01]), "by hand")
    interval = values.interval(0.95)
    assert interval.min() >= 0
    assert interval.max() <= 1
    np.testing.assert_allclose(interval[1], [0.5 - 1.959964 * 0.1, 0.5 + 1.959964 * 0.1], atol=1e-6)
    assert np.ptp(values.interval(0.99)[1]) > np.ptp(values.interval(0.5)[1])
    for wrong in (0.0, 1.0, 95.0):
        with pytest.raises(UsageError, match="level"):
            values.interval(wrong)


def test_the_table_has_one_row_per_model_with_clipped_estimates() -> None:
    values = Values(MODELS, np.array([0.5, 1.02, -0.3]), np.diag([0.01, 0.04, 0.01]), "by hand")
    table = values.table()
    assert [row["model"] for row in table] == ["bee", "ant", "cat"]
    assert [row["estimate"] for row in table] == [1.0, 0.5, 0.0]
    assert [row["standard_error"] for row in table] == pytest.approx([0.2, 0.1, 0.1])
    assert [[row["low"], row["high"]] for row in table] == values.interval()[[1, 0, 2]].tolist()


def moved_estimates(estimate: list[float], center: list[float], error: float = 0.1) -> Values:
    """Point estimates that differ from the unbiased ones, as after shrinkage."""
    covariance = error**2 * np.eye(3)
    return Values(MODELS, np.array(estimate), covariance, "by hand", interval_center=np.array(center))


def test_intervals_are_those_of_the_center_extended_to_the_estimate() -> None:
    values = moved_estimates([0.6, 0.5, 0.2], [0.2, 0.5, 0.4])
    half = norm.ppf(0.75) * 0.1
    expected = [[0.2 - half, 0.6], [0.5 - half, 0.5 + half], [0.2, 0.4 + half]]
    np.testing.assert_allclose(values.interval(0.5), expected)
    np.testing.assert_allclose(values.half_width(0.5), np.ptp(expected, axis=1) / 2)
    assert values.ranking() == ("ant", "bee", "cat")


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), level=st.sampled_from([0.5, 0.95, 0.9999]))
@example(seed=477, level=0.9999)
def test_every_interval_contains_its_estimate_and_every_contrast_its_difference(seed: int, level: float) -> None:
    """With any center, any variance and with asymmetric intervals; estimates outside [0, 1] are clipped."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3, 3)) * 0.1
    values = Values(
        MODELS,
        rng.uniform(-0.1, 1.1, 3),
        root @ root.T,
        "by hand",
        df=rng.uniform(1, 50, 3),
        binomial_variance=rng.uniform(0.01, 0.25, 3) if seed % 2 else None,
        interval_center=rng.uniform(-0.1, 1.1, 3),
    )
    for simultaneous in (False, True):
        interval, estimate = values.interval(level, simultaneous), np.clip(values.estimate, 0, 1)
        assert ((interval[:, 0] <= estimate) & (estimate <= interval[:, 1])).all()
        assert ((interval >= 0) & (interval <= 1)).all()
    for c in values.contrasts(level):
        assert c.difference >= 0
        assert c.low <= np.clip(c.difference, -1, 1) <= c.high
        assert c.significant == (c.p_value < 1 - level)
        assert not c.high < 0
    assert values.ranking()[0] in values.best_set(level)


def test_contrasts_are_ordered_by_the_estimate_and_inconclusive_where_the_center_disagrees() -> None:
    values = moved_estimates([0.6, 0.5, 0.2], [0.4, 0.5, 0.1], error=0.02)
    contrasts = {(c.model, c.reference): c for c in values.contrasts()}
    assert list(contrasts) == [("ant", "bee"), ("ant", "cat"), ("bee", "cat")]
    against = contrasts["ant", "bee"]
    assert against.difference == pytest.approx(0.1)
    assert against.high == pytest.approx(0.1)  # the unbiased interval ends below zero
    assert against.low == pytest.approx(-0.1 - 3.31 / np.sqrt(2) * 0.02 * np.sqrt(2), abs=0.002)  # Tukey's quantile
    assert (against.p_value, against.significant) == (1.0, False)
    assert contrasts["ant", "cat"].significant
    assert contrasts["ant", "cat"].p_value < 1e-10
    single = values.contrast("bee", "ant")
    assert single.difference == pytest.approx(-0.1)
    assert (single.p_value, single.low) == (1.0, pytest.approx(-0.1))


def test_equal_estimates_with_different_centers_are_inconclusive() -> None:
    contrast = moved_estimates([0.5, 0.5, 0.2], [0.9, 0.1, 0.2], error=0.02).contrast("ant", "bee")
    assert (contrast.difference, contrast.low, contrast.p_value) == (0.0, 0.0, 1.0)
    assert not contrast.significant


def test_the_first_model_of_the_ranking_is_in_the_best_set_even_if_its_unbiased_value_is_low() -> None:
    values = moved_estimates([0.6, 0.5, 0.2], [0.4, 0.5, 0.1], error=0.01)
    assert values.best_set() == ("ant", "bee")
    without_center = Values(MODELS, values.center, values.covariance, "by hand")
    assert without_center.best_set() == ("bee",)


def test_a_binomial_variance_makes_intervals_asymmetric() -> None:
    """Twenty yes/no rows at 0.9: variance 0.09 / 20, the mid-p interval of 18 out of 20."""
    variance = np.array([0.09, 0.25, 0.16])
    values = Values(MODELS, np.array([0.9, 0.5, 0.2]), np.diag(variance / 20), "by hand", binomial_variance=variance)
    expected = mid_p_interval(values.estimate, np.full(3, 1 / 20), norm.ppf(0.975))
    np.testing.assert_allclose(values.interval(), expected, atol=1e-9)
    low, high = values.interval()[0]
    assert 0.9 - low > 2 * (high - 0.9)
    few = replace(values, df=np.full(3, 5.0))
    ratio = t.ppf(0.975, 5) / norm.ppf(0.975)
    fewer = mid_p_interval(values.estimate, np.full(3, ratio**2 / 20), norm.ppf(0.975))
    np.testing.assert_allclose(few.interval(), fewer, atol=1e-9)


def test_an_interval_is_at_most_that_of_yes_no_rows() -> None:
    """One model varies as yes/no rows, one less, and one more: the t quantile counts up to that limit."""
    variance, relative = np.array([0.09, 0.25, 0.16]), np.array([1.0, 0.5, 1.5])
    values = Values(
        MODELS,
        np.array([0.9, 0.5, 0.2]),
        np.diag(relative * variance / 20),
        "by hand",
        df=np.full(3, 10.0),
        binomial_variance=variance,
        independent_rows=np.full(3, 20.0),
    )
    inflation = (t.ppf(0.975, 10) / norm.ppf(0.975)) ** 2
    expected = mid_p_interval(values.estimate, np.array([1.0, 0.5 * inflation, 1.5]) / 20, norm.ppf(0.975))
    np.testing.assert_allclose(values.interval(), expected, atol=1e-9)


def test_error_covariance_is_that_of_the_posterior_where_there_is_one() -> None:
    values = moved_estimates([0.6, 0.5, 0.2], [0.4, 0.5, 0.1])
    assert values.error_covariance is values.covariance
    posterior = replace(values, posterior_covariance=0.001 * np.eye(3))
    np.testing.assert_array_equal(posterior.error_covariance, 0.001 * np.eye(3))
    np.testing.assert_array_equal(posterior.interval(), values.interval())


def test_a_ranking_follows_the_estimates_and_leaves_ties_in_order() -> None:
    assert Values(MODELS, np.array([0.2, 0.9, 0.2]), np.eye(3), "by hand").ranking() == ("bee", "ant", "cat")


def test_an_unknown_model_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match='"dog"'):
        direct(MODELS, unrelated_experiment().q).contrast("ant", "dog")


def test_values_net_of_cost_shift_with_their_intervals_and_are_bounded_by_the_cost() -> None:
    """A known cost adds no uncertainty: everything but the bounds is shifted."""
    cost = np.array([0.3, 0.0, -0.1])
    gross = Values(
        MODELS,
        np.array([0.9, 0.5, 0.02]),
        0.01 * np.eye(3),
        "by hand",
        binomial_variance=np.array([0.09, 0.25, 0.0196]),
        interval_center=np.array([0.95, 0.5, 0.05]),
    )
    net = gross.net_of(cost)
    np.testing.assert_allclose(net.estimate, gross.estimate - cost)
    np.testing.assert_allclose(net.center, gross.center - cost)
    for simultaneous in (False, True):
        shifted = gross.interval(0.95, simultaneous) - cost[:, None]
        np.testing.assert_allclose(net.interval(0.95, simultaneous), shifted)
    assert net.ranking() == ("ant", "bee", "cat")
    assert [row["estimate"] for row in net.table()] == pytest.approx([0.6, 0.5, 0.12])
    np.testing.assert_allclose(net.before_cost.estimate, gross.estimate)
    assert net.before_cost.cost is None
    np.testing.assert_allclose(net.net_of(cost).cost, 2 * cost)


def test_net_values_outside_the_outcomes_scale_are_not_clipped_to_it() -> None:
    net = Values(MODELS, np.array([0.1, 0.9, 1.3]), 0.01 * np.eye(3), "by hand").net_of(np.array([0.5, 0.0, 0.2]))
    interval = net.interval()
    assert interval[0] == pytest.approx([-0.5, 0.1 + 1.96 * 0.1 - 0.5], abs=1e-4)
    assert interval[2] == pytest.approx([0.8, 0.8])
    assert {row["model"]: row["estimate"] for row in net.table()} == pytest.approx(
        {"ant": -0.4, "bee": 0.9, "cat": 0.8}
    )


def test_contrasts_and_the_best_set_are_net_of_cost() -> None:
    gross = Values(MODELS, np.array([0.9, 0.6, 0.1]), np.diag([1e-4, 1e-4, np.inf]), "by hand")
    net = gross.net_of(np.array([0.5, 0.0, 0.2]))
    contrast = net.contrast("bee", "ant")
    assert contrast.difference == pytest.approx(0.2)
    assert contrast.significant
    assert (gross.best_set(), net.best_set()) == (("ant", "cat"), ("bee", "cat"))
    unknown = net.contrast("cat", "ant")  # a difference of outcomes is between -1 and 1
    assert (unknown.low, unknown.high) == pytest.approx((-0.7, 1.3))
    assert next((each.model, each.reference) for each in net.contrasts()) == ("bee", "ant")


@pytest.mark.parametrize("wrong", [np.zeros(2), np.array([0.1, np.nan, 0.0])])
def test_a_cost_is_one_finite_number_per_model(wrong) -> None:
    values = Values(MODELS, np.array([0.9, 0.6, 0.1]), 0.01 * np.eye(3), "by hand")
    with pytest.raises(UsageError, match="cost"):
        values.net_of(wrong)
