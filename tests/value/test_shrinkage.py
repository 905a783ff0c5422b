"""Shrinkage toward a biased source: safe whatever the bias, better where it is small."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import shrinkage
from deconfound.errors import UsageError
from deconfound.value import Values, shrink_toward
from deconfound.value.shrinkage import MAX_SHIFT_SE, PRIOR_LOG_ODDS

MODELS = tuple("abcdefgh")
STUDIES = 150


def unbiased(seed: int = 0, k: int = 8) -> Values:
    rng = np.random.default_rng(seed)
    return Values(MODELS[:k], 0.5 + 0.05 * rng.normal(size=k), 0.05**2 * np.eye(k), "by hand")


def test_equal_errors_follow_james_and_stein() -> None:
    """k = 8: the full step is 6 / Q of the gap, the other 5 / R of the gap less its mean."""
    values = unbiased()
    target = 0.5 + 0.1 * np.random.default_rng(1).normal(size=8)
    gap = (target - values.estimate) / 0.05
    centered = gap - gap.mean()
    q, r = max((gap**2).sum(), 6.0), max((centered**2).sum(), 5.0)
    full, shifted = np.exp(-3 * np.log(q / 6) + PRIOR_LOG_ODDS), np.exp(-2.5 * np.log(r / 5))
    step = (full * 6 / q * gap + shifted * 5 / r * centered) / (full + shifted)
    expected = values.estimate + 0.05 * np.clip(step, -MAX_SHIFT_SE, MAX_SHIFT_SE)
    shrunk = shrink_toward(values, target)
    np.testing.assert_allclose(shrunk.estimate, expected)
    moved = np.linalg.norm(shrunk.estimate - values.estimate)
    assert shrunk.shrinkage_fraction == pytest.approx(moved / np.linalg.norm(0.05 * gap))


def test_intervals_contrasts_and_the_best_set_do_not_change() -> None:
    values = unbiased()
    shrunk = shrink_toward(values, values.estimate[::-1])
    assert np.abs(shrunk.estimate - values.estimate).max() > 0.01
    np.testing.assert_array_equal(shrunk.interval(), values.interval())
    np.testing.assert_array_equal(shrunk.interval(simultaneous=True), values.interval(simultaneous=True))
    assert shrunk.contrasts() == values.contrasts()
    assert set(shrunk.best_set()) == set(values.best_set())
    again = shrink_toward(shrunk, values.estimate[::-1])
    np.testing.assert_array_equal(again.estimate, shrunk.estimate)


@pytest.mark.parametrize("seed", range(5))
def test_every_estimate_stays_within_a_standard_error_and_its_interval(seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(8, 8)) * 0.03
    values = Values(MODELS, rng.random(8), root @ root.T, "by hand", np.full(8, 6.0))
    shrunk = shrink_toward(values, np.clip(values.estimate + rng.normal(size=8) * values.standard_error, 0, 1))
    assert (np.abs(shrunk.estimate - values.estimate) <= MAX_SHIFT_SE * values.standard_error + 1e-12).all()
    assert shrunk.shrinkage_fraction is not None
    assert 0 <= shrunk.shrinkage_fraction <= 1
    inside = np.clip(shrunk.estimate, 0, 1)
    assert (shrunk.interval()[:, 0] <= inside).all()
    assert (shrunk.interval()[:, 1] >= inside).all()


def test_a_single_badly_biased_model_moves_by_a_limited_amount() -> None:
    """A gap of three standard errors in one model of eight: James-Stein alone would move it by two of them."""
    values = unbiased()
    target = values.estimate + np.append(0.15, np.zeros(7))
    shrunk = shrink_toward(values, target)
    assert shrunk.estimate[0] - values.estimate[0] == pytest.approx(MAX_SHIFT_SE * 0.05)


@pytest.mark.parametrize("k", [1, 2])
def test_one_or_two_models_do_not_move(k: int) -> None:
    shrunk = shrink_toward(unbiased(k=k), np.full(k, 0.45))
    np.testing.assert_array_equal(shrunk.estimate, unbiased(k=k).estimate)
    assert shrunk.shrinkage_fraction == 0


def test_a_missing_value_is_taken_from_the_target_and_its_interval_stays_open() -> None:
    values = unbiased()
    covariance, estimate = values.covariance.copy(), values.estimate.copy()
    covariance[7, 7], estimate[7] = np.inf, np.nan
    target = np.append(values.estimate[:7] + 0.01, 0.7)
    shrunk = shrink_toward(Values(MODELS, estimate, covariance, "by hand"), target)
    assert shrunk.estimate[7] == 0.7
    assert shrunk.interval()[7].tolist() == [0.0, 1.0]
    seven = shrink_toward(Values(MODELS[:7], estimate[:7], covariance[:7, :7], "by hand"), target[:7])
    np.testing.assert_allclose(shrunk.estimate[:7], seven.estimate)
    without_target = shrink_toward(values, np.append(target[:7], np.nan))
    assert without_target.estimate[7] == values.estimate[7]


def test_exact_values_do_not_move_and_an_equal_target_moves_nothing() -> None:
    exact = Values(MODELS, np.linspace(0.2, 0.8, 8), np.zeros((8, 8)), "by hand")
    np.testing.assert_array_equal(shrink_toward(exact, np.full(8, 0.5)).estimate, exact.estimate)
    same = shrink_toward(unbiased(), unbiased().estimate)
    np.testing.assert_array_equal(same.estimate, unbiased().estimate)
    assert same.shrinkage_fraction == 0


def test_an_imprecise_target_moves_at_most_its_share_of_the_precision() -> None:
    values = unbiased()
    target = values.estimate + 0.01
    imprecise = shrink_toward(values, target, 3 * values.covariance)
    assert imprecise.shrinkage_fraction is not None
    assert imprecise.shrinkage_fraction <= 0.25 + 1e-12
    assert shrink_toward(values, target).shrinkage_fraction > imprecise.shrinkage_fraction


def test_targets_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(UsageError, match="target must"):
        shrink_toward(unbiased(), np.ones(3))
    with pytest.raises(UsageError, match="target_covariance"):
        shrink_toward(unbiased(), np.ones(8), np.eye(3))


@pytest.mark.parametrize("pattern", shrinkage.PATTERNS)
@pytest.mark.parametrize("rows", [shrinkage.NORMAL_ERRORS, 5])
def test_shrinkage_is_never_much_worse_than_the_experiment_alone(rows: int, pattern: str) -> None:
    """RMSE ratio at most 1.05 at any bias, at most 0.75 at none.

    Both errors come from the same draws. With a shrinkage fraction s the ratio varies between studies by about s times
    sqrt(1 / (2 * 8)) = 0.25. Over 150 studies its standard error is 0.02 at bias 0 (s near one) and below 0.01 at a
    bias of two or more (s below one third). The true ratios are near 0.5 to 0.7 and 1.0, four standard errors away.
    """
    cell = shrinkage.Cell(rows, pattern)
    for size in (0, 2, 4) if rows == shrinkage.NORMAL_ERRORS else (0, 2):
        ratio = shrinkage.rmse_ratio(cell, size, STUDIES)
        # A bias common to all models affects one direction only: 1 + 2 of 8 parts of the squared error remain.
        common = rows == shrinkage.NORMAL_ERRORS and pattern == "same sign"
        assert ratio <= (0.75 if size == 0 or common else 1.05)
