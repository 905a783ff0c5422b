"""Calibration of a reward on single contexts: against textbook regressions, and where it cannot be estimated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deconfound.decide.calibration import Calibration, CrossFittedPolicy, SlopeFit, fit_calibration
from deconfound.decide.context_variance import ContextVariance
from deconfound.decide.recommendation import Policy
from deconfound.design import FloatArray, Rows, group_folds
from deconfound.features.study_arrays import ReplayArrays
from deconfound.value import ScoredExperiment, Values, shrink_toward, tuned_doubly_robust
from tests.support.replays import IDENTITY_REWARD, SURFACE_SHARE, replay_of

MODELS = ("ant", "bee", "cat")
Q = np.array([[0.2, 0.5, 0.4], [0.6, 0.3, 0.59], [0.3, 0.3, 0.3]])
VALUES = Values(MODELS, np.array([0.5, 0.6, 0.7]), np.eye(3) * 0.001, "by hand", np.full(3, 20.0))


def experiment(seed: int = 0, rows: int = 60) -> ScoredExperiment:
    """Outcomes that follow q with a slope of 0.4; the predictions play no part in a calibration."""
    rng = np.random.default_rng(seed)
    q, model = rng.random((rows, 3)), rng.integers(0, 3, rows)
    outcome = 0.3 + 0.4 * q[np.arange(rows), model] + 0.2 * rng.random(rows)
    propensity, cluster = rng.uniform(0.2, 0.8, rows), rng.integers(0, rows // 2, rows)
    return ScoredExperiment.from_arrays(
        MODELS, q, np.zeros(rows), model, outcome, propensity=propensity, cluster=cluster
    )


def fit(
    data: ScoredExperiment, replay: ReplayArrays | None = None, context_weight: FloatArray | None = None
) -> Calibration:
    return fit_calibration(
        VALUES,
        data,
        replay=(replay_of(Q) if replay is None else replay).rows(SURFACE_SHARE),
        reward=IDENTITY_REWARD,
        rows=Rows(data.q),
        context_weight=context_weight,
    )


def test_the_slope_is_that_of_weighted_least_squares_with_clustered_errors():
    t = experiment()
    calibration = fit(t)
    deviation = t.q - t.q.mean(axis=0)
    common = deviation.mean(axis=1)
    design = np.column_stack([*(t.model == a for a in range(3)), common, deviation[np.arange(60), t.model] - common])
    weight = np.diag(1 / t.propensity / np.mean(1 / t.propensity))
    inverse = np.linalg.inv(design.T @ weight @ design)
    coef = inverse @ design.T @ weight @ t.outcome
    residual = t.outcome - design @ coef
    meat = np.zeros((5, 5))
    clusters = np.unique(t.cluster)
    for name in clusters:
        score = design[t.cluster == name].T @ (weight @ residual)[t.cluster == name]
        meat += np.outer(score, score)
    error = np.sqrt((inverse @ meat @ inverse)[-1, -1] * len(clusters) / (len(clusters) - 5))
    shrunken = max(coef[-1] * (1 - (2 * error) ** 2 / coef[-1] ** 2), 0.0)
    assert (calibration.slope, calibration.slope_standard_error) == pytest.approx((shrunken, error))
    assert calibration.common_slope == pytest.approx(np.clip(coef[-2], 0, 1))
    expected = ContextVariance.from_residuals(residual, t.model, 3, Rows(t.q))
    assert calibration.context_variance.by_model == pytest.approx(expected.by_model)
    assert calibration.df == pytest.approx(np.full(3, min(20, len(clusters) - 5)))
    assert calibration.mean_q == pytest.approx(Q.mean(axis=0))
    assert calibration.value == pytest.approx([0.5, 0.6, 0.7])
    assert calibration.draw_variance == pytest.approx(np.full(3, 2 * 0.01**2))  # two draws, 0.01 to either side


@pytest.mark.parametrize(
    ("slope", "expected"), [(0.1, 0.0), (0.4, 0.0), (0.5, 0.18), (0.8, 0.6), (1.5, 1.0), (-1.0, 0.0)]
)
def test_a_slope_is_reduced_by_what_noise_may_make_of_it(slope, expected):
    """With a standard error of 0.2: 0.8 - 0.16 / 0.8 = 0.6, and nothing below two standard errors."""
    assert SlopeFit(slope, 0.2, 1.0, np.zeros(3), 10.0).shrunken_slope == pytest.approx(expected)


def test_rows_of_uncompared_models_do_not_affect_the_slope():
    t = experiment()
    uncompared = replace(t, model=np.where(np.arange(60) < 10, -1, t.model))
    changed = replace(uncompared, outcome=np.where(np.arange(60) < 10, 0.0, t.outcome))
    assert fit(changed).slope == fit(uncompared).slope != fit(t).slope


def test_context_weights_move_the_mean_of_q_and_not_the_slope():
    t = experiment()
    equal, weighted = fit(t), fit(t, context_weight=np.array([0.0, 3.0, 1.0]))
    assert weighted.mean_q == pytest.approx(0.75 * Q[1] + 0.25 * Q[2])
    assert weighted.slope == equal.slope


def test_with_one_draw_per_context_all_variation_may_be_between_draws():
    calibration = fit(experiment(), replay=replay_of(Q, draws=1))
    assert calibration.draw_variance == pytest.approx((Q - Q.mean(axis=1, keepdims=True)).var(axis=0))


@pytest.mark.parametrize("rows", [1, 3, 5])
def test_too_few_rows_leave_the_slope_inestimable(rows):
    calibration = fit(experiment().take(np.arange(rows)))
    assert (calibration.slope, calibration.slope_standard_error) == (0.0, np.inf)
    refits = (IDENTITY_REWARD,) * 2
    policy = Policy(MODELS, SURFACE_SHARE, IDENTITY_REWARD, refits, np.zeros((3, 3)), calibration)
    assert policy.recommend(replay_of(Q), 0.95)[0].verdict == "cannot tell"


def test_a_reward_that_is_constant_over_contexts_leaves_the_slope_inestimable():
    constant = replace(experiment(), q=np.tile([0.2, 0.4, 0.6], (60, 1)))
    assert fit(constant).slope_standard_error == np.inf


def test_calibrated_q_splits_into_what_models_share_and_what_they_do_not():
    calibration = replace(fit(experiment()), slope=0.5, common_slope=0.2)
    calibrated = calibration.calibrate(Q)
    for i in range(3):
        deviation = Q[i] - calibration.mean_q
        common = deviation.mean()
        assert calibrated[i] == pytest.approx(calibration.value + 0.2 * common + 0.5 * (deviation - common))


def test_a_cross_fitted_policy_equals_a_loop_and_ignores_outcomes_of_the_held_out_fold():
    rng = np.random.default_rng(4)
    n, k = 60, 3
    q, model = rng.random((n, k)), rng.integers(k, size=n)
    own = q[np.arange(n), model]
    outcome = np.clip(0.3 + 0.4 * own + 0.1 * rng.standard_normal(n), 0, 1)
    weight = rng.uniform(0.2, 2.0, n)
    data = ScoredExperiment.from_arrays(MODELS, q, own, model, outcome, weight=weight)
    folds = group_folds(np.arange(n), 5, 0)
    policy = CrossFittedPolicy.fit(data, folds)
    for fold in folds:
        at, held_out = fold.train, fold.held_out
        mean_q = weight[at] @ q[at] / weight[at].sum()
        values = shrink_toward(tuned_doubly_robust(data.take(at)), mean_q)
        deviation = q - mean_q
        common = deviation.mean(axis=1)
        design = np.column_stack([model[:, None] == np.arange(k), common, deviation[np.arange(n), model] - common])
        train = design[at].astype(float)
        coef = np.linalg.lstsq(train, outcome[at], rcond=None)[0]
        score = train * (outcome[at] - train @ coef)[:, None]
        inverse = np.linalg.inv(train.T @ train)
        squared_error = (inverse @ score.T @ score @ inverse)[-1, -1] * len(at) / (len(at) - 5)
        slope = min(max(coef[-1] - 4 * squared_error / coef[-1], 0.0), 1.0)
        assert slope > 0
        expected = values.estimate + slope * deviation[held_out]
        np.testing.assert_allclose(policy.q[held_out], expected)
        np.testing.assert_allclose(policy.values[held_out], np.tile(values.estimate, (len(held_out), 1)))
    held_out = folds[0].held_out
    reversed_outcome = outcome.copy()
    reversed_outcome[held_out] = 1 - reversed_outcome[held_out]
    changed = CrossFittedPolicy.fit(replace(data, outcome=reversed_outcome), folds)
    np.testing.assert_array_equal(changed.q[held_out], policy.q[held_out])
    assert not np.allclose(changed.q, policy.q)
