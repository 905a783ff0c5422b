"""Ridge on one source against plain least squares, on every numerical path."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from deconfound.design import FeatureMatrix
from deconfound.linalg import FactorizationLimits, ridge
from tests.support import naive
from tests.support.least_squares_problems import KINDS, LIMITS, random_problem

Wrap = Callable[[naive.Array], FeatureMatrix]
wrapped = pytest.mark.parametrize("wrap", KINDS.values(), ids=list(KINDS))
every_path = pytest.mark.parametrize("limits", LIMITS.values(), ids=list(LIMITS))


@every_path
@wrapped
@pytest.mark.parametrize(("rows", "columns"), [(40, 6), (12, 50), (10, 10), (1, 4), (5, 1)])
@pytest.mark.parametrize("penalty", [1e-3, 1.0, 1e4])
def test_ridge_equals_least_squares_on_stacked_rows(
    limits: FactorizationLimits, wrap: Wrap, rows: int, columns: int, penalty: float
) -> None:
    features, targets, weight = random_problem(rows, columns)
    several = ridge(wrap(features), targets, penalty, weight, limits)
    for at in range(targets.shape[1]):
        coef, intercept = naive.least_squares(features, targets[:, at], weight, penalty)
        single = ridge(wrap(features), targets[:, at], penalty, weight, limits)
        for actual in (several.coef[:, at], single.coef):
            np.testing.assert_allclose(actual, coef, rtol=0, atol=1e-9)
        assert single.intercept == pytest.approx(intercept, abs=1e-9)
        np.testing.assert_allclose(several(wrap(features))[:, at], features @ coef + intercept, atol=1e-9)


@every_path
@wrapped
def test_collinear_constant_and_empty_columns_are_no_problem(limits: FactorizationLimits, wrap: Wrap) -> None:
    features, targets, weight = random_problem(30, 4)
    features = np.column_stack([features, features[:, 0], np.full(30, 7.0), np.zeros(30)])
    actual = ridge(wrap(features), targets[:, 0], 0.5, weight, limits)
    coef, intercept = naive.least_squares(features, targets[:, 0], weight, 0.5)
    np.testing.assert_allclose(actual.coef, coef, rtol=0, atol=1e-10)
    assert actual.intercept == pytest.approx(intercept, abs=1e-9)


@every_path
@wrapped
@pytest.mark.parametrize(("rows", "columns"), [(20, 5), (5, 20)])
@pytest.mark.parametrize("constant", [0.0, 0.5, 0.4])
def test_a_constant_target_is_all_intercept(
    limits: FactorizationLimits, wrap: Wrap, rows: int, columns: int, constant: float
) -> None:
    """A centered constant may be exactly zero, and a Krylov basis cannot start from zero."""
    features, _, _ = random_problem(rows, columns)
    actual = ridge(wrap(features), np.full(rows, constant), 1.0, limits=limits)
    assert np.abs(actual.coef).max() < 1e-12
    assert actual.intercept == pytest.approx(constant, abs=1e-12)


def test_missing_weights_are_ones() -> None:
    features, targets, _ = random_problem(12, 50)
    plain, weighted = (ridge(KINDS["csr"](features), targets, 0.3, weight) for weight in (None, np.ones(12)))
    np.testing.assert_array_equal(plain.coef, weighted.coef)
    np.testing.assert_array_equal(plain.intercept, weighted.intercept)
