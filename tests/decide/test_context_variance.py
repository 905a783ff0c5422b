"""Variance between contexts beyond the reward: against loops and quadrature, and recovered where it is planted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from deconfound.decide.context_variance import MAX_ROWS, PRIOR_SHARE, ContextVariance, _posterior, _similarity
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
    kernel, rows, target = _similarity(Rows(x), np.ones((40, 40), dtype=np.bool_)), [], []
    for i in range(40):
        for j in range(i):
            if group[i] != group[j]:
                rows.append([kernel[i, j], kernel[i, j] * (model[i] == model[j])])
                target.append(residual[i] * residual[j])
    design = np.array(rows)
    common, by_model = np.linalg.lstsq(design, np.array(target), rcond=None)[0]
    scale = np.mean(residual**2)
    error = scale * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    fitted = ContextVariance.from_residuals(residual, model, Rows(x), group)
    floor = PRIOR_SHARE * scale
    assert fitted.by_model == pytest.approx(max(_posterior(by_model, error[1], scale)[0], floor))
    assert fitted.common == pytest.approx(max(_posterior(common, error[0], scale)[0], floor))


@pytest.mark.parametrize(("estimate", "error"), [(0.3, 0.1), (-0.2, 0.1), (0.0, 5.0), (-0.5, 0.1)])
def test_the_posterior_of_a_variance_equals_quadrature(estimate, error):
    def density(v: float, power: int) -> float:
        return v**power * np.exp(-0.5 * ((v - estimate) / error) ** 2 + offset) / (1 + v / (PRIOR_SHARE * 2.0)) ** 2

    offset = 0.5 * (estimate / error) ** 2 if estimate < 0 else 0.0
    total, first, second = (integrate.quad(density, 0, 2.0, args=(p,), points=[0.01, 0.1, 0.3])[0] for p in range(3))
    mean, sd = _posterior(estimate, error, 2.0)
    assert mean == pytest.approx(first / total, rel=1e-3)
    assert sd == pytest.approx(np.sqrt(second / total - (first / total) ** 2), rel=1e-2)


def test_a_planted_variance_between_contexts_is_found():
    """Over 40 studies the mean has a standard error of 12 %; the prior pulls it down by a few per cent."""
    for planted in ((1.0, 0.0), (0.5, 0.5)):
        studies = (residuals(seed, *planted) for seed in range(40))
        fits = [ContextVariance.from_residuals(residual, model, Rows(x)) for residual, model, x in studies]
        assert np.mean([fit.by_model for fit in fits]) == pytest.approx(planted[0], rel=0.3)


def test_contexts_that_share_nothing_leave_a_tenth_of_the_residual_variance():
    rng = np.random.default_rng(3)
    residual, model = rng.normal(size=60), rng.integers(0, 3, 60)
    fit = ContextVariance.from_residuals(residual, model, Rows(np.eye(60)))
    assert fit.by_model == pytest.approx(0.1 * np.mean(residual**2), rel=0.2)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_too_few_pairs_leave_the_prior(rows):
    residual, model, x = residuals(1, 1.0, rows=rows)
    fit = ContextVariance.from_residuals(residual, model, Rows(x))
    expected = PRIOR_SHARE * np.mean(residual**2) if rows else 0.0
    assert (fit.by_model, fit.common) == pytest.approx((expected, expected))


def test_constant_features_and_residuals_are_accepted():
    model = np.arange(50) % 3
    flat = ContextVariance.from_residuals(np.random.default_rng(0).normal(size=50), model, Rows(np.ones((50, 2))))
    assert flat.by_model > 0
    assert ContextVariance.from_residuals(np.zeros(50), model, Rows(np.ones((50, 2)))) == ContextVariance.zero()


def test_recurring_contexts_show_differences_that_no_feature_shows():
    """40 contexts with ten rows each; the planted variances are one, in a residual variance of three.

    One study's estimates have a standard deviation of about 0.3, the mean of twenty 0.07; the prior pulls down by a few
    per cent. The features say nothing, and without the contexts only the prior would be left.
    """
    fits, unknown = [], []
    for seed in range(20):
        rng = np.random.default_rng([5, seed])
        context, model, x = np.arange(400) % 40, rng.integers(0, 3, 400), rng.normal(size=(400, 2))
        residual = rng.normal(size=40)[context] + rng.normal(size=(40, 3))[context, model] + rng.normal(size=400)
        fits.append(ContextVariance.from_residuals(residual, model, Rows(x, context=context)))
        unknown.append(ContextVariance.from_residuals(residual, model, Rows(x)))
    assert np.mean([fit.common for fit in fits]) == pytest.approx(1.0, abs=0.25)
    assert np.mean([fit.by_model for fit in fits]) == pytest.approx(1.0, abs=0.25)
    assert max(fit.common for fit in unknown) < 0.4


def test_a_long_experiment_is_sampled():
    residual, model, x = residuals(2, 1.0, rows=MAX_ROWS + 500)
    assert ContextVariance.from_residuals(residual, model, Rows(x)).by_model > 0.3
