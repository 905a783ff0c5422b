"""Intervals, contrasts, ranking and table of ``Values``, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from deconfound.errors import UsageError
from deconfound.value import Values, direct
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


def test_an_interval_center_moves_intervals_and_contrasts_but_not_the_ranking() -> None:
    center = np.array([0.2, 0.5, 0.4])
    values = Values(MODELS, np.array([0.6, 0.5, 0.2]), 0.01 * np.eye(3), "by hand", interval_center=center)
    assert values.ranking() == ("ant", "bee", "cat")
    np.testing.assert_allclose(values.interval(0.5).mean(axis=1), center)
    assert values.contrast("ant", "bee").difference == pytest.approx(-0.3)


def test_a_ranking_follows_the_estimates_and_leaves_ties_in_order() -> None:
    assert Values(MODELS, np.array([0.2, 0.9, 0.2]), np.eye(3), "by hand").ranking() == ("bee", "ant", "cat")


def test_an_unknown_model_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match='"dog"'):
        direct(MODELS, unrelated_experiment().q).contrast("ant", "dog")
