"""Variance between contexts beyond the reward: against loops and quadrature, and recovered where it is planted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from deconfound.decide.context_variance import (
    MAX_ROWS,
    PRIOR_SHARE,
    RECURRING_PRIOR_SHARE,
    ContextVariance,
    _posterior,
    _similarity,
)
from deconfound.decide.recurring_contexts import PairVariances
from deconfound.design import FloatArray, IntArray, Rows


def residuals(
    seed: int, by_model: float, common: float = 0.0, rows: int = 300
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Residuals of unit noise, models, and features x of which each model has its own linear effect."""
    rng = np.random.default_rng([12, seed])
    x, model = rng.normal(size=(rows, 4)), rng.integers(0, 3, rows)
    own, shared = rng.normal(size=(3, 4)) / 2, rng.normal(size=4) / 2
    effect = np.sqrt(by_model) * (x * own[model]).sum(axis=1) + np.sqrt(common) * x @ shared
    return effect + rng.normal(size=rows), model, x


def test_products_of_residuals_are_regressed_on_similarity_as_in_a_loop():
    residual, model, x = residuals(0, by_model=1.0, common=0.5, rows=40)
    group = np.arange(40) // 2
    kernel, rows, target = _similarity(Rows(x)), [], []
    for i in range(40):
        for j in range(i):
            if group[i] != group[j]:
                rows.append([kernel[i, j], kernel[i, j] * (model[i] == model[j])])
                target.append(residual[i] * residual[j])
    design = np.array(rows)
    common, by_model = np.linalg.lstsq(design, np.array(target), rcond=None)[0]
    scale = np.mean(residual**2)
    error = scale * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    fitted = ContextVariance.from_residuals(residual, model, 3, Rows(x), group)
    floor = PRIOR_SHARE * scale
    assert fitted.by_model == pytest.approx([max(_posterior(by_model, error[1], scale, PRIOR_SHARE)[0], floor)] * 3)
    assert fitted.common == pytest.approx(max(_posterior(common, error[0], scale, PRIOR_SHARE)[0], floor))
    assert not fitted.estimated


@pytest.mark.parametrize(("estimate", "error"), [(0.3, 0.1), (-0.2, 0.1), (0.0, 5.0), (-0.5, 0.1)])
def test_the_posterior_of_a_variance_equals_quadrature(estimate, error):
    def density(v: float, power: int) -> float:
        return v**power * np.exp(-0.5 * ((v - estimate) / error) ** 2 + offset) / (1 + v / (PRIOR_SHARE * 2.0)) ** 2

    offset = 0.5 * (estimate / error) ** 2 if estimate < 0 else 0.0
    total, first, second = (integrate.quad(density, 0, 2.0, args=(p,), points=[0.01, 0.1, 0.3])[0] for p in range(3))
    mean, sd = _posterior(estimate, error, 2.0, PRIOR_SHARE)
    assert mean == pytest.approx(first / total, rel=1e-3)
    assert sd == pytest.approx(np.sqrt(second / total - (first / total) ** 2), rel=1e-2)


def test_a_planted_variance_between_contexts_is_found():
    """Over 40 studies the mean has a standard error of 12 %; the prior pulls it down by a few per cent."""
    for planted in ((1.0, 0.0), (0.5, 0.5)):
        studies = (residuals(seed, *planted) for seed in range(40))
        fits = [ContextVariance.from_residuals(residual, model, 3, Rows(x)) for residual, model, x in studies]
        assert np.mean([fit.by_model[0] for fit in fits]) == pytest.approx(planted[0], rel=0.3)


def test_contexts_that_share_nothing_leave_a_tenth_of_the_residual_variance():
    rng = np.random.default_rng(3)
    residual, model = rng.normal(size=60), rng.integers(0, 3, 60)
    fit = ContextVariance.from_residuals(residual, model, 3, Rows(np.eye(60)))
    assert fit.by_model == pytest.approx(np.full(3, 0.1 * np.mean(residual**2)), rel=0.2)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_too_few_pairs_leave_the_prior(rows):
    residual, model, x = residuals(1, 1.0, rows=rows)
    fit = ContextVariance.from_residuals(residual, model, 3, Rows(x))
    expected = PRIOR_SHARE * np.mean(residual**2) if rows else 0.0
    assert (*fit.by_model, fit.common) == pytest.approx((expected,) * 4)


def test_constant_features_and_residuals_are_accepted():
    model = np.arange(50) % 3
    flat = ContextVariance.from_residuals(np.random.default_rng(0).normal(size=50), model, 3, Rows(np.ones((50, 2))))
    assert (flat.by_model > 0).all()
    still = ContextVariance.from_residuals(np.zeros(50), model, 3, Rows(np.ones((50, 2))))
    assert (still.common, *still.by_model, *still.by_model_sd) == (0.0,) * 7


def test_what_the_reward_predicts_is_no_longer_unpredicted():
    """Small standard errors leave the estimates, less what is explained; never a negative variance."""
    pairs = PairVariances(np.array([0.5, 0.3, 0.1]), np.full(3, 1e-3), 0.4, 1e-3, outcome_variance=1.0)
    rest = ContextVariance.from_recurring(pairs, explained_by_model=0.2, explained_common=0.1)
    assert rest.by_model == pytest.approx([0.3, 0.1, 0.0], abs=2e-3)
    assert rest.common == pytest.approx(0.3, abs=2e-3)
    assert (rest.by_model > 0).all()
    assert rest.estimated


def test_few_pairs_of_recurring_contexts_leave_the_prior():
    """Mean of the density 1 / (1 + v / s)^2 on (0, 1); a flat one has mean one half."""
    s = RECURRING_PRIOR_SHARE
    pairs = PairVariances(np.zeros(1), np.array([1e3]), 0.0, 1e3, outcome_variance=1.0)
    mean = (s * np.log1p(1 / s) - s / (1 + s)) * (1 + s)
    assert ContextVariance.from_recurring(pairs, 0.0, 0.0).by_model == pytest.approx([mean], rel=1e-3)


def test_a_long_experiment_is_sampled():
    residual, model, x = residuals(2, 1.0, rows=MAX_ROWS + 500)
    assert ContextVariance.from_residuals(residual, model, 3, Rows(x)).by_model[0] > 0.3
