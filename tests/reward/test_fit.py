"""The fitted reward: its terms, the effects of models, and means over replayed cells."""

from __future__ import annotations

import numpy as np

from deconfound.design import ReplayRows, Rows
from deconfound.linalg import Linear
from deconfound.reward import RewardFit

RNG = np.random.default_rng(0)
PHI, PSI = RNG.standard_normal((12, 5)), RNG.standard_normal((12, 2))
FULL = RewardFit(
    0.3,
    phi_coef=0.05 * RNG.standard_normal(5),
    psi_coef=0.05 * RNG.standard_normal(4),
    basis="quadratic",
    baseline=Linear(RNG.standard_normal(5), 0.4),
    baseline_weight=0.5,
    model_effect=np.array([0.1, -0.2]),
    modifier_coef=np.array([[0.1, 0.0, -0.1], [0.2, -0.1, 0.0]]),
)
MODIFIERS = RNG.standard_normal((12, 3))


def naive_total() -> np.ndarray:
    assert FULL.baseline is not None
    baseline = np.clip(PHI @ FULL.baseline.coef + 0.4, 0, 1)
    assert 0 < np.mean((baseline == 0) | (baseline == 1)) < 1
    return 0.3 + 0.5 * baseline + PHI @ FULL.phi_coef + np.hstack([PSI, PSI**2]) @ FULL.psi_coef


def test_a_reward_is_the_clipped_sum_of_its_terms() -> None:
    total, model = naive_total(), np.arange(12) % 2
    by_model = [total + FULL.model_effect[a] + MODIFIERS @ FULL.modifier_coef[a] for a in (0, 1)]
    np.testing.assert_allclose(FULL.predict(Rows(PHI, psi=PSI)), np.clip(total, 0, 1))
    rows = Rows(PHI, psi=PSI, model=model, modifiers=MODIFIERS)
    np.testing.assert_allclose(FULL.predict(rows), np.clip(np.where(model == 0, *by_model), 0, 1))
    np.testing.assert_allclose(FULL.predict_by_model(rows, 2), np.clip(np.column_stack(by_model), 0, 1))
    without_modifiers = np.clip(total + FULL.model_effect[model], 0, 1)
    np.testing.assert_allclose(FULL.predict(Rows(PHI, psi=PSI, model=model)), without_modifiers)


def test_products_with_phi_computed_by_the_caller_give_the_same_reward() -> None:
    assert FULL.baseline is not None
    total = FULL.total_from_products(PHI @ FULL.baseline.coef, PHI @ FULL.phi_coef, PSI)
    np.testing.assert_allclose(total, naive_total(), atol=1e-14)
    np.testing.assert_array_equal(RewardFit(0.4).total_from_products(None, None, PSI), np.full(12, 0.4))
    rows = Rows(PHI, psi=PSI, modifiers=MODIFIERS)
    by_model = FULL.add_model_effect(total[:, None], np.arange(2), MODIFIERS[:, None])
    np.testing.assert_allclose(by_model, FULL.predict_by_model(rows, 2), atol=1e-14)


def test_models_without_an_estimated_effect_have_none() -> None:
    """Code -1 is an unknown model, code 2 one that occurs in neither log nor experiment."""
    fit = RewardFit(0.5, model_effect=np.array([0.1, -0.2]), modifier_coef=np.array([[0.1], [0.1]]))
    np.testing.assert_allclose(fit.add_model_effect(np.full(3, 0.5), np.array([1, -1, 2]), None), [0.3, 0.5, 0.5])
    np.testing.assert_allclose(fit.add_model_effect(np.full((2, 3), 0.5), np.arange(3), None), [[0.6, 0.3, 0.5]] * 2)
    rows = Rows(np.zeros((3, 1)), model=np.array([1, -1, 2]), modifiers=np.ones((3, 1)))
    np.testing.assert_allclose(fit.predict(rows), [0.4, 0.5, 0.5])
    no_models = RewardFit(0.5, model_effect=np.empty(0))
    np.testing.assert_allclose(no_models.add_model_effect(np.full(2, 0.5), np.array([0, -1]), None), [0.5, 0.5])


def test_every_draw_is_clipped_before_the_mean_over_draws() -> None:
    """One cell with two draws of totals 1 and 0.2 and an effect of 0.3: (clip(1.3) + clip(0.5)) / 2 = 0.75."""
    fit = RewardFit(0.0, phi_coef=np.ones(1), model_effect=np.array([0.3]))
    replay = ReplayRows(Rows(np.array([[1.0], [0.2]])), np.arange(2), np.zeros(2, int), np.zeros(2, int), 1, 1)
    np.testing.assert_allclose(fit.predict_draws(replay), [1.0, 0.5])
    np.testing.assert_allclose(fit.mean_by_cell(replay), [[0.75]])


def test_modifiers_are_those_of_the_draw_and_coefficients_those_of_its_model() -> None:
    """Two contexts, two models; equal outputs of both models share one row."""
    fit = RewardFit(0.5, modifier_coef=np.array([[0.1], [-0.2]]))
    distinct = Rows(np.zeros((2, 1)), modifiers=np.array([[1.0], [2.0]]))
    context, model = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    replay = ReplayRows(distinct, context, context, model, 2, 2)
    np.testing.assert_allclose(fit.mean_by_cell(replay), [[0.6, 0.3], [0.7, 0.1]])
